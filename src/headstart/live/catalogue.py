"""Catalogue: a fixed set of items that many decisions choose from."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.live.inputs import Arms, features_of, vector_of


class Catalogue:
    """Items registered once: K rows of d features, by id where given a mapping.

    A task that decides among them keeps a prediction and a squared width for every item, 16 K
    bytes, and updates them in O(K·d) per reward in place of the O(K·d²) of reading all items.
    Items can be added, removed and changed at any time. It needs an index policy, a bias
    that does not move within a task, and no discount; else every decision reads all items.
    """

    def __init__(self, arms: Arms, *, dimension: int | None = None) -> None:
        size = np.shape(next(iter(arms.values())) if hasattr(arms, "values") else arms)[-1]
        self.dimension = checks.count("dimension", size if dimension is None else dimension)
        self.features = np.empty((0, self.dimension))
        self.available = np.empty(0, dtype=bool)
        self.ids: list[Hashable] = []
        self.version = 0
        self.changed = np.empty(0, dtype=np.int64)  # the version in which an item changed last
        self._index: dict[Hashable, int] = {}
        self.add(arms)

    def __len__(self) -> int:
        return len(self._index)

    def add(self, arms: Arms) -> list[Hashable]:
        """Add new items; returns their ids: a mapping's keys, else their indices."""
        features, keys = features_of(arms, self.dimension)
        fresh = list(range(len(self.ids), len(self.ids) + len(features)))
        ids: Sequence[Hashable] = fresh if keys is None else keys
        for key in ids:
            if key in self._index:
                raise ValueError(f"arms must be new items, got {key!r}, which is in the catalogue")
        self.version += 1
        for key, index in zip(ids, fresh, strict=True):
            self._index[key] = index
        self.features = np.concatenate([self.features, features])
        self.available = np.concatenate([self.available, np.ones(len(features), dtype=bool)])
        self.changed = np.concatenate([self.changed, np.full(len(features), self.version)])
        self.ids.extend(ids)
        return list(ids)

    def remove(self, item: Hashable) -> None:
        """Take an item out of the catalogue."""
        index = self._find(item)
        del self._index[item]
        self.available[index] = False

    def change(self, item: Hashable, features: ArrayLike) -> None:
        """Give an item other features (d,)."""
        index = self._find(item)
        x = vector_of("features", features, self.dimension)
        self.version += 1
        self.features[index] = x
        self.changed[index] = self.version

    def _find(self, item: Hashable) -> int:
        if item not in self._index:
            raise ValueError(f"item must be in the catalogue, got {item!r}")
        return self._index[item]
