"""TaskKinds: the kinds of tasks, and which tasks belong to each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.live.inputs import Name, default_names

# A task is listed in a kind if its probability is at least this.
_LEAST_PROBABILITY = 0.01
# A line shows this many features of a kind, where it differs most from all tasks.
_SHOWN = 5


class Kind(NamedTuple):
    """One kind of tasks.

    Attributes
    ----------
    share : float
        Its share of the latest tasks.
    mean : ndarray of shape (d,)
        Its mean task.
    tasks : dict of str or int to float
        The tasks that may be of this kind, with their probability, most likely first.

    Examples
    --------
    >>> bandit = hs.MetaBandit(dimension=2, seed=0)
    >>> _ = bandit.observe("ann", [1.0, 0.0], 1.0)
    >>> kind = bandit.kinds()[0]
    >>> kind.share, kind.tasks
    (1.0, {'ann': 1.0})
    """

    share: float
    mean: Floats
    tasks: dict[Name, float]


@dataclass(frozen=True, eq=False)
class TaskKinds:
    """The kinds of tasks, largest first: one, unless the tasks support more.

    Printing shows a line per kind, with the features in which its mean task differs most from the
    mean of all tasks.

    Attributes
    ----------
    kinds : tuple of Kind
        The kinds; `len`, indexing and iteration go over them.
    unseen : float
        The probability that the next task is of none of them.
    feature_names : tuple of str
        The names of the d features.

    Examples
    --------
    >>> bandit, rng = hs.MetaBandit(dimension=3, seed=0), np.random.default_rng(0)
    >>> for task in range(16):
    ...     w = [3.0, 0.0, 0.0] if task % 4 else [0.0, 0.0, 3.0]
    ...     for x in rng.normal(size=(9, 3)):
    ...         _ = bandit.observe(task, x, x @ w + rng.normal(0, 0.3))
    >>> kinds = bandit.kinds()
    >>> len(kinds), sorted(kinds[1].tasks)
    (2, [0, 4, 8, 12])
    >>> kinds[0].mean.round(), round(kinds[0].share, 2)
    (array([3., 0., 0.]), 0.75)
    """

    kinds: tuple[Kind, ...]
    unseen: float
    feature_names: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, prior: Prior, tasks: Mapping[Name, TaskStatistics], names: tuple[str, ...] = ()
    ) -> TaskKinds:
        """The kinds of a prior, and which tasks belong to each.

        Parameters
        ----------
        prior : Prior
            A prior without leading axes.
        tasks : mapping of str or int to TaskStatistics
            The data of the tasks, by name.
        names : tuple of str, optional
            The names of the d features.

        Returns
        -------
        TaskKinds
        """
        mixture = prior.mixture
        n = 0 if mixture is None else int(mixture.n_kinds)
        if mixture is None or n == 0:
            return cls((Kind(1.0, prior.bias.copy(), dict.fromkeys(tasks, 1.0)),), 0.0, names)
        total = float(mixture.weights[:n].sum())
        shares = (mixture.weights[:n] / total).tolist()
        weights = {name: prior.component_weights(task)[:n] for name, task in tasks.items()}
        kinds = []
        for c, (share, mean) in enumerate(zip(shares, mixture.bias[:n], strict=True)):
            likely = {name: float(own[c]) for name, own in weights.items()}
            order = sorted(likely, key=likely.__getitem__, reverse=True)
            members = {name: likely[name] for name in order if likely[name] >= _LEAST_PROBABILITY}
            kinds.append(Kind(share, mean.copy(), members))
        return cls(tuple(kinds), 1.0 - total, names)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.kinds)

    def __getitem__(self, i: int) -> Kind:
        """One of them."""
        return self.kinds[i]

    def __iter__(self) -> Iterator[Kind]:
        """One after another."""
        return iter(self.kinds)

    @property
    def distinctive(self) -> tuple[tuple[tuple[str, float], ...], ...]:
        """The features in which each kind differs most from the mean of all, and by how much."""
        names = self.feature_names or default_names(len(self.kinds[0].mean))
        centre = np.sum([kind.share * kind.mean for kind in self.kinds], 0)
        gaps = [kind.mean - centre for kind in self.kinds]
        orders = (np.argsort(-np.abs(gap), kind="stable")[:_SHOWN].tolist() for gap in gaps)
        return tuple(
            tuple((names[i], float(gap[i])) for i in order if gap[i])
            for gap, order in zip(gaps, orders, strict=True)
        )

    def __str__(self) -> str:
        """A line for every kind."""
        if len(self.kinds) == 1:
            return f"one kind of tasks: {len(self.kinds[0].tasks):,} are known"
        head = f"{len(self.kinds)} kinds of tasks, and {self.unseen:.1%} for one of none of them"
        lines = [
            f"{kind.share:.0%} of tasks, {sum(kind.tasks.values()):,.0f} known: "
            + ", ".join(f"{name} {gap:+.3g}" for name, gap in parts)
            for kind, parts in zip(self.kinds, self.distinctive, strict=True)
        ]
        return "\n".join([head, *lines])

    def __repr__(self) -> str:
        shares = ", ".join(f"{kind.share:.2g}" for kind in self.kinds)
        return f"TaskKinds(shares=({shares}), unseen={self.unseen:.2g}; print it for a table)"
