"""Gittins: explore each part of a width as far as its future uses can repay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headstart import checks, kernels
from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates, EstimateSummary
from headstart.policies._noise import noise_scale


@dataclass(frozen=True, kw_only=True)
class Gittins:
    """Score xᵀŵ plus a Gittins bonus, in which each part of the width has its own uses.

    What is learned of a reward serves this task, all tasks, and all who are offered the item. The
    variance of a prediction has these parts: how this task differs from the mean task, the
    uncertainty of the mean task, and the item's effect. A part of variance σ² is worth b(nσ²)²/n if
    it is used n more times (`kernels.worth_exploring`), and the bonus is the root of the sum. The
    uses so far stand for those to come: for the mean task the rewards of all tasks, for an item the
    times it was offered, and for the task its rewards/d, since one reward says little of other
    directions.

    It has no number to tune. It is the default in live use, where tasks are long or short, and arms
    are new or come again. If arms are new in every round of a study, `BayesUCB` is slightly better.

    Parameters
    ----------
    noise_scale : float, optional
        s; by default the prior's noise scale, learned or given.

    Examples
    --------
    >>> data = hs.TaskStatistics.from_data([[1.0, 0.0]], [1.0])
    >>> estimate = hs.RidgeEstimate(data, hs.Prior.zero(2, regularization=1.0))
    >>> hs.policies.Gittins().scores(estimate.read(np.eye(2)), np.empty(0)).round(2)
    array([0.83, 0.61])
    """

    noise_scale: float | None = None

    # It needs the parts of the widths.
    by_parts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.noise_scale is not None:
            checks.nonnegative("noise_scale", self.noise_scale)

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """0: the index is deterministic."""
        return 0

    def scale(self, summary: EstimateSummary) -> Floats:
        """s, of shape (…)."""
        return noise_scale(summary, self.noise_scale)

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        """The indices, (…, K)."""
        summary, shape = estimates.summary, estimates.predictions.shape
        lead, n_arms = shape[:-1], shape[-1]

        def of_arms(part: Floats | None, otherwise: float) -> Floats:
            part = np.full(shape, otherwise) if part is None else part
            return np.ascontiguousarray(part).reshape(-1, n_arms)

        def of_task(part: Floats) -> Floats:
            return np.array(np.broadcast_to(part, lead)).reshape(-1)

        scores = np.empty(shape)
        kernels.gittins(
            of_arms(estimates.predictions, 0.0),
            of_arms(estimates.widths, 0.0),
            of_arms(estimates.mean_widths, 0.0),
            of_arms(estimates.item_widths, 0.0),
            of_task(self.scale(summary)),
            of_task((summary.count + 1.0) / estimates.projections.shape[-1]),
            of_task(summary.experience + 1.0),
            of_arms(estimates.item_uses, 1.0),
            scores.reshape(-1, n_arms),
        )
        return scores
