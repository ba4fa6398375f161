"""The paper's bounds side by side, as a table and against λ and N."""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from headstart import checks, theory
from headstart.arrays import Floats
from headstart.plotting import style as plots
from headstart.theory import AssumptionWarning, RegretBound, Setting


@dataclass(frozen=True)
class Row:
    """One bound, and the λ it is taken at."""

    name: str
    regularization: float
    bound: RegretBound


@dataclass(frozen=True, kw_only=True)
class BoundStudy:
    """An environment as the bounds see it; `parameter_bound` is √Var_0 unless given."""

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
        """The same, for the theory."""
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
    def trivial(self) -> float:
        """2B a round."""
        return 2.0 * self.setting.mean_bound * self.horizon

    def table(self) -> tuple[list[Row], list[str]]:
        """Every bound of Sections 2 and 3, and the assumptions that do not hold."""
        s, strength = self.setting, self.regularization
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", AssumptionWarning)
            rows = [
                Row("OFUL, Theorem 3, probability 1 − 1/T", strength, theory.oful_bound(s)),
                Row("ITL on the longest task, Corollary 1", strength, theory.itl_bound(s)),
                Row("Oracle of the task, Corollary 1", strength, theory.oracle_bound(s)),
                Row("ITL, Lemma 2", strength, self.transfer(self.second_moment)),
                Row("Oracle of the mean, Lemma 2", strength, self.transfer(self.variance)),
                self._corollary("ITL, Corollary 2", self.second_moment),
                self._corollary("Oracle of the mean, Corollary 2", self.variance),
                Row("ITL, λ → ∞", np.inf, self._limit(self.second_moment)),
                Row("Oracle of the mean, λ → ∞", np.inf, self._limit(self.variance)),
            ]
        return rows, list({str(one.message): None for one in caught})

    def transfer(
        self, variance: Floats | float, regularization: Floats | None = None
    ) -> RegretBound:
        """Lemma 2 at a Var_h, with the study's λ or others."""
        setting = self.setting
        if regularization is not None:
            setting = replace(setting, regularization=regularization)
        return theory.transfer_bound(setting, variance=variance)

    def _corollary(self, name: str, variance: float) -> Row:
        chosen = float(theory.paper_regularization(horizon=self.horizon, variance=variance))
        return Row(name, chosen, theory.low_variance_bound(self.setting, variance=variance))

    def _limit(self, variance: float) -> RegretBound:
        return theory.fixed_bias_limit(self.setting, bias_error=np.sqrt(variance))


def draw(study: BoundStudy, n_tasks: int, path: Path) -> None:
    """Lemma 2 against λ for two biases; and against N for the mean of N tasks known exactly."""
    strengths = np.geomspace(1.0, 1e5, 101) * max(1.0, study.feature_bound**2)
    with plots.figure(path, columns=2) as (left, right):
        for name, variance in (("ITL", study.second_moment), ("Oracle", study.variance)):
            total = study.transfer(variance, strengths).total
            left.plot(strengths, total, label=name, **plots.style(name, 0))
        left.set_xlabel("λ")
        left.set_ylabel("bound on the regret of a task")
        left.set_title("Against λ")
        _draw_tasks(study, n_tasks, strengths, right)
        for axes in (left, right):
            _finish(axes, study.trivial)


def _draw_tasks(study: BoundStudy, n_tasks: int, strengths: Floats, axes: Axes) -> None:
    """The best bound over λ when h is the mean of N tasks: Var_h = Var_w̄(1 + 1/N)."""
    numbers = np.unique(np.geomspace(1, max(2, n_tasks), 60).astype(np.int64))
    learned = study.variance * (1.0 + 1.0 / numbers)
    best = study.transfer(learned[:, None], strengths).total.min(-1)
    axes.plot(numbers, best, color="#0072B2", label="mean of N tasks")
    for name, variance in (("ITL", study.second_moment), ("Oracle", study.variance)):
        level = float(study.transfer(variance, strengths).total.min())
        axes.plot(numbers, np.full(len(numbers), level), **plots.style(name, 0))
    axes.set_xlabel("completed tasks N")
    axes.set_title(f"Against N, at the best λ up to {strengths[-1]:g}")


def _finish(axes: Axes, trivial: float) -> None:
    axes.axhline(trivial, color="black", linestyle=(0, (1, 1.5)), linewidth=1.0)
    right = axes.get_xlim()[1]
    axes.annotate("2B a round", (right, trivial), (-4, 3), textcoords="offset points", ha="right")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.legend(loc="best")
