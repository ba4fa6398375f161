"""Three choices of λ, and the Oracle's regret at each."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from headstart import theory
from headstart.arrays import Floats
from headstart.diagnosis.measures.tasks import TaskMoments
from headstart.diagnosis.recording import Recording

RegularizationRule = Literal["Corollary 2", "Bayes", "least regret"]


@dataclass(frozen=True, kw_only=True)
class RegularizationChoice:
    """λ by a rule, and the Oracle's regret per task there; None outside of the recorded λ."""

    rule: RegularizationRule
    value: float
    regret: float | None


@dataclass(frozen=True, eq=False)
class Regularization:
    """The choices of λ for an Oracle.

    1/(T Var_w̄) is the paper's Corollary 2, s²d/Var_w̄ that of Bayes; least regret is measured.
    """

    recording: Recording

    @cached_property
    def choices(self) -> list[RegularizationChoice]:
        """λ by every rule; by least regret only where the Oracle played at several λ."""
        variance = TaskMoments(self.recording).variance
        corollary = theory.paper_regularization(horizon=self.recording.horizon, variance=variance)
        bayes = theory.bayes_regularization(
            noise_scale=self.recording.attribute("noise_scale"),
            dimension=self.recording.parameters.shape[-1],
            variance=variance,
        )
        values: dict[RegularizationRule, float] = {
            "Corollary 2": float(corollary),
            "Bayes": float(bayes),
        }
        played = self._oracle_regret()
        if played is not None:
            grid, regret = played
            values["least regret"] = float(grid[regret.argmin()])
        return [
            RegularizationChoice(rule=rule, value=value, regret=_interpolate(played, value))
            for rule, value in values.items()
        ]

    def _oracle_regret(self) -> tuple[Floats, Floats] | None:
        """The λ that the Oracle played at, ascending, and its mean regrets."""
        if "oracle_regret" not in self.recording.dataset:
            return None
        regret = self.recording.dataset["oracle_regret"].mean("replication")
        regret = regret.sortby("regularization")
        return regret["regularization"].to_numpy(), regret.to_numpy()


def _interpolate(played: tuple[Floats, Floats] | None, value: float) -> float | None:
    """The regret at a λ, linear in log λ between those played; None outside of them."""
    if played is None or not played[0][0] <= value <= played[0][-1]:
        return None
    grid, regret = played
    return float(np.interp(np.log(value), np.log(grid), regret))
