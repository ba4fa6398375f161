"""Changes: what is different between the results of a folder and a study now, in sentences."""

from collections.abc import Iterator

from headstart.studies.sources import Made, Table


def changes(made: Made | None, now: Made) -> Iterator[str]:
    """What has changed since the results were made, and what is played because of it."""
    if made is None:
        return
    shared = changed_files({**made.sources, "learners": {}}, {**now.sources, "learners": {}})
    if shared or made.study.get("keep_test_tasks") != now.study.get("keep_test_tasks"):
        what = f"{', '.join(shared)} changed" if shared else "keep_test_tasks changed"
        yield f"{what} since the results were made: all learners are played again."
        return
    before = {one["name"]: one for one in made.study["learners"]}
    after = {one["name"]: one for one in now.study["learners"]}
    for name, learner in after.items():
        old, new = (each.sources.get("learners", {}).get(name, {}) for each in (made, now))
        if name not in before:
            yield f"{name} is new: it is played."
        elif old != new:
            files = ", ".join(_differing(old, new))
            yield f"{files} changed since the results were made: {name} is played again."
        elif learner != before[name]:
            yield f"The settings of {name} changed: it is played again."
        elif made.digests[name] != now.digests[name]:
            yield f"{name} is played again: its random numbers follow from the grid's first λ."
    left_out = [name for name in before if name not in after]
    if left_out:
        yield f"{', '.join(left_out)}: no longer in the study, set aside in the folder."
    values = [
        f"{v:g}" for v in now.study["regularization"] if v not in made.study["regularization"]
    ]
    if values:
        yield f"λ = {', '.join(values)}: new, played by the learners that follow the grid."
    n, m = (int(each.study["replications"]) for each in (made, now))
    if m > n:
        first = n - n % int(now.study["shard"])  # an incomplete shard is played again as a whole
        yield f"Replications {first} to {m - 1}: new, they are played."
    if m < n:
        yield f"Replications from {m} on: no longer in the study, set aside in the folder."


def changed_files(old: Table, new: Table) -> list[str]:
    """The names of files whose digests differ between two tables of sources."""
    names = [] if old.get("headstart") == new.get("headstart") else ["headstart's own code"]
    names += _differing(old.get("environment", {}), new.get("environment", {}))
    ours, theirs = old.get("learners", {}), new.get("learners", {})
    for learner in ours | theirs:
        names += _differing(ours.get(learner, {}), theirs.get(learner, {}))
    return list(dict.fromkeys(names))


def _differing(old: Table, new: Table) -> list[str]:
    return [name for name in {**old, **new} if old.get(name) != new.get(name)]
