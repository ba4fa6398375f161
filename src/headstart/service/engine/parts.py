"""Parts: a decision's reward that comes in parts, their total, and their metrics."""

import math
from collections.abc import Iterable, Mapping

import msgspec
from sqlalchemy import Connection, bindparam, delete, insert

from headstart.service.messages import (
    MOST_PARTS,
    BanditConfiguration,
    Combination,
    RewardRequest,
    check_text,
)
from headstart.service.store.parts import Part
from headstart.service.store.prepared import Prepared
from headstart.service.store.schema import reward_parts as table

# The parts of one decision by key; the reward without a key is "".
Parts = Mapping[str, Part]

_OWN = ("bandit", "decision", "key")
_DELETE = Prepared(
    delete(table).where(*(table.c[name] == bindparam(f"own_{name}") for name in _OWN)),
    [f"own_{name}" for name in _OWN],
)
_INSERT = Prepared(insert(table), [*_OWN, "number", "value", "time", "metrics"])


def check(request: RewardRequest, parts: Parts, configuration: BanditConfiguration) -> None:
    """Raise for a reward with a key or metrics that cannot be accepted."""
    if request.key is not None:
        check_text("key", request.key)
    if request.key is not None and request.weight not in (None, 1.0):
        raise ValueError(
            "give weight with the reward without a key: it belongs to the decision's "
            f"whole reward, got {request.weight:g} with the key {request.key!r}"
        )
    if request.key is not None and len(parts) >= MOST_PARTS and request.key not in parts:
        raise ValueError(f"a reward must have at most {MOST_PARTS} parts, got {request.key!r}")
    known = [guardrail.name for guardrail in configuration.guardrails]
    for name in request.metrics:
        if name not in known:
            names = ", ".join(map(repr, known)) or "none"
            raise ValueError(f"metrics must be those of guardrails ({names}), got {name!r}")


def with_reward(parts: Parts, request: RewardRequest, value: float, happened: float) -> Parts:
    """The parts with a new reward; a replacement keeps the place of the old part."""
    key = request.key or ""
    before = parts.get(key)
    if before is None:
        part = Part(value, happened, len(parts), request.metrics)
    else:
        part = Part(value, before.time, before.number, before.metrics | request.metrics)
    return {**parts, key: part}


def combined(parts: Parts, rule: Combination) -> float:
    """The total of parts."""
    if len(parts) == 1:
        (only,) = parts.values()
        return only.value
    if rule == "sum":
        return math.fsum(part.value for part in parts.values())
    if rule == "max":
        return max(part.value for part in parts.values())
    ordered = sorted(parts.values(), key=lambda part: part.order)
    return ordered[0 if rule == "first" else -1].value


def metric_changes(
    before: Parts, after: Parts, names: Iterable[str]
) -> dict[str, tuple[float | None, float]]:
    """The metrics of a decision before and after a reward; metrics of parts add up."""
    return {name: (_metric(before, name), _metric(after, name) or 0.0) for name in names}


def _metric(parts: Parts, name: str) -> float | None:
    values = [part.metrics[name] for part in parts.values() if name in part.metrics]
    return math.fsum(values) if values else None


def to_store(before: Parts, after: Parts, key: str) -> list[str]:
    """The keys of the parts to store; a reward that came whole is stored in its decision."""
    if set(after) == {""} and not after[""].metrics:
        return []
    return list(after) if set(before) == {""} else [key]


def write(connection: Connection, bandit: int, parts: Mapping[tuple[str, str], Part]) -> None:
    """Store parts by decision and key, replacing existing ones."""
    own = [(bandit, decision, key) for decision, key in parts]
    _DELETE.execute(connection, own)
    _INSERT.execute(
        connection,
        [
            (*place, part.number, part.value, part.time, msgspec.json.encode(part.metrics).decode())
            for place, part in zip(own, parts.values(), strict=True)
        ],
    )
