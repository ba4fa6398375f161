"""Catalogue: a fixed set of items that many decisions choose from."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.live.inputs import Arms, ArmTable, FeatureNames, read_arms, vector_of


class Catalogue:
    """Items registered once: K rows of d features, by id where a mapping or a DataFrame has ids.

    A task that decides among them keeps a prediction and a squared width for every item, 16 K
    bytes, and updates them in O(K·d) per reward in place of the O(K·d²) of reading all items.
    Items can be added, removed and changed at any time. It needs an index policy, a bias
    that does not move within a task, and no discount; else every decision reads all items.

    `feature_names` are the columns to take from DataFrames, all of the first one's by default.

    >>> menu = Catalogue({"tea": [1.0, 0.0], "milk": [0.5, 0.5]})
    >>> menu.add({"rum": [0.0, 1.0]})
    ['rum']
    >>> menu.remove("milk")
    >>> menu
    Catalogue(2 items, d=2: 'tea', 'rum')
    """

    def __init__(
        self,
        arms: Arms,
        *,
        dimension: int | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        if dimension is not None:
            dimension = checks.count("dimension", dimension)
        elif feature_names is not None and not isinstance(feature_names, str):
            dimension = len(feature_names)
        columns = None
        if feature_names is not None:
            columns = FeatureNames(dimension or 1, feature_names).known
        table = read_arms(arms, dimension, columns)
        self.dimension: int = table.features.shape[1]
        self._names = FeatureNames(self.dimension, columns)
        self.features = np.empty((0, self.dimension))
        self.available = np.empty(0, dtype=bool)
        self.ids: list[Hashable] = []
        self.version = 0
        self.changed = np.empty(0, dtype=np.int64)  # the version in which an item changed last
        self._index: dict[Hashable, int] = {}
        self._append(table)

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, item: object) -> bool:
        return isinstance(item, Hashable) and item in self._index

    def __repr__(self) -> str:
        keys = list(self._index)
        shown = ", ".join(map(repr, keys[:3])) + (", …" if len(keys) > 3 else "")
        return f"Catalogue({len(keys):,} items, d={self.dimension}: {shown})"

    @property
    def index(self) -> Mapping[Hashable, int]:
        """The index of every item that is in the catalogue, by id."""
        return self._index

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features, where they were given or a DataFrame had them."""
        return self._names.known

    def add(self, arms: Arms) -> list[Hashable]:
        """Add new items; returns their ids: a mapping's keys, a DataFrame's index, or indices."""
        return self._append(read_arms(arms, self.dimension, self._names.known))

    def _append(self, table: ArmTable) -> list[Hashable]:
        features = table.features
        fresh = list(range(len(self.ids), len(self.ids) + len(features)))
        ids: Sequence[Hashable] = fresh if table.ids is None else table.ids
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
        self._names.note(table.columns)
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
        if item not in self:
            raise ValueError(f"item must be in the catalogue, got {item!r}")
        return self._index[item]
