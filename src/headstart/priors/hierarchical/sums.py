"""Sums over tasks w_j ~ N(h, τ²I) with h ~ N(0, κ²I), for every λ = s²/τ² on a grid.

A few sums per λ are sufficient for all completed tasks. So λ runs over a grid, and the memory does
not grow with the number of tasks. Shapes: … leading axes, G values of λ.
"""

from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory

# From this many features on, leaving out directions without data pays off.
_LARGE = 32
# Eigenvalues of V below this share of the largest are rounding errors.
ROUNDING = 1e-14
# What a constant part of the rewards leaves of their squares, if there are this many.
_CONSTANT_LEAVES, _ENOUGH = 1e-3, 32.0


class Spectrum(NamedTuple):
    """V = U diag(v) Uᵀ of a task: v (…, r) in ascending order, and U (…, d, r)."""

    values: Floats
    vectors: Floats

    @classmethod
    def of(cls, task: TaskStatistics) -> "Spectrum":
        """The spectrum of a task's gram, of many features without directions that have no data."""
        values, vectors = np.linalg.eigh(task.gram)
        if task.dimension >= _LARGE:
            known = values > ROUNDING * values[..., -1:]
            spanned = max(int(known.sum(-1).max(initial=0)), 1)
            values, vectors = values[..., -spanned:], vectors[..., -spanned:]
        return cls(np.maximum(values, 0.0), vectors)

    def rotated(self, moment: Floats) -> Floats:
        """Uᵀb, (…, r)."""
        return np.asarray((self.vectors.mT @ moment[..., None])[..., 0])


@dataclass(frozen=True, eq=False)
class Sums:
    """Over tasks, with M_j = (V_j + λI)⁻¹, for every λ on the grid.

    information (…, G, d, d) is Σ M_j V_j = Σ (I − λM_j); ridges (…, G, d) is Σ M_j b_j, the sum of
    the estimates that AVG averages; log_determinant (…, G) is Σ log det(I + V_j/λ); residual
    (…, G) is Σ (q_j − b_jᵀM_j b_j); count and sum_of_squares (…) are Σ T_j and Σ q_j.
    """

    information: Floats
    ridges: Floats
    log_determinant: Floats
    residual: Floats
    count: Floats
    sum_of_squares: Floats

    @classmethod
    def zeros(cls, dimension: int, size: int, lead: tuple[int, ...]) -> "Sums":
        """The sums over no task, for G = size values of λ."""
        return cls(
            information=np.zeros((*lead, size, dimension, dimension)),
            ridges=np.zeros((*lead, size, dimension)),
            log_determinant=np.zeros((*lead, size)),
            residual=np.zeros((*lead, size)),
            count=np.zeros(lead),
            sum_of_squares=np.zeros(lead),
        )

    @classmethod
    def from_memory(cls, memory: Memory) -> "Sums":
        """The sums among the arrays of a memory."""
        return cls(**{field.name: memory[field.name] for field in fields(cls)})

    def to_memory(self) -> dict[str, Floats]:
        """The sums as named arrays."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def at(self, i: tuple[int, ...]) -> "Sums":
        """The sums of one replication."""
        return Sums(**{name: array[i] for name, array in self.to_memory().items()})

    @classmethod
    def of_task(
        cls, task: TaskStatistics, regularizations: Floats, spectrum: Spectrum | None = None
    ) -> "Sums":
        """The sums over one task, for the λ's (…, G), through the spectrum of its V.

        V is never inverted: with V = U diag(v) Uᵀ, MV = U diag(v/(v + λ)) Uᵀ, even if the task has
        fewer rounds than features.
        """
        spectrum = Spectrum.of(task) if spectrum is None else spectrum
        values, basis = spectrum.values[..., None, :], spectrum.vectors[..., None, :, :]
        rotated = spectrum.rotated(task.moment)[..., None, :]
        ridge = regularizations[..., None]
        inverse = 1.0 / (values + ridge)
        information = values * inverse
        estimate = rotated * inverse
        return cls(
            information=(basis * information[..., None, :]) @ basis.mT,
            ridges=(basis @ estimate[..., None])[..., 0],
            log_determinant=np.log1p(values / ridge).sum(-1),
            residual=task.sum_of_squares[..., None] - (rotated * estimate).sum(-1),
            count=task.count,
            sum_of_squares=task.sum_of_squares,
        )

    def centre(self, regularizations: Floats) -> Floats:
        """The weight of a constant part of the rewards, (…, d), in one feature; 0 if there is none.

        A constant far larger than what differs between arms, as of prices, says nothing of the size
        of the mean task: that is distributed around the constant, and not around 0. It is the
        weight of one feature that leaves less than a thousandth of Σq, or 0.
        """
        information, ridges = self.information[..., -1, :, :], self.ridges[..., -1, :]
        squares = np.diagonal(information, axis1=-2, axis2=-1)
        weights = ridges / np.where(squares > 0.0, squares, 1.0)
        left = self.residual[..., -1, None] - regularizations[..., -1, None] * weights * ridges
        best = left == left.min(-1, keepdims=True)
        best &= left < _CONSTANT_LEAVES * self.sum_of_squares[..., None]
        best &= (self.count >= _ENOUGH)[..., None] & (np.cumsum(best, -1) == 1)
        return np.asarray(np.where(best, weights, 0.0))

    def around(self, centre: Floats, regularizations: Floats) -> "Sums":
        """The sums of rewards less what this weight (…, d) gives, y − xᵀc; Σq stays.

        M_jb_j becomes M_j(b_j − V_jc), and q_j − b_jᵀM_jb_j changes by −2λcᵀM_jb_j + λcᵀM_jV_jc.
        """
        moved = (self.information @ centre[..., None, :, None])[..., 0]
        products = ((moved - 2.0 * self.ridges) * centre[..., None, :]).sum(-1)
        return replace(
            self,
            ridges=self.ridges - moved,
            residual=self.residual + regularizations * products,
        )

    def over_tasks(self) -> "Sums":
        """The sums over tasks that are stacked in the last leading axis."""
        axis = self.count.ndim - 1
        return Sums(**{name: array.sum(axis) for name, array in self.to_memory().items()})

    def shifted(self, steps: Integers) -> "Sums":
        """The same sums on a grid that lies this many λ's lower, (…).

        Beyond the end of this grid, its outermost λ is used.
        """
        size = self.residual.shape[-1]
        index = np.clip(np.arange(size) - np.asarray(steps)[..., None], 0, size - 1)
        return replace(
            self,
            information=np.take_along_axis(self.information, index[..., None, None], -3),
            ridges=np.take_along_axis(self.ridges, index[..., None], -2),
            log_determinant=np.take_along_axis(self.log_determinant, index, -1),
            residual=np.take_along_axis(self.residual, index, -1),
        )
