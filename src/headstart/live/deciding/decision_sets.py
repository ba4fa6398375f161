"""DecisionSet: the arms of one decision, from whatever an application passes."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from headstart import checks
from headstart.arrays import Booleans, Floats
from headstart.live.arms import read_arms
from headstart.live.catalogue import Catalogue
from headstart.live.deciding.masks import Mask, read_mask
from headstart.live.feature_names import FeatureNames
from headstart.live.inputs import Arms


@dataclass(frozen=True, kw_only=True, eq=False)
class DecisionSet:
    """The arms of one decision, checked."""

    features: Floats  # (K, d)
    ids: Sequence[Hashable] | None  # None for the indices 0 to K − 1
    allowed: Booleans  # (K,), which may be chosen; at least one
    columns: tuple[str, ...] | None  # the names of the features, where the arms have them
    catalogue: Catalogue | None  # that the arms are

    def id(self, index: int) -> Hashable:
        """What an arm is called: its index, where it has no id."""
        return index if self.ids is None else self.ids[index]

    def masked(self, mask: Mask | None) -> "DecisionSet":
        """The same arms, of which only those of the mask may be chosen."""
        if mask is None:
            return self
        ids = self.ids if self.catalogue is None else self.catalogue.index
        allowed = self.allowed & read_mask(mask, len(self.features), ids)
        if not allowed.any():
            raise ValueError("mask must leave at least one item of the catalogue, got none")
        return replace(self, allowed=allowed)


def decision_set(arms: Arms | Catalogue, names: FeatureNames, what: str = "arms") -> DecisionSet:
    """Arms as a decision set."""
    if isinstance(arms, Catalogue):
        return _of_catalogue(arms, names)
    table = read_arms(arms, names.dimension, names.known, what)
    return DecisionSet(
        features=table.features,
        ids=table.ids,
        allowed=np.ones(len(table.features), dtype=np.bool_),
        columns=table.columns,
        catalogue=None,
    )


def _of_catalogue(catalogue: Catalogue, names: FeatureNames) -> DecisionSet:
    features, columns = catalogue.features, catalogue.feature_names
    checks.shape("the catalogue", features, (len(features), names.dimension), "(K, d)")
    if columns is not None and names.known is not None and columns != names.known:
        raise ValueError(
            f"the catalogue's features must be {checks.short(names.known)} in this order, "
            f"got {checks.short(columns)}: give it feature_names"
        )
    if len(catalogue) == 0:
        raise ValueError("the catalogue must have at least one item, got none")
    return DecisionSet(
        features=features,
        ids=catalogue.ids,
        allowed=catalogue.available.copy(),
        columns=columns,
        catalogue=catalogue,
    )
