"""What a round offers, other than fresh or fixed arms: a part of a catalogue, a context per arm."""

from dataclasses import dataclass, replace

import numpy as np

from headstart.arrays import Floats
from headstart.environments import Synthetic
from headstart.environments.synthetic import PreparedSynthetic


@dataclass(frozen=True, kw_only=True, eq=False)
class CatalogueSubsets(Synthetic):
    """A catalogue of `n_arms` items per replication, of which a round offers some at random."""

    n_offered: int = 10

    def prepare(self, replications: int, rng: np.random.Generator) -> PreparedSynthetic:
        """Draw the catalogues: items around the bases, which they replace."""
        plain = super().prepare(replications, rng)
        return replace(plain, bases=super().sample_arms(plain.bases, 1, rng)[0])

    def sample_arms(self, bases: Floats, rounds: int, rng: np.random.Generator) -> Floats:
        """The items that are offered, (T, R, `n_offered`, d), from catalogues (R, `n_arms`, d)."""
        order = rng.random((rounds, *bases.shape[:2])).argsort(-1)[..., : self.n_offered, None]
        return np.take_along_axis(bases[None], order, axis=2)


@dataclass(frozen=True, kw_only=True, eq=False)
class ContextPerArm(Synthetic):
    """A round has a context c of d/K numbers, and arm k is c in its own block of features.

    So every arm has a parameter of its own (a disjoint model).
    """

    def sample_arms(self, bases: Floats, rounds: int, rng: np.random.Generator) -> Floats:
        """The arms e_k ⊗ c, (T, R, K, d), with E‖c‖² = 1."""
        size = self.dimension // self.n_arms
        contexts = rng.standard_normal((rounds, len(bases), 1, 1, size)) / np.sqrt(size)
        arms = np.eye(self.n_arms)[:, :, None] * contexts
        return np.asarray(arms.reshape(rounds, len(bases), self.n_arms, self.dimension))
