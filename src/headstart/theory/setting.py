"""Setting: the quantities of the paper's bounds, and whether its assumptions hold."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Booleans, Floats

# Normalised features may be a little longer than 1.
_ROUNDING = 1e-9


class AssumptionWarning(UserWarning):
    """A formula was evaluated where the paper does not prove it.

    >>> setting = hs.theory.Setting(dimension=2, horizon=50, regularization=0.1)
    >>> with hs.theory.violated_assumptions() as sentences:
    ...     _ = hs.theory.itl_bound(setting)
    >>> sentences[0][:38]
    'Lemma 1 needs λ ≥ max(1, L²) = 1, got '
    """


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """The quantities of the paper's bounds, and what is known about the tasks.

    Parameters
    ----------
    dimension : int
        The number of features, d.
    horizon : int
        The number of rounds, T.
    regularization : float or array_like of shape (…), default 1.0
        λ. With an array, a bound is an array over it.
    noise_scale : float, default 1.0
        R: the noise is R-sub-Gaussian.
    feature_bound : float, default 1.0
        L, the largest ‖x‖.
    parameter_bound : float, default 1.0
        S, the largest ‖w‖.
    mean_bound : float, default 1.0
        B, the largest |xᵀw|; 1 in the paper.
    failure_probability : float, optional
        δ; 1/T by default, as in Lemma 1.
    bounded_tasks : bool, default True
        Whether ‖w‖ ≤ S with certainty. Gaussian tasks have no such S.
    frozen_bias : bool, default True
        Whether h was fixed before the task began.

    Examples
    --------
    >>> setting = hs.theory.Setting(dimension=20, horizon=50)
    >>> setting.delta, setting.trivial_bound
    (0.02, 100.0)
    """

    dimension: int
    horizon: int
    regularization: ArrayLike = 1.0
    noise_scale: float = 1.0
    feature_bound: float = 1.0
    parameter_bound: float = 1.0
    mean_bound: float = 1.0
    failure_probability: float | None = None
    bounded_tasks: bool = True
    frozen_bias: bool = True

    def __post_init__(self) -> None:
        checks.count("dimension", self.dimension)
        checks.count("horizon", self.horizon)
        if (checks.floats("regularization", self.regularization) <= 0).any():
            raise ValueError(f"regularization must be above 0, got {self.regularization}")
        checks.nonnegative("noise_scale", self.noise_scale)
        checks.positive("feature_bound", self.feature_bound)
        checks.nonnegative("parameter_bound", self.parameter_bound)
        checks.nonnegative("mean_bound", self.mean_bound)
        if self.failure_probability is not None:
            checks.probability("failure_probability", self.failure_probability)

    @property
    def ridge(self) -> Floats:
        """λ, as an array (…)."""
        return np.asarray(self.regularization, dtype=np.float64)

    @property
    def delta(self) -> float:
        """δ: as given, or 1/T; ½ if T = 1."""
        if self.failure_probability is not None:
            return self.failure_probability
        return 1.0 / max(self.horizon, 2)

    @property
    def trivial_bound(self) -> float:
        """The bound 2BT on the regret, 2B per round, that holds without any theorem."""
        return 2.0 * self.mean_bound * self.horizon

    def log_determinant(self, rounds: ArrayLike | None = None) -> Floats:
        """The bound d log(1 + tL²/(λd)) on log det(I + V/λ) after t rounds.

        By the inequality of arithmetic and geometric means. The paper has L in places where L² is
        right.
        """
        t = np.asarray(self.horizon if rounds is None else rounds, dtype=np.float64)
        d = self.dimension
        return np.asarray(d * np.log1p(t * self.feature_bound**2 / (self.ridge * d)))

    @property
    def small_regularization(self) -> Booleans:
        """Where λ < L², (…), so that the width of an arm may exceed 1."""
        return np.asarray(self.ridge < self.feature_bound**2 * (1.0 - _ROUNDING))

    def demand_regularization(self, what: str) -> None:
        """Warn if λ < max(1, L²), since the regret bounds need more."""
        least = max(1.0, self.feature_bound**2)
        smallest = float(self.ridge.min())
        warn_unless(
            smallest >= least * (1.0 - _ROUNDING),
            f"{what} needs λ ≥ max(1, L²) = {least:g}, got {smallest:g}; this number takes the "
            f"radius as at least B = {self.mean_bound:g} instead, and holds if every |xᵀw| ≤ B",
        )

    def demand_bounded_tasks(self, what: str) -> None:
        """Warn if tasks are not bounded, such as Gaussian ones."""
        warn_unless(
            self.bounded_tasks,
            f"{what} needs ‖w‖ ≤ S = {self.parameter_bound:g} for every task; unbounded tasks "
            "(Gaussian ones, for example) break it with some probability",
        )

    def demand_frozen_bias(self, what: str) -> None:
        """Warn if the bias moves with the task's own data."""
        warn_unless(
            self.frozen_bias,
            f"{what} needs a bias that is fixed before the task begins; this one moves with the "
            "task's own rewards",
        )


@contextmanager
def violated_assumptions() -> Iterator[list[str]]:
    """A list that collects the sentences of all `AssumptionWarning`s instead of warning.

    Each sentence is listed once.

    >>> setting = hs.theory.Setting(dimension=2, horizon=50, bounded_tasks=False)
    >>> with hs.theory.violated_assumptions() as sentences:
    ...     _ = hs.theory.itl_bound(setting)
    >>> len(sentences)
    1
    """
    violated: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AssumptionWarning)
        yield violated
    violated.extend(dict.fromkeys(str(warning.message) for warning in caught))


def warn_unless(holds: bool, sentence: str) -> None:
    """An `AssumptionWarning` with this sentence, unless the assumption holds."""
    if not holds:
        warnings.warn(sentence, AssumptionWarning, stacklevel=4)
