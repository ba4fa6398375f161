"""Fixed: a given bias, and nothing learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.habits import hinted
from headstart.interfaces import Memory


@hinted
@dataclass(frozen=True, kw_only=True, eq=False)
class Fixed:
    """The same bias for every task: zero is ITL, the mean parameter w̄ is the Oracle.

    Parameters
    ----------
    bias : array_like of shape (d,) or (R, d), or 0, default 0
        h; with R rows, one per replication.
    regularization : float or array_like of shape (d, d), default 1.0
        λ or Λ.

    Examples
    --------
    >>> oracle = hs.priors.Fixed(bias=[1.0, 1.0], regularization=4.0)
    >>> oracle.prior(oracle.empty(2)).bias
    array([1., 1.])
    """

    bias: ArrayLike = 0.0
    regularization: ArrayLike = 1.0

    def __post_init__(self) -> None:
        bias = checks.floats("bias", self.bias)
        if bias.ndim == 0 and bias != 0.0:
            raise ValueError(f"bias must be a vector (d,), (R, d), or 0, got the number {bias}")
        checks.regularization("regularization", self.regularization)

    @classmethod
    def zero(cls, *, regularization: ArrayLike = 1.0) -> Fixed:
        """ITL: every task starts from zero."""
        return cls(bias=0.0, regularization=regularization)

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """The bias itself, (…, d)."""
        checks.regularization_shape("regularization", self.regularization, dimension)
        bias = np.asarray(self.bias, dtype=np.float64)
        if bias.ndim > 0 and bias.shape[-1] != dimension:
            raise ValueError(f"bias must have {dimension} features, got shape {bias.shape}")
        try:
            return {"bias": np.broadcast_to(bias, (*lead, dimension))}
        except ValueError as error:
            expected = (*lead, dimension)
            message = f"bias must fit {expected}, got shape {bias.shape}"
            raise ValueError(message) from error

    def absorb(self, memory: Memory, task: TaskStatistics, weight: float = 1.0) -> Memory:
        """Nothing is learned."""
        return memory

    def scale(self, memory: Memory, factor: float) -> Memory:
        """Nothing is learned."""
        return memory

    def merge(self, memory: Memory, other: Memory) -> Memory:
        """Nothing is learned; both must have the same bias."""
        if not np.array_equal(memory["bias"], other["bias"]):
            raise ValueError("memories of Fixed must have the same bias to be merged")
        return memory

    def prior(self, memory: Memory) -> Prior:
        """The bias."""
        return Prior.trusted(memory["bias"], np.asarray(self.regularization))

    def running_bias(self, memory: Memory) -> None:
        """None: the bias is constant."""
        return
