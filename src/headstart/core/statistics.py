"""TaskStatistics: sufficient statistics of a task, as sums that add.

Every array may carry leading axes `…`; their entries are independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats


@dataclass(frozen=True, eq=False)
class TaskStatistics:
    """Sufficient statistics V = Σxxᵀ, b = Σyx, T and q = Σy² of a task. They add, in any order.

    Parameters
    ----------
    gram : ndarray of shape (…, d, d)
        V, without λ, so that a prior can change mid-task.
    moment : ndarray of shape (…, d)
        b.
    count, sum_of_squares : ndarray of shape (…)
        T and q.
    about : ndarray of shape (…, p), optional
        What is known of the task before its first round. It does not add.

    Examples
    --------
    >>> monday = hs.TaskStatistics.from_data([[1.0, 0.0]], [2.0])
    >>> tuesday = hs.TaskStatistics.from_data([[1.0, 1.0]], [1.0])
    >>> (monday + tuesday).moment
    array([3., 1.])
    """

    gram: Floats
    moment: Floats
    count: Floats
    sum_of_squares: Floats
    about: Floats | None = None

    def __post_init__(self) -> None:
        moment = checks.floats("moment", self.moment)
        if moment.ndim == 0:
            raise ValueError("moment must have shape (…, d), got a single number")
        lead, dimension = moment.shape[:-1], moment.shape[-1]
        gram = checks.floats("gram", self.gram)
        checks.shape("gram", gram, (*lead, dimension, dimension), "(…, d, d)")
        object.__setattr__(self, "moment", moment)
        object.__setattr__(self, "gram", gram)
        for name in ("count", "sum_of_squares"):
            scalar = checks.floats(name, getattr(self, name))
            checks.shape(name, scalar, lead, "(…)")
            if (scalar < 0).any():
                raise ValueError(f"{name} must be at least 0, got {scalar.min()}")
            object.__setattr__(self, name, scalar)
        if self.about is not None:
            object.__setattr__(self, "about", checks.about("about", self.about, lead))

    @classmethod
    def zeros(cls, dimension: int, lead: tuple[int, ...] = ()) -> TaskStatistics:
        """The statistics of no data at all."""
        size = checks.count("dimension", dimension)
        return checks.trusted(
            cls,
            gram=np.zeros((*lead, size, size)),
            moment=np.zeros((*lead, size)),
            count=np.zeros(lead),
            sum_of_squares=np.zeros(lead),
        )

    @classmethod
    def from_data(
        cls, features: ArrayLike, rewards: ArrayLike, about: Floats | None = None
    ) -> TaskStatistics:
        """The statistics of features x (…, T, d), rewards y (…, T), and numbers about it (…, p)."""
        x, y = checks.floats("features", features), checks.floats("rewards", rewards)
        if x.ndim < 2:
            raise ValueError(f"features must have shape (…, T, d), got {x.shape}")
        checks.shape("rewards", y, x.shape[:-1], "(…, T)")
        return cls(
            gram=x.mT @ x,
            moment=(x.mT @ y[..., None])[..., 0],
            count=np.full(y.shape[:-1], float(y.shape[-1])),
            sum_of_squares=(y**2).sum(-1),
            about=about,
        )

    @classmethod
    def stack(cls, tasks: Sequence[TaskStatistics], dimension: int) -> TaskStatistics:
        """The statistics of k tasks with the leading axes (k,); k may be 0."""
        if not tasks:
            return cls.zeros(dimension, (0,))
        abouts = [task.about for task in tasks if task.about is not None]
        return checks.trusted(
            cls,
            gram=np.stack([task.gram for task in tasks]),
            moment=np.stack([task.moment for task in tasks]),
            count=np.stack([task.count for task in tasks]),
            sum_of_squares=np.stack([task.sum_of_squares for task in tasks]),
            about=np.stack(abouts) if len(abouts) == len(tasks) else None,
        )

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return int(self.moment.shape[-1])

    @property
    def lead(self) -> tuple[int, ...]:
        """The leading axes."""
        return self.moment.shape[:-1]

    def __add__(self, other: TaskStatistics) -> TaskStatistics:
        # A single feature would broadcast over many.
        checks.shape("the moment to add", other.moment, self.moment.shape, "of the other's moment")
        return checks.trusted(
            TaskStatistics,
            gram=self.gram + other.gram,
            moment=self.moment + other.moment,
            count=self.count + other.count,
            sum_of_squares=self.sum_of_squares + other.sum_of_squares,
            about=other.about if self.about is None else self.about,
        )
