"""Catalogue: a fixed set of items, and what every open task thinks of them, kept current."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.live import _steps as steps
from headstart.live._pending import NONE
from headstart.live._store import Store
from headstart.live.inputs import Arms, features_of, too_large

# Squared widths lose digits as they shrink; reading all items anew after this many rewards a
# feature costs a fiftieth of keeping them current.
_STEPS_A_FEATURE = 50


class Catalogue:
    """Items registered once: K rows of d features, by id where given a mapping.

    A task that decides among them keeps a prediction and a squared width for every item, 16 K
    bytes, and brings them forward by O(K·d) a reward in place of the O(K·d²) of reading all items.
    Items come, go and change at any time. An index policy is needed for it, a bias that does not
    move with every reward, and no discount; else every decision reads all items.
    """

    def __init__(self, arms: Arms, *, dimension: int | None = None) -> None:
        size = np.shape(next(iter(arms.values())) if hasattr(arms, "values") else arms)[-1]
        self.dimension = checks.count("dimension", size if dimension is None else dimension)
        self.features = np.empty((0, self.dimension))
        self.alive = np.empty(0, dtype=bool)
        self.ids: list[Hashable] = []
        self.version = 0
        self.changed = np.empty(0, dtype=np.int64)  # the version in which a row changed last
        self._row: dict[Hashable, int] = {}
        self.add(arms)

    def __len__(self) -> int:
        return len(self._row)

    def add(self, arms: Arms) -> list[Hashable]:
        """New items; returns their ids: a mapping's keys, else numbers that follow the rows."""
        features, keys = features_of(arms, self.dimension)
        fresh = list(range(len(self.ids), len(self.ids) + len(features)))
        ids: Sequence[Hashable] = fresh if keys is None else keys
        for key in ids:
            if key in self._row:
                raise ValueError(f"arms must be new items, got {key!r}, which is in the catalogue")
        self.version += 1
        for key, row in zip(ids, fresh, strict=True):
            self._row[key] = row
        self.features = np.concatenate([self.features, features])
        self.alive = np.concatenate([self.alive, np.ones(len(features), dtype=bool)])
        self.changed = np.concatenate([self.changed, np.full(len(features), self.version)])
        self.ids.extend(ids)
        return list(ids)

    def remove(self, item: Hashable) -> None:
        """No longer to be had."""
        row = self._find(item)
        del self._row[item]
        self.alive[row] = False

    def change(self, item: Hashable, features: ArrayLike) -> None:
        """Other features (d,) for an item."""
        row = self._find(item)
        x = checks.floats("features", features)
        checks.shape("features", x, (self.dimension,), "(d,)")
        self.version += 1
        self.features[row] = x
        self.changed[row] = self.version

    def _find(self, item: Hashable) -> int:
        if item not in self._row:
            raise ValueError(f"item must be in the catalogue, got {item!r}")
        return self._row[item]


class View:
    """What one task thinks of a catalogue: predictions xᵀŵ and squared widths, (K,) each."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.predictions = np.empty(0)
        self.squares = np.empty(0)
        self._version = 0
        self._steps = 0
        self._moves: list[Floats] = []

    def follow(self, move: Floats) -> None:
        """Note a reward: u/√f and (y − xᵀŵ)/√f, as `rows.learn` traced them."""
        self._moves.append(move)

    def bring_up(self, store: Store, slot: int) -> None:
        """Catch up with the rewards and the changes of items since the last time."""
        items = self.catalogue
        known = len(self.predictions)
        self._steps += len(self._moves)
        if known == 0 or self._steps > _STEPS_A_FEATURE * items.dimension:
            stale = np.arange(len(items.features))
            self._steps = 0
        else:
            stale = np.flatnonzero(items.changed > self._version)
            if self._moves:
                moves = np.array(self._moves)
                turned = items.features[:known] @ np.ascontiguousarray(moves[:, :-1].T)
                steps.bring_forward(self.predictions, self.squares, turned, moves[:, -1].copy())
        if len(stale):
            self._read(store, slot, stale)
        self._moves.clear()
        self._version = items.version

    def _read(self, store: Store, slot: int, stale: Integers) -> None:
        features = self.catalogue.features[stale]
        shape = (1, *features.shape)
        projections, predictions, widths = np.empty(shape), np.empty(shape[:2]), np.empty(shape[:2])
        arms = features[None]
        at = np.array([slot])
        if steps.read(store.state, at, arms, projections, predictions, widths) != NONE:
            raise too_large("the catalogue's items", features)
        total = len(self.catalogue.features)
        for name, fresh in (("predictions", predictions[0]), ("squares", widths[0] ** 2)):
            grown = np.empty(total)
            old = getattr(self, name)
            grown[: len(old)] = old
            grown[stale] = fresh
            setattr(self, name, grown)


class Views:
    """The views of open tasks, by slot."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_slot: dict[int, View] = {}

    def __len__(self) -> int:
        return len(self._by_slot)

    def trace(self, slot: int) -> Floats:
        """Where `rows.learn` leaves what a view needs: (d + 1,) if the task has one, else (0,)."""
        return np.empty(self._store.dimension + 1 if slot in self._by_slot else 0)

    def follow(self, slot: int, trace: Floats) -> None:
        """Hand the trace of a reward to the task's view."""
        if len(trace):
            self._by_slot[slot].follow(trace)

    def drop(self, slot: int) -> None:
        """Forget the view of a task."""
        self._by_slot.pop(slot, None)

    def clear(self) -> None:
        """Forget all views: they are read anew when needed."""
        self._by_slot.clear()

    def scores(self, catalogue: Catalogue, slot: int, radius: float) -> Floats:
        """xᵀŵ + radius·‖x‖ of all items, (K,)."""
        view = self._by_slot.get(slot)
        if view is None or view.catalogue is not catalogue:
            view = View(catalogue)
        view.bring_up(self._store, slot)
        self._by_slot[slot] = view
        scores = np.empty(len(view.predictions))
        steps.index(view.predictions, view.squares, radius, scores)
        return scores
