"""The order of the gallery's pictures."""

ORDER = (
    "warm_and_cold",
    "the_papers_learners",
    "new_users",
    "the_learned_prior",
    "when_it_helps",
    "effect_of_lambda",
    "shared_directions",
    "calibration",
    "off_policy",
    "drift",
    "a_study",
    "adversarial_tasks",
)


def position(name: str) -> int:
    """The position of a file of the gallery; an error names one without."""
    return ORDER.index(name.removesuffix(".py"))
