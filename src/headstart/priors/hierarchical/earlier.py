"""Tasks that are no longer stored: what the sums over all tasks still say about the mean task."""

import numpy as np

from headstart.arrays import Floats
from headstart.kernels import FactorModel, ThinTasks
from headstart.priors.hierarchical import grid
from headstart.priors.hierarchical.sums import Sums

# Information below this share of all tasks' is a rounding error.
_ROUNDING = 1e-9


def with_earlier(
    mean: Floats,
    covariance: Floats,
    sums: Sums,
    regularizations: Floats,
    tasks: ThinTasks,
    model: FactorModel,
) -> tuple[Floats, Floats]:
    """The mean task h (d,) and its covariance (d, d) given all tasks, from those stored.

    Subtracting the stored tasks from the sums leaves M̃ and w̃ over the earlier ones, at λ = s²/σ²,
    where σ² = τ² + tr LLᵀ/d is a coordinate's whole variance. M̃⁻¹w̃ is an unbiased estimate of h,
    along directions with data, with about the covariance σ²M̃⁻¹; so it counts as one observation.
    """
    variance = model.task + float((model.loadings**2).sum()) / len(mean)
    first, shares = grid.neighbours(regularizations, model.noise / variance)
    low, high = regularizations[first : first + 2]
    inverses = shares[0] / (tasks.squares + low) + shares[1] / (tasks.squares + high)
    weights = tasks.weights[:, None] * inverses
    information, ridges = (
        shares[0] * sum_at[first] + shares[1] * sum_at[first + 1]
        for sum_at in (sums.information, sums.ridges)
    )
    stored, every = float((weights * tasks.squares).sum()), float(np.trace(information))
    if every - stored <= _ROUNDING * every:
        return mean, covariance
    roots = np.sqrt(weights).reshape(-1)
    rows = roots[:, None] * tasks.designs.reshape(-1, len(mean))
    information = information - rows.T @ rows
    ridges = ridges - (roots * tasks.rewards.reshape(-1)) @ rows
    # With K = S̄(M̃S̄ + σ²I)⁻¹, h becomes h + K(w̃ − M̃h), and S̄ becomes S̄ − KM̃S̄.
    gain = covariance @ np.linalg.inv(information @ covariance + variance * np.eye(len(mean)))
    after = covariance - gain @ information @ covariance
    return mean + gain @ (ridges - information @ mean), (after + after.T) / 2.0
