"""The paper's bounds, as a table and as plots against λ and N."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from headstart import checks, theory
from headstart.arrays import Floats
from headstart.plotting import style as plots
from headstart.theory import RegretBound, Setting

# The terms of a bound, and their sum.
_TERMS = ("bias", "noise", "failure", "total")


@dataclass(frozen=True)
class StatedBound:
    """A bound of the paper for a learner at one λ."""

    learner: str
    statement: str
    regularization: float
    bound: RegretBound

    def plain(self) -> dict[str, object]:
        """As a JSON table; λ → ∞ is null."""
        terms = {name: float(getattr(self.bound, name)) for name in _TERMS}
        value = self.regularization if np.isfinite(self.regularization) else None
        who = {"learner": self.learner, "statement": self.statement}
        return {**who, "regularization": value, **terms}


@dataclass(frozen=True)
class BoundTable:
    """Bounds, and the assumptions that do not hold for them."""

    bounds: Sequence[StatedBound]
    violated: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class BoundStudy:
    """The quantities of an environment's bounds; `parameter_bound` is √Var_0 unless given."""

    dimension: int
    horizon: int
    variance: float
    second_moment: float
    regularization: float = 1.0
    noise_scale: float = 1.0
    feature_bound: float = 1.0
    parameter_bound: float | None = None

    def __post_init__(self) -> None:
        checks.positive("variance", self.variance)
        checks.positive("second_moment", self.second_moment)
        if self.variance > self.second_moment:
            raise ValueError(
                f"variance must be at most second_moment = {self.second_moment}, since w̄ minimises "
                f"it, got {self.variance}"
            )
        self.setting.delta  # noqa: B018  (checks the rest)

    @property
    def setting(self) -> Setting:
        """The quantities in the form that the theory takes."""
        given = self.parameter_bound
        bound = float(np.sqrt(self.second_moment)) if given is None else given
        return Setting(
            dimension=self.dimension,
            horizon=self.horizon,
            regularization=self.regularization,
            noise_scale=self.noise_scale,
            feature_bound=self.feature_bound,
            parameter_bound=bound,
            mean_bound=max(1.0, bound * self.feature_bound),
        )

    @property
    def trivial_bound(self) -> float:
        """The bound 2SLT on the regret that holds without any theorem, since |xᵀw| ≤ SL."""
        return 2.0 * self.setting.parameter_bound * self.feature_bound * self.horizon

    def table(self) -> BoundTable:
        """Every bound of Sections 2 and 3."""
        setting, ridge = self.setting, self.regularization
        itl, oracle = self.second_moment, self.variance
        with theory.violated_assumptions() as violated:
            high_probability = theory.oful_bound(setting)
            bounds = [
                StatedBound("OFUL", _OFUL, ridge, high_probability),
                StatedBound(
                    "ITL on the longest task", "Corollary 1", ridge, theory.itl_bound(setting)
                ),
                StatedBound(
                    "Oracle of the task", "Corollary 1", ridge, theory.oracle_bound(setting)
                ),
                StatedBound("ITL", "Lemma 2", ridge, self.transfer(itl)),
                StatedBound("Oracle of the mean", "Lemma 2", ridge, self.transfer(oracle)),
                self._corollary_2("ITL", itl),
                self._corollary_2("Oracle of the mean", oracle),
                self._limit("ITL", itl),
                self._limit("Oracle of the mean", oracle),
            ]
        return BoundTable(bounds, violated)

    def transfer(
        self, variance: Floats | float, regularization: Floats | None = None
    ) -> RegretBound:
        """Lemma 2 at a Var_h, with the study's λ or others."""
        setting = self.setting
        if regularization is not None:
            setting = replace(setting, regularization=regularization)
        return theory.transfer_bound(setting, variance=variance)

    def _corollary_2(self, learner: str, variance: float) -> StatedBound:
        chosen = float(theory.paper_regularization(horizon=self.horizon, variance=variance))
        bound = theory.low_variance_bound(self.setting, variance=variance)
        return StatedBound(learner, "Corollary 2", chosen, bound)

    def _limit(self, learner: str, variance: float) -> StatedBound:
        bound = theory.fixed_bias_limit(self.setting, bias_error=np.sqrt(variance))
        return StatedBound(learner, "λ → ∞", np.inf, bound)


# Not the paper's Theorem 3, which is about the error of the pooled bias.
_OFUL = "Theorem 3 of Abbasi-Yadkori et al. (2011), probability 1 − 1/T"


def plot(study: BoundStudy, n_tasks: int, path: Path) -> None:
    """Lemma 2 against λ for two biases, and against N if h is the mean of N tasks known exactly."""
    regularizations = np.geomspace(1.0, 1e5, 101) * max(1.0, study.feature_bound**2)
    with plots.figure(path, columns=2, height=2.8, share=True, legend=True) as (left, right):
        _plot_regularizations(left, study, regularizations)
        _plot_tasks(right, study, regularizations, n_tasks)
        for axes in (left, right):
            axes.axhline(study.trivial_bound, label="no theorem: 2SLT", **_TRIVIAL)
            axes.set_xscale("log")
            axes.set_yscale("log")


# The bound that needs no theorem.
_TRIVIAL: dict[str, Any] = {"color": "black", "linestyle": (0, (1, 1.5)), "linewidth": 1.0}


def _plot_regularizations(axes: Axes, study: BoundStudy, regularizations: Floats) -> None:
    for name, variance in (("ITL", study.second_moment), ("Oracle", study.variance)):
        total = study.transfer(variance, regularizations).total
        axes.plot(regularizations, total, label=f"{name}, Lemma 2", **plots.style(name, ()))
    axes.set_xlabel("regularization λ")
    axes.set_ylabel("bound on the regret of a task\n(units of reward)")
    axes.set_title("against λ")


def _plot_tasks(axes: Axes, study: BoundStudy, regularizations: Floats, n_tasks: int) -> None:
    """The least bound over λ when h is the mean of N tasks: Var_h = Var_w̄(1 + 1/N)."""
    numbers = np.unique(np.geomspace(1, max(2, n_tasks), 60).astype(np.int64))
    learned = study.variance * (1.0 + 1.0 / numbers)
    least = study.transfer(learned[:, None], regularizations).total.min(-1)
    axes.plot(numbers, least, label="h = mean of N tasks, Lemma 2", **plots.style("mean", ["mean"]))
    for name, variance in (("ITL", study.second_moment), ("Oracle", study.variance)):
        level = float(study.transfer(variance, regularizations).total.min())
        axes.plot(numbers, np.full(len(numbers), level), **plots.style(name, ()))
    axes.set_xlabel("completed tasks N")
    axes.set_title(f"against N, at the best λ up to {regularizations[-1]:g}")
