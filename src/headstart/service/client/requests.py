"""Requests from what a caller gives: arrays become lists, and names text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

from headstart.service.messages import (
    DecisionRequest,
    Item,
    ItemChange,
    ObservationRequest,
    RewardRequest,
)

Task = str | int
Vector = Sequence[float] | Any  # or an array of one dimension
Arms = Mapping[str, Vector] | Iterable[str] | None


class DecisionFields(TypedDict, total=False):
    """What a decision may be given besides its task and arms; see `DecisionRequest`."""

    tag: str | None
    exclude: Iterable[str]
    side: Vector | None
    n: int
    idempotency_key: str | None


class RewardFields(TypedDict, total=False):
    """What a reward may be given besides its value; see `RewardRequest`."""

    weight: float
    time: float | None


class ObservationFields(TypedDict, total=False):
    """What an observation may be given besides its value; see `ObservationRequest`."""

    features: Vector | None
    arm: str | None
    weight: float
    side: Vector | None
    time: float | None
    idempotency_key: str | None


@dataclass(frozen=True, kw_only=True)
class Log:
    """A log that is uploaded: the bytes of a file, and what kind of file it is."""

    content: bytes
    content_type: str


def log(path: str | Path | None) -> Log | None:
    """The log in a file, whose name ends in .csv or .parquet; None if there is none."""
    if path is None:
        return None
    kinds = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet"}
    kind = kinds.get(Path(path).suffix.lower())
    if kind is None:
        raise ValueError(f"the log must end in .csv or .parquet, got {str(path)!r}")
    return Log(content=Path(path).read_bytes(), content_type=kind)


def decision(task: Task, arms: Arms, more: DecisionFields) -> DecisionRequest:
    """A request for a decision."""
    given: dict[str, Any] = dict(more)
    given["exclude"] = [str(each) for each in more.get("exclude", ())]
    given["side"] = vector(more.get("side"))
    return DecisionRequest(task=task, arms=_arms(arms), **given)


def reward(decision: str, value: float, **more: Unpack[RewardFields]) -> RewardRequest:
    """The reward of a decision."""
    return RewardRequest(decision=decision, value=float(value), **more)


def observation(task: Task, value: float, more: ObservationFields) -> ObservationRequest:
    """The reward of a choice that was made elsewhere."""
    given: dict[str, Any] = dict(more)
    for name in ("features", "side"):
        given[name] = vector(given.get(name))
    return ObservationRequest(task=task, value=float(value), **given)


def items(given: Mapping[str, Vector] | Iterable[Item]) -> list[Item]:
    """Items, or features by id."""
    if isinstance(given, Mapping):
        return [Item(id=str(name), features=vector(x) or []) for name, x in given.items()]
    return list(given)


def changes(
    given: Mapping[str, Vector] | Iterable[Item | ItemChange],
) -> list[Item | ItemChange]:
    """Items and changes of items, or features by id."""
    if isinstance(given, Mapping):
        return [ItemChange(id=str(name), features=vector(x)) for name, x in given.items()]
    return list(given)


def vector(given: Vector | None) -> list[float] | None:
    """A list of floats."""
    return None if given is None else [float(x) for x in given]


def _arms(given: Arms) -> dict[str, list[float]] | list[str] | None:
    if isinstance(given, Mapping):
        return {str(name): vector(x) or [] for name, x in given.items()}
    return None if given is None else [str(name) for name in given]
