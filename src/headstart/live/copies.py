"""Copies of a bandit: from a file, by pickle, by deepcopy."""

import io
from typing import TYPE_CHECKING, Any

from headstart.live import persistence

if TYPE_CHECKING:
    from headstart.live.bandit import MetaBandit


def saved(bandit: "MetaBandit") -> persistence.Saved:
    """What a file of the bandit would hold."""
    file = io.BytesIO()
    bandit.save(file)
    file.seek(0)
    return persistence.read(file)


def restored(
    kind: "type[MetaBandit]", content: persistence.Saved, *, resume: bool, **given: Any
) -> "MetaBandit":
    """A bandit with the content of a file, and some settings other than there."""
    header = content.header
    settings: dict[str, Any] = {**header["settings"], "feature_names": header["feature_names"]}
    if header.get("refresh_by_seed", False):
        # As for a new bandit, but that a run which goes on does so as it was.
        inline = settings.pop("refresh") == "inline"
        if resume and inline and given["seed"] is None:
            given["seed"] = 0  # the random numbers become those of the file
    settings |= given
    settings["policy"] = settings["policy"] or content.policy()
    settings["prior"] = settings["prior"] or content.prior()
    bandit = kind(dimension=header["dimension"], **settings)
    persistence.restore(content, bandit._tasks)
    if resume:
        bandit._stream.go_on_as(content.stream())
    return bandit


def pickled(bandit: "MetaBandit") -> tuple[object, ...]:
    """What `pickle` stores of a bandit, and what it calls to make the copy."""
    given = {
        "policy": bandit.policy,
        "prior": bandit.prior,
        "clock": bandit.settings.clock,
        "refresh": bandit.settings.refresh,  # a copy has no seed from which it could follow
    }
    return unpickled, (type(bandit), saved(bandit), given)


def unpickled(
    kind: "type[MetaBandit]", content: persistence.Saved, given: dict[str, Any]
) -> "MetaBandit":
    """A copy with ids and random numbers of its own."""
    return restored(kind, content, resume=False, **given)
