"""DecisionSets: the arms of a round, one item that the user likes among disliked ones."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headstart.arrays import Booleans, Floats, Integers
from headstart.datasets.table import RatingTable


@dataclass(frozen=True, eq=False, kw_only=True)
class DecisionSets:
    """One item rated at least `liked` and K − 1 different items rated at most `disliked`.

    With `unrated_disliked`, items that the user never rated count as disliked.
    """

    table: RatingTable
    n_arms: int
    liked: float
    disliked: float
    unrated_disliked: bool

    @cached_property
    def _liked(self) -> list[Integers]:
        return self._by_user(self.table.ratings >= self.liked)

    @cached_property
    def _listed(self) -> list[Integers]:
        """The disliked items; with `unrated_disliked`, the items that are not disliked."""
        disliked = self.table.ratings <= self.disliked
        return self._by_user(~disliked if self.unrated_disliked else disliked)

    def _by_user(self, keep: Booleans) -> list[Integers]:
        users, items = self.table.users[keep], self.table.items[keep]
        order = np.lexsort((items, users))
        ends = np.cumsum(np.bincount(users, minlength=self.table.shape[0]))
        return np.split(items[order], ends[:-1])

    def _n_disliked(self, user: int) -> int:
        listed = len(self._listed[user])
        return self.table.shape[1] - listed if self.unrated_disliked else listed

    @cached_property
    def eligible(self) -> Integers:
        """The users that can be a task: they have a liked item and K − 1 disliked ones."""
        return np.array(
            [
                user
                for user in range(self.table.shape[0])
                if len(self._liked[user]) > 0 and self._n_disliked(user) >= self.n_arms - 1
            ],
            dtype=np.int64,
        )

    def sample(self, user: int, uniforms: Floats) -> Integers:
        """The items (T, K) of a user's rounds, in random order, from uniforms (T, 2K) in [0, 1)."""
        rounds, n_arms = len(uniforms), self.n_arms
        chosen = np.empty((rounds, n_arms), dtype=np.int64)
        liked = self._liked[user]
        chosen[:, 0] = liked[(uniforms[:, 0] * len(liked)).astype(np.int64)]
        # Floyd's algorithm for K − 1 different ranks among n: at step j one of the first j + 1, or
        # j itself if that one is taken.
        n = self._n_disliked(user)
        ranks = np.empty((rounds, n_arms - 1), dtype=np.int64)
        for i, j in enumerate(range(n - n_arms + 1, n)):
            rank = (uniforms[:, 1 + i] * (j + 1)).astype(np.int64)
            taken = (ranks[:, :i] == rank[:, None]).any(1)
            ranks[:, i] = np.where(taken, j, rank)
        chosen[:, 1:] = self._disliked_at(user, ranks)
        return np.take_along_axis(chosen, uniforms[:, n_arms:].argsort(1), 1)

    def _disliked_at(self, user: int, ranks: Integers) -> Integers:
        """The disliked items of a user by their rank among them."""
        listed = self._listed[user]
        if not self.unrated_disliked:
            return np.asarray(listed[ranks])
        # The p-th item outside a sorted list comes after every entry that exceeds its own index by
        # at most p.
        skipped = np.searchsorted(listed - np.arange(len(listed)), ranks, side="right")
        return np.asarray(ranks + skipped)
