"""Settled: the outcomes of decisions that wait no longer, the latest of them."""

from collections import OrderedDict
from collections.abc import Iterable

from headstart.live.outcomes import Outcome

# How many are remembered; about 250 bytes each. Beyond, a duplicate is an unknown decision.
CAPACITY = 100_000


class Settled:
    """By id: the value that a decision was paid, or that it expired."""

    def __init__(self) -> None:
        # Ordered, so that to drop the oldest takes no search past those dropped before.
        self.values: OrderedDict[str, float | None] = OrderedDict()

    def note(self, decision: str, value: float | None) -> None:
        """Remember a paid decision; None for one that expired."""
        self.values[decision] = value
        if len(self.values) > CAPACITY:
            self._drop_oldest()

    def note_all(self, decisions: Iterable[tuple[str, float | None]]) -> None:
        """Remember several."""
        self.values.update(decisions)
        self._drop_oldest()

    def outcome(self, decision: str, value: float) -> Outcome:
        """What a reward for a decision that is not pending comes to."""
        if decision not in self.values:
            return Outcome.UNKNOWN
        paid = self.values[decision]
        if paid is None:
            return Outcome.EXPIRED
        return Outcome.DUPLICATE if paid == value else Outcome.CONFLICT

    def _drop_oldest(self) -> None:
        while len(self.values) > CAPACITY:
            self.values.popitem(last=False)
