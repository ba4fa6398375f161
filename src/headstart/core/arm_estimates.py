"""ArmEstimates and EstimateSummary: everything a policy may see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headstart import kernels
from headstart.arrays import Floats
from headstart.kernels import state

# How many rewards the usual variance counts.
_USUAL_REWARDS = 100.0


class EstimateSummary:
    """The properties of an estimate that do not depend on the arms.

    A policy sees only these properties of a task. They are views of the task's scalars, which
    change as rewards come.

    Parameters
    ----------
    scalars : ndarray of shape (…, N_SCALARS)
        The task's scalars (`kernels.state`).
    bias : ndarray of shape (…, d) or callable
        h, or a function that returns it.
    regularization : callable
        Returns Λ.
    usual_variance : float, default 0.0
        What the variance of the noise is at least, if little is known: it counts 100 rewards.

    Examples
    --------
    >>> data = hs.TaskStatistics.from_data([[1.0, 0.0]], [1.0])
    >>> estimate = hs.RidgeEstimate(data, hs.Prior.zero(2, regularization=1.0))
    >>> summary = estimate.summary
    >>> float(summary.count), round(float(summary.log_determinant), 3)
    (1.0, 0.693)
    """

    __slots__ = ("_bias", "_regularization", "_scalars", "_usual_variance")

    def __init__(
        self,
        scalars: Floats,
        bias: Floats | Callable[[], Floats],
        regularization: Callable[[], Floats],
        usual_variance: float = 0.0,
    ) -> None:
        self._scalars = np.moveaxis(scalars, -1, 0)
        self._usual_variance = usual_variance
        self._bias = bias  # or called when needed
        self._regularization = regularization  # called only when Λ is needed

    def update(self, scalars: Floats, usual_variance: float) -> None:
        """Make it the summary of another single task, which is cheaper than a new summary.

        The functions for the bias and Λ must then return those of that task.
        """
        self._scalars, self._usual_variance = scalars, usual_variance

    @property
    def log_determinant(self) -> Floats:
        """Log det(I + Λ⁻¹V), (…)."""
        value: Floats = self._scalars[state.LOG_DETERMINANT]
        return value

    @property
    def noise_scale(self) -> Floats:
        """The scale s of the noise, (…): the prior's, updated with the rewards since.

        If s² is below the usual variance v, it counts that as 100 rewards: s² + (v − s²)·100/(100 +
        N) after N rewards.
        """
        value: Floats = self._scalars[state.NOISE_SCALE]
        if self._usual_variance == 0.0:
            return value
        missing = np.maximum(self._usual_variance - value**2, 0.0)
        share = _USUAL_REWARDS / (_USUAL_REWARDS + self.experience)
        return np.asarray(np.sqrt(value**2 + share * missing))

    @property
    def count(self) -> Floats:
        """T, the number of rewards so far, (…); in live use, their discounted weights."""
        value: Floats = self._scalars[state.COUNT]
        return value

    @property
    def experience(self) -> Floats:
        """How many rewards are known, of this and all completed tasks, (…)."""
        others = self._scalars[state.NOISE_DEGREES_OF_FREEDOM]
        return np.asarray(self.count + np.where(np.isfinite(others), others, 0.0))

    @property
    def bias(self) -> Floats:
        """The prior's bias, (…, d)."""
        return self._bias() if callable(self._bias) else self._bias

    @property
    def largest_eigenvalue(self) -> Floats:
        """The largest eigenvalue of Λ, (…)."""
        values: Floats = self._scalars[state.LARGEST_EIGENVALUE]
        if not np.all(values):  # O(d³), so only if a policy asks for it
            spectrum = np.linalg.eigvalsh(self._regularization())
            self._scalars[state.LARGEST_EIGENVALUE] = spectrum[..., -1]
            values = self._scalars[state.LARGEST_EIGENVALUE]
        return values

    def __getitem__(self, i: tuple[int, ...] | None) -> EstimateSummary:
        """The summary at an index of the leading axes; with None, under a new axis."""
        scalars = np.moveaxis(self._scalars, 0, -1)[i]
        return EstimateSummary(
            scalars,
            self.bias[i],
            lambda: np.asarray(self._regularization()[i]),
            self._usual_variance,
        )

    def repeat(self, n: int) -> EstimateSummary:
        """Repeat it n times along the first leading axis, which has length 1."""
        return EstimateSummary(
            np.repeat(self._scalars.T, n, axis=0),
            self.bias[[0] * n],
            lambda: np.asarray(self._regularization()[[0] * n]),
            self._usual_variance,
        )


@dataclass(frozen=True, eq=False)
class ArmEstimates:
    """The estimates for the arms of a round, and the summary that all of them share.

    Attributes
    ----------
    projections : ndarray of shape (…, K, d)
        Rows xᵀ(V + Λ)⁻¹.
    predictions : ndarray of shape (…, K)
        xᵀŵ.
    widths : ndarray of shape (…, K)
        ‖x‖ in the norm of (V + Λ)⁻¹.
    inverse : ndarray of shape (…, d, d)
        (V + Λ)⁻¹.
    summary : EstimateSummary
        What does not depend on the arms.
    mean_widths : ndarray of shape (…, K) or None
        The part of the widths that is the uncertainty of the mean task; None if not known.

    Examples
    --------
    >>> data = hs.TaskStatistics.from_data([[1.0, 0.0]], [1.0])
    >>> estimate = hs.RidgeEstimate(data, hs.Prior.zero(2, regularization=1.0))
    >>> estimates = estimate.read(np.eye(2))
    >>> estimates.predictions, estimates.widths.round(3)
    (array([0.5, 0. ]), array([0.707, 1.   ]))
    """

    projections: Floats
    predictions: Floats
    widths: Floats
    inverse: Floats
    summary: EstimateSummary
    mean_widths: Floats | None = None

    def index(self, radius: Floats, mean_radius: Floats | None = None) -> Floats:
        """xᵀŵ + radius·‖x‖, of shape (…, K), for a radius (…).

        With a mean radius (…), and if mean widths m are known, it is xᵀŵ + radius·o√(no²/(1 + no²))
        + mean radius·m, where o² = ‖x‖² − m² is the task's own part and n − 1 its count of rewards.
        """
        shape = self.predictions.shape
        scores, flat = np.empty(shape), (-1, shape[-1])
        read = self.predictions.reshape(flat), self.widths.reshape(flat)
        radii = _flat(radius, shape[:-1])
        if mean_radius is None or self.mean_widths is None:
            kernels.index(*read, radii, scores.reshape(flat))
        else:
            mean_widths = self.mean_widths.reshape(flat)
            of_tasks = radii, _flat(mean_radius, shape[:-1]), _flat(self.summary.count, shape[:-1])
            kernels.index_by_parts(*read, mean_widths, *of_tasks, scores.reshape(flat))
        return scores

    def __getitem__(self, i: tuple[int, ...] | None) -> ArmEstimates:
        """The estimates at an index of the leading axes; with None, under a new axis."""
        return ArmEstimates(
            projections=self.projections[i],
            predictions=self.predictions[i],
            widths=self.widths[i],
            inverse=self.inverse[i],
            summary=self.summary[i],
            mean_widths=None if self.mean_widths is None else self.mean_widths[i],
        )

    def repeat(self, n: int) -> ArmEstimates:
        """Repeat it n times along the first leading axis, which has length 1."""
        mean_widths = self.mean_widths
        if mean_widths is not None:
            mean_widths = np.broadcast_to(mean_widths, (n, *mean_widths.shape[1:]))
        return ArmEstimates(
            projections=np.broadcast_to(self.projections, (n, *self.projections.shape[1:])),
            predictions=np.broadcast_to(self.predictions, (n, *self.predictions.shape[1:])),
            widths=np.broadcast_to(self.widths, (n, *self.widths.shape[1:])),
            inverse=np.broadcast_to(self.inverse, (n, *self.inverse.shape[1:])),
            summary=self.summary.repeat(n),
            mean_widths=mean_widths,
        )


def _flat(radius: Floats, lead: tuple[int, ...]) -> Floats:
    """A radius for every task, (R,)."""
    return np.ascontiguousarray(radius if radius.shape == lead else np.full(lead, radius)).reshape(
        -1
    )
