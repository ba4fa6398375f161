"""Parts of rewards, for decisions whose reward came in parts or with metrics."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, bindparam, select

from headstart.service.store.prepared import LISTED, Lookup
from headstart.service.store.schema import reward_parts

_C = reward_parts.c
_COLUMNS = ("decision", "key", "number", "value", "time", "metrics")
_OF_DECISIONS = Lookup(
    select(*(_C[name] for name in _COLUMNS)).where(
        _C.bandit == bindparam("own"), _C.decision.in_(LISTED)
    ),
    ["own"],
)
_decode = msgspec.json.Decoder(dict[str, float]).decode


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a decision's reward."""

    value: float
    time: float  # when it happened
    number: int  # in the order in which the parts first came
    metrics: dict[str, float]

    @property
    def order(self) -> tuple[float, int]:
        """The order of parts: by when they happened, then by arrival."""
        return self.time, self.number


def of_decisions(
    connection: Connection, bandit: int, ids: Sequence[str]
) -> dict[str, dict[str, Part]]:
    """The parts of decisions by id and key; the reward without a key is ""."""
    found: dict[str, dict[str, Part]] = {}
    for decision, key, number, value, time, metrics in _OF_DECISIONS.rows(
        connection, ids, (bandit,)
    ):
        found.setdefault(decision, {})[key] = Part(value, time, number, _decode(metrics))
    return found
