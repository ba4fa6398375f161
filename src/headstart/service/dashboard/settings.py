"""Settings: how a bandit is set up, in words, and what is the default."""

from collections.abc import Callable
from typing import Any

import msgspec

from headstart.live import defaults
from headstart.service.dashboard.formats import count, plain, span
from headstart.service.messages import BanditConfiguration, Guardrail

_SHOWN_NAMES = 6
# What control tasks are served, in words.
SERVED = {
    "cold": "Control tasks start cold.",
    "random": "Control tasks are served any arm at random.",
    "own": "Control tasks are served the application's own choice.",
}

# How the parts of a reward combine, in words.
COMBINED = {
    "sum": "the sum of its parts",
    "last": "the part that happened last",
    "first": "the part that happened first",
    "max": "the largest of its parts",
}


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(names[:_SHOWN_NAMES]) + more


def _percent(share: float) -> str:
    return f"{plain(100.0 * share)} %"


def _features(configuration: BanditConfiguration) -> str:
    if configuration.features is not None:
        return "a schema of attributes"
    names = configuration.feature_names
    return f"{count(configuration.dimension)} numbers" if names is None else _names(names)


def _spec(spec: dict[str, Any] | None, default: str) -> str:
    """A policy or a prior as it is written in Python."""
    if spec is None:
        return default
    settings = ", ".join(f"{name}={value!r}" for name, value in spec.items() if name != "class")
    return f"{spec['class']}({settings})"


def _guardrail(guardrail: Guardrail) -> str:
    pauses = ", or new tasks go to the control" if guardrail.pause else ""
    by = f"by more than {plain(guardrail.margin)}" if guardrail.margin else "at all"
    return f"{guardrail.name} not {guardrail.worse} {by}{pauses}"


def _discount(discount: float) -> str:
    return "never" if discount == 1.0 else f"weights × {plain(discount)} with each reward"


# Each setting, or settings that are one row, with a label and its value in words.
_ROWS: dict[tuple[str, ...], tuple[str, Callable[[BanditConfiguration], str]]] = {
    ("dimension", "feature_names", "features"): ("Features", _features),
    ("scales",): (
        "Sizes of the features",
        lambda c: "learned" if c.scales == "learn" else "taken as alike",
    ),
    ("policy",): ("Policy", lambda c: _spec(c.policy, repr(defaults.POLICY))),
    ("prior",): ("Prior", lambda c: _spec(c.prior, "Hierarchical()")),
    ("about_names",): ("Known of a task", lambda c: _names(c.about_names) or "nothing"),
    ("control_share",): ("Share of control tasks", lambda c: _percent(c.control_share)),
    ("control",): ("Control", lambda c: SERVED[c.control]),
    ("shadow",): (
        "Shadow mode",
        lambda c: "on: the application's own choice is served" if c.shadow else "off",
    ),
    ("guardrails",): (
        "Guardrails",
        lambda c: "; ".join(map(_guardrail, c.guardrails)) or "none",
    ),
    ("reward_range",): (
        "Rewards lie between",
        lambda c: (
            "−10⁹ and 10⁹"
            if c.reward_range is None
            else f"{plain(c.reward_range[0])} and {plain(c.reward_range[1])}"
        ),
    ),
    ("parts",): ("A reward in parts is", lambda c: COMBINED[c.parts]),
    ("deadline_seconds",): (
        "A decision expires",
        lambda c: "never" if c.deadline_seconds is None else f"after {span(c.deadline_seconds)}",
    ),
    ("default_reward",): (
        "Without a reward it counts as",
        lambda c: "nothing" if c.default_reward is None else plain(c.default_reward),
    ),
    ("exploration",): (
        "Exploration",
        lambda c: (
            f"{_percent(c.exploration)} of decisions go to any arm at random"
            if c.exploration
            else "by the policy alone"
        ),
    ),
    ("half_life_seconds",): (
        "The prior forgets half",
        lambda c: f"after {span(c.half_life_seconds)}" if c.half_life_seconds else "never",
    ),
    ("discount",): ("A task forgets", lambda c: _discount(c.discount)),
    ("item_effects",): (
        "Items have effects of their own",
        lambda c: "yes" if c.item_effects else "no",
    ),
    ("retention_seconds",): (
        "Decisions are kept",
        lambda c: "for ever" if c.retention_seconds is None else span(c.retention_seconds),
    ),
}


def table(configuration: BanditConfiguration) -> list[dict[str, Any]]:
    """Every setting: its label, names and value in words, and whether it is the default."""
    given = changed(configuration)
    return [
        {
            "label": label,
            "names": ", ".join(names),
            "value": spell(configuration),
            "default": not given.keys() & {*names},
        }
        for names, (label, spell) in _ROWS.items()
    ]


def changed(configuration: BanditConfiguration) -> dict[str, Any]:
    """The settings that are not at their defaults, as JSON has them."""
    plain_values: dict[str, Any] = msgspec.to_builtins(configuration)
    usual: dict[str, Any] = msgspec.to_builtins(BanditConfiguration())
    if configuration.features is not None:  # its numbers are scaled by the schema
        usual["scales"] = None
    return {name: value for name, value in plain_values.items() if value != usual[name]}
