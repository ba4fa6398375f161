"""Settled: the outcomes of decisions that wait no longer, the latest of them."""

from collections import OrderedDict, deque
from collections.abc import Iterable

from headstart.arrays import Floats
from headstart.live.outcomes import DecisionState, Outcome, outcome_of
from headstart.live.settings import Settings
from headstart.live.tasks.ids import Ids

# How many are remembered; about 250 bytes each. Beyond, a duplicate is an unknown decision.
CAPACITY = 100_000


class Settled:
    """By id: the value that a decision was paid, or that it expired."""

    def __init__(self) -> None:
        # Ordered, so that to drop the oldest takes no search past those dropped before.
        self._values: OrderedDict[str, float | None] = OrderedDict()
        # Batches that were paid since. Most are dropped before anyone asks for one of their ids.
        self._batches: deque[tuple[Ids, Floats]] = deque()
        self._n_in_batches = 0

    @property
    def values(self) -> OrderedDict[str, float | None]:
        """All that is remembered, the oldest first."""
        while self._batches:
            ids, values = self._batches.popleft()
            self._values.update(zip(ids.texts().tolist(), values.tolist(), strict=True))
        self._n_in_batches = 0
        self._drop_oldest()
        return self._values

    def note(self, decision: str, value: float | None) -> None:
        """Remember a paid decision; None for one that expired."""
        values = self.values if self._batches else self._values
        values[decision] = value
        if len(values) > CAPACITY:
            self._drop_oldest()

    def note_all(self, decisions: Iterable[tuple[str, float | None]]) -> None:
        """Remember several."""
        self.values.update(decisions)
        self._drop_oldest()

    def note_batch(self, ids: Ids, values: Floats) -> None:
        """Remember the values (n,) that decisions were paid; nothing else may change the arrays."""
        self._batches.append((ids, values))
        self._n_in_batches += len(values)
        while self._n_in_batches - len(self._batches[0][1]) >= CAPACITY:
            self._n_in_batches -= len(self._batches.popleft()[1])
        if self._n_in_batches >= CAPACITY:
            self._values.clear()

    def outcome(self, decision: str, value: float, settings: Settings) -> Outcome:
        """What a reward for a decision that is not pending comes to."""
        values = self.values
        if decision not in values:
            return outcome_of(None, value, settings)
        paid = values[decision]
        state = DecisionState.EXPIRED if paid is None else DecisionState.PAID
        return outcome_of(state, value, settings, paid=paid)

    def _drop_oldest(self) -> None:
        while len(self._values) > CAPACITY:
            self._values.popitem(last=False)
