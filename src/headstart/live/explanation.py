"""Explanation: what an estimate says about one arm, feature by feature."""

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.intervals import quantile

# A table shows this many features, those of the largest contributions; the others as one row.
_SHOWN = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Explanation:
    """What a task's estimate says about an arm x, and where it comes from.

    The mean xᵀŵ is the sum of the contributions xᵢŵᵢ. Each is what the prior says, xᵢhᵢ, and what
    the task's own rewards add to it, xᵢ(ŵᵢ − hᵢ).

    >>> bandit = hs.MetaBandit(dimension=2, prior=hs.priors.Fixed.zero(), seed=0)
    >>> _ = bandit.observe("ann", [1.0, 0.5], 1.0)
    >>> explanation = bandit.task("ann").explain([1.0, 0.0])
    >>> round(explanation.mean, 3), explanation.contributions.round(3)
    (0.444, array([0.444, 0.   ]))
    """

    task: str | int
    arm: Hashable | None  # its id, where that is known
    names: tuple[str, ...]  # of the d features
    features: Floats  # (d,), x
    mean: float  # xᵀŵ
    width: float  # ‖x‖ in the norm of (V + Λ)⁻¹
    interval: tuple[float, float]  # of xᵀw, 95 %
    contributions: Floats  # (d,), xᵢŵᵢ
    from_prior: Floats  # (d,), xᵢhᵢ
    from_rewards: Floats  # (d,), xᵢ(ŵᵢ − hᵢ)

    @classmethod
    def of(
        cls,
        features: Floats,
        *,
        task: str | int,
        arm: Hashable | None,
        names: tuple[str, ...],
        parameter: Floats,
        bias: Floats,
        width: float,
        noise_scale: float,
    ) -> "Explanation":
        """What ŵ and h, (d,) each, say about features (d,) of this width."""
        contributions, from_prior = features * parameter, features * bias
        mean = float(features @ parameter)
        half = quantile(math.inf) * noise_scale * width
        return cls(
            task=task,
            arm=arm,
            names=names,
            features=features.copy(),
            mean=mean,
            width=width,
            interval=(mean - half, mean + half),
            contributions=contributions,
            from_prior=from_prior,
            from_rewards=contributions - from_prior,
        )

    def __str__(self) -> str:
        """A table of the features in the order of their contributions, the largest first."""
        low, high = self.interval
        arm = "an arm" if self.arm is None else f"arm {self.arm!r}"
        order = np.argsort(-np.abs(self.contributions), kind="stable")
        rows = [("feature", "value", "contribution", "from prior", "from rewards")]
        rows += [
            (self.names[i], f"{self.features[i]:.4g}", *self._cells(order[k : k + 1]))
            for k, i in enumerate(order[:_SHOWN].tolist())
        ]
        if len(order) > _SHOWN:
            rows.append((f"{len(order) - _SHOWN} others", "", *self._cells(order[_SHOWN:])))
        rows.append(("sum", "", *self._cells(order)))
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        lines = [
            "  ".join(
                cell.ljust(width) if column == 0 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        head = (
            f"{arm} for task {self.task!r}: mean {self.mean:.4g}, "
            f"95 % interval [{low:.4g}, {high:.4g}], width {self.width:.4g}"
        )
        return "\n".join([head, *lines])

    def __repr__(self) -> str:
        return (
            f"Explanation(task={self.task!r}, arm={self.arm!r}, mean={self.mean:.4g}, "
            f"width={self.width:.4g}, d={len(self.names)}; print it for a table)"
        )

    def _cells(self, which: Integers) -> tuple[str, str, str]:
        """The sums of three columns over some features."""
        columns = (self.contributions, self.from_prior, self.from_rewards)
        first, second, third = (f"{column[which].sum():+.4g}" for column in columns)
        return first, second, third
