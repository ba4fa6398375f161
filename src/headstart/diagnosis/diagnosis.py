"""Diagnosis: whether a warm start pays, which estimator suits, and what the theory says to it."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from scipy import stats

from headstart import theory
from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.theory import ErrorParts, Interval, Setting, SharedBasis

# Which decomposition of the estimation error belongs to which estimator.
_PARTS = {"Average": theory.average_error, "Pooled": theory.pooled_error}


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """A recording (`recording.record`) read with the theory at hand.

    `late` tasks are the second half: what learners do once they have something to start from.
    """

    recording: xr.Dataset

    @property
    def names(self) -> list[str]:
        """The learners."""
        return [str(name) for name in self.recording["learner"].to_numpy()]

    @cached_property
    def baseline(self) -> str | None:
        """The learner that starts every task from zero."""
        still = [n for n in self.names if not self._of(n, "bias").any()]
        return still[0] if still else None

    @cached_property
    def oracle(self) -> str | None:
        """The learner that is told where to start, and never learns otherwise."""
        told = [n for n in self.names if n != self.baseline and self._stands_still(n)]
        return told[0] if told else None

    @property
    def learned(self) -> list[str]:
        """The learners that estimate their bias."""
        return [n for n in self.names if n not in {self.baseline, self.oracle}]

    @property
    def horizon(self) -> int:
        """T."""
        return int(self.recording.sizes["round"])

    @property
    def n_tasks(self) -> int:
        """How many tasks every replication played."""
        return int(self.recording.sizes["task"])

    @property
    def late(self) -> slice:
        """The second half of the tasks."""
        return slice(self.n_tasks // 2, None)

    @cached_property
    def parameters(self) -> Floats:
        """The true parameters, (R, n, d)."""
        return np.asarray(self.recording["parameter"].to_numpy())

    @cached_property
    def unexplained(self) -> float:
        """The share of the means' sum of squares that no linear task explains."""
        return float(self.recording["unexplained"].mean())

    @cached_property
    def variance(self) -> float:
        """Var_w̄, averaged over replications."""
        centre = self.recording["mean_parameter"].to_numpy()
        return float(theory.task_variance(self.parameters, centre).mean())

    @cached_property
    def second_moment(self) -> float:
        """Var_0."""
        zero = np.zeros((len(self.parameters), self.parameters.shape[-1]))
        return float(theory.task_variance(self.parameters, zero).mean())

    @cached_property
    def ratio(self) -> Interval:
        """Assumption 1: Var_w̄/Var_0 with its interval.

        Replications may have means of their own; the spread is taken within each of them.
        """
        centre = self.recording["mean_parameter"].to_numpy()[:, None]
        within = ((self.parameters - centre) ** 2).sum(-1).mean(1)
        about_zero = (self.parameters**2).sum(-1).mean(1)
        value = float(within.mean() / about_zero.mean())
        influence = (within - value * about_zero) / about_zero.mean()
        return _around(value, influence)

    def late_regret(self, name: str) -> Floats:
        """A learner's regret on a late task, (R,)."""
        return np.asarray(self._of(name, "regret")[:, self.late].sum(-1).mean(-1))

    def regret(self, name: str) -> Interval:
        """A learner's regret on a late task."""
        totals = self.late_regret(name)
        return _around(float(totals.mean()), totals)

    def gain(self, name: str, over: str) -> Interval:
        """How much less regret a learner has on a late task than another, paired."""
        saved = self.late_regret(over) - self.late_regret(name)
        return _around(float(saved.mean()), saved)

    @cached_property
    def best(self) -> str | None:
        """The learned learner of least late regret."""
        return min(self.learned, key=lambda n: self.late_regret(n).mean(), default=None)

    def error(self, name: str) -> Floats:
        """ε_N = ‖w̄ − h‖² at the start of task N + 1, (R, n): N = 0, …, n − 1."""
        centre = self.recording["mean_parameter"].to_numpy()[:, None]
        return theory.estimation_error(self._of(name, "bias")[:, :, 0], centre)

    @cached_property
    def sampling_error(self) -> Floats:
        """H_ρ² when the first N tasks are known exactly, (R, n): N = 1, …, n."""
        centre = self.recording["mean_parameter"].to_numpy()
        each = [
            theory.sampling_error(self.parameters[:, :n], np.ones((len(centre), n)), centre)
            for n in range(1, self.n_tasks + 1)
        ]
        return np.stack(each, axis=1) ** 2

    def parts(self, name: str) -> ErrorParts | None:
        """What a learner's error before the last task is made of; None for other estimators."""
        mine = self.recording.sel(learner=name)
        split = _PARTS.get(str(mine["estimator"].item()))
        ridge = float(mine["ridge"])
        if split is None or np.isnan(ridge) or self.n_tasks < 2:
            return None
        before = slice(0, self.n_tasks - 1)
        return split(
            self._statistics(name, before),
            self.parameters[:, before],
            self.recording["mean_parameter"].to_numpy(),
            regularization=ridge,
        )

    def misalignment(self, name: str) -> Floats:
        """σ_max(V_j Ṽ⁺) of every task, (R, n)."""
        return theory.misalignment(self._of(name, "gram"))

    def basis(self, name: str) -> SharedBasis:
        """Assumption 2, measured."""
        return theory.shared_basis(self._of(name, "gram"))

    def eigenvalues(self, name: str) -> tuple[Floats, Floats]:
        """λ_min of every task, (R, n), and ν_min of the pool, (R,)."""
        grams = self._of(name, "gram")
        return theory.smallest_eigenvalues(grams), theory.smallest_global_eigenvalue(grams)

    def left(self, name: str, confidence_set: str) -> Floats | None:
        """The share of tasks whose w left the set by each round, (T + 1,); None without a claim."""
        outside = self._of(name, "outside", confidence_set)
        if (outside < 0).any():
            return None
        return np.asarray(theory.ever(outside == 1).mean((0, 1)))

    def bound(self, name: str, rounds: int | None = None) -> tuple[float, list[str]]:
        """Lemma 2 for late tasks, after some rounds, and the assumptions that do not hold.

        Mar_h is the mean of the largest ‖h − w‖ of each task, so that it covers a moving bias.
        """
        worst = self._of(name, "bias_error")[:, self.late].max(-1)
        setting = Setting(
            dimension=self.parameters.shape[-1],
            horizon=self.horizon if rounds is None else rounds,
            regularization=float(self._of(name, "largest_eigenvalue")[:, self.late].mean()),
            noise_scale=self._attribute("noise_scale"),
            feature_bound=self._attribute("feature_bound"),
            parameter_bound=float(np.linalg.norm(self.parameters, axis=-1).max()),
            mean_bound=self._attribute("mean_bound"),
            failure_probability=self._attribute("failure_probability"),
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", theory.AssumptionWarning)
            total = theory.transfer_bound(setting, deviation=float(worst.mean())).total
        return float(total), [str(one.message) for one in caught]

    @property
    def trivial_bound(self) -> float:
        """2B a round: what is known of the regret without any theorem."""
        return 2.0 * self._attribute("mean_bound") * self.horizon

    def regularizations(self) -> Mapping[str, tuple[float, float | None]]:
        """λ as the paper sets it, as Bayes would, and of least measured regret; each with regret.

        The regret is the Oracle's, read off the sweep between its values; None outside of it.
        """
        paper = theory.paper_regularization(horizon=self.horizon, variance=self.variance)
        bayes = theory.bayes_regularization(
            noise_scale=self._attribute("noise_scale"),
            dimension=self.parameters.shape[-1],
            variance=self.variance,
        )
        chosen = {"1/(T Var), the paper's": float(paper), "s²d/Var, Bayes'": float(bayes)}
        if "swept" not in self.recording:
            return {name: (value, None) for name, value in chosen.items()}
        grid = self.recording["regularization"].to_numpy()
        regret = self.recording["swept"].mean("replication").to_numpy()
        order = np.argsort(grid)
        grid, regret = grid[order], regret[order]
        chosen["least measured regret"] = float(grid[regret.argmin()])
        return {
            name: (
                value,
                float(np.interp(np.log(value), np.log(grid), regret))
                if grid[0] <= value <= grid[-1]
                else None,
            )
            for name, value in chosen.items()
        }

    def _stands_still(self, name: str) -> bool:
        bias = self._of(name, "bias")
        return bool((bias == bias[:, :1, :1]).all())

    def _attribute(self, name: str) -> float:
        return float(self.recording.attrs[name])

    def _of(self, learner: str, variable: str, confidence_set: str | None = None) -> Floats:
        """A variable of one learner, replications and tasks first."""
        mine = self.recording[variable].sel(learner=learner)
        if confidence_set is not None:
            mine = mine.sel(set=confidence_set)
        return np.asarray(mine.transpose("replication", "task", ...).to_numpy())

    def _statistics(self, name: str, tasks: slice) -> TaskStatistics:
        gram = self._of(name, "gram")[:, tasks]
        return TaskStatistics(
            gram=gram,
            moment=self._of(name, "moment")[:, tasks],
            count=np.full(gram.shape[:2], float(self.horizon)),
            sum_of_squares=self._of(name, "sum_of_squares")[:, tasks],
        )


def _around(value: float, sample: Floats, confidence: float = 0.95) -> Interval:
    """A value with the interval of the sample's mean."""
    if len(sample) < 2:
        return Interval(value, value, value)
    error = float(sample.std(ddof=1) / np.sqrt(len(sample)))
    reach = float(stats.t.ppf(0.5 + confidence / 2, len(sample) - 1)) * error
    return Interval(value, value - reach, value + reach)
