"""CatalogueScores: predictions and widths of a catalogue's items, cached for open tasks."""

import numpy as np

from headstart import kernels
from headstart.arrays import Floats, Integers
from headstart.kernels import state as columns
from headstart.kernels.compilation import compiled
from headstart.kernels.state import Reading, TaskState
from headstart.live._blas import one_blas_thread
from headstart.live._item_effects import NO_EFFECTS, Effects, ItemEffects, add_effects
from headstart.live.catalogue import Catalogue
from headstart.live.inputs import LARGEST_GROWTH, too_large

# Squared widths lose digits as they shrink. Reading all items again after this many rewards per
# feature costs a fiftieth of updating them.
_UPDATES_PER_FEATURE = 50

_NO_TRACE = np.empty(0)


@compiled
def _bring_forward(predictions: Floats, squares: Floats, projections: Floats, gaps: Floats) -> None:
    """Update items (K,) for m rewards: with v = u/√f and c = xᵀv (K, m), ‖x‖² loses c²."""
    for k in range(projections.shape[0]):
        for m in range(projections.shape[1]):
            predictions[k] += projections[k, m] * gaps[m]
            squares[k] -= projections[k, m] * projections[k, m]


class _TaskScores:
    """One task's predictions xᵀŵ and squared widths of a catalogue's items, (K,) each."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.traces: list[Floats] = []  # of the rewards since
        self._predictions = np.empty(0)
        self._squares = np.empty(0)
        self._version = 0
        self._updates = 0

    def bring_up_to_date(self, state: TaskState) -> None:
        """Take the rewards and the changes of items since the last time into account."""
        items = self.catalogue
        n_read = len(self._predictions)
        self._updates += len(self.traces)
        if n_read == 0 or self._updates > _UPDATES_PER_FEATURE * items.dimension:
            stale = np.arange(len(items.features))
            self._updates = 0
        else:
            stale = np.flatnonzero(items.changed > self._version)
            if self.traces:
                traces = np.array(self.traces)
                projections = items.features[:n_read] @ np.ascontiguousarray(traces[:, :-1].T)
                gaps = traces[:, -1].copy()
                _bring_forward(self._predictions, self._squares, projections, gaps)
        if len(stale):
            self._read(state, stale)
        self.traces.clear()
        self._version = items.version

    def _read(self, state: TaskState, stale: Integers) -> None:
        features = self.catalogue.features[stale]
        shape = (1, *features.shape)
        reading = Reading(np.empty(shape), np.empty(shape[:2]), np.empty(shape[:2]))
        kernels.read(state, features[None], reading)
        predictions, squares = reading.predictions[0], reading.widths[0] ** 2
        if not (np.isfinite(predictions) & (squares < LARGEST_GROWTH)).all():
            raise too_large("the catalogue's items", features)
        self._predictions = self._grown(self._predictions, stale, predictions)
        self._squares = self._grown(self._squares, stale, squares)

    def _grown(self, old: Floats, stale: Integers, fresh: Floats) -> Floats:
        grown = np.empty(len(self.catalogue.features))
        grown[: len(old)] = old
        grown[stale] = fresh
        return grown

    def index(
        self,
        radius: float,
        mean_radius: float,
        count: float,
        mean_widths: Floats | None,
        effects: Effects,
    ) -> Floats:
        """xᵀŵ + radius·‖x‖ of all items, (K,), or the index by parts."""
        scores = np.empty((1, len(self._predictions)))
        widths = np.sqrt(np.maximum(self._squares, 0.0))
        read, radii = (self._predictions[None], widths[None]), np.array([radius])
        least = np.empty((0, 0)) if mean_widths is None else np.minimum(mean_widths, widths)[None]
        if len(effects.offsets):
            read = (self._predictions[None].copy(), read[1])
            add_effects(*read, least, 0, effects, 0)
        if mean_widths is None:
            kernels.index(*read, radii, scores)
        else:
            of_task = radii, np.array([mean_radius]), np.array([count])
            kernels.index_by_parts(*read, least, *of_task, scores)
        return scores.reshape(-1)


class CatalogueScores:
    """The items' scores for open tasks, by slot."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self.by_slot: dict[int, _TaskScores] = {}
        # √(xᵀS̄x) of a catalogue's items, the same for all tasks, and what they were computed from.
        self._mean_widths: tuple[Catalogue, int, Floats | None, Floats] | None = None
        self._effects: tuple[Catalogue, int, ItemEffects, Effects] | None = None

    def trace(self, slot: int) -> Floats:
        """Where learning a reward leaves u/√f and (y − xᵀŵ)/√f: (d + 1,), or (0,) if unused."""
        return np.empty(self._dimension + 1) if slot in self.by_slot else _NO_TRACE

    def note(self, slot: int, trace: Floats) -> None:
        """Note the trace of a reward that was learned."""
        if len(trace):
            self.by_slot[slot].traces.append(trace)

    def drop(self, slot: int) -> None:
        """Forget the scores of a task, which are read again when needed."""
        self.by_slot.pop(slot, None)

    def clear(self) -> None:
        """Forget all scores."""
        self.by_slot.clear()

    def index(
        self,
        catalogue: Catalogue,
        slot: int,
        state: TaskState,
        radius: float,
        mean_radius: float,
        mean_covariance: Floats,
        items: ItemEffects | None,
    ) -> Floats:
        """xᵀŵ + radius·‖x‖ of all items for a task, (K,); by parts where S̄ is (1, d, d)."""
        scores = self.by_slot.get(slot)
        if scores is None or scores.catalogue is not catalogue:
            scores = _TaskScores(catalogue)
        with one_blas_thread:
            scores.bring_up_to_date(state)
        self.by_slot[slot] = scores
        mean_widths = None
        if len(mean_covariance):
            mean_widths = self._mean_widths_of(catalogue, mean_covariance)
        count = float(state.scalars[0, columns.COUNT])
        effects = NO_EFFECTS if items is None else self._effects_of(catalogue, items)
        return scores.index(radius, mean_radius, count, mean_widths, effects)

    def _effects_of(self, catalogue: Catalogue, items: ItemEffects) -> Effects:
        known, version = self._effects, catalogue.version
        if known is None or known[:2] != (catalogue, version) or known[2] is not items:
            with one_blas_thread:
                offsets, variances = items.read(catalogue.features, catalogue.ids)
            known = catalogue, version, items, Effects(offsets[None], variances[None])
            self._effects = known
        return known[3]

    def _mean_widths_of(self, catalogue: Catalogue, covariance: Floats) -> Floats:
        known, version = self._mean_widths, catalogue.version
        if (
            known is not None
            and known[0] is catalogue
            and known[1] == version
            and known[2] is covariance.base  # a refresh has a new array
        ):
            return known[3]
        features = catalogue.features
        with one_blas_thread:
            squares = ((features @ covariance[0]) * features).sum(-1)
        widths: Floats = np.sqrt(np.maximum(squares, 0.0))
        self._mean_widths = catalogue, version, covariance.base, widths
        return widths
