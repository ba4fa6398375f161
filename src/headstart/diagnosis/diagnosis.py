"""Diagnosis: the theory's measures of a recording."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import xarray as xr

from headstart import theory
from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.intervals import Interval, interval, interval_around
from headstart.studies.comparisons import Comparisons, compare_differences
from headstart.studies.results import cohort_means
from headstart.theory import ErrorTerms, Setting

RegularizationRule = Literal["Corollary 2", "Bayes", "least regret"]

_DECOMPOSITIONS = {"Average": theory.average_error, "Pooled": theory.pooled_error}


@dataclass(frozen=True, kw_only=True)
class CheckedBound:
    """A bound on the regret, and the theory's assumptions that do not hold."""

    total: float
    violated: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class RegularizationChoice:
    """λ by a rule, and the Oracle's regret per task there; None outside the recorded λ."""

    rule: RegularizationRule
    value: float
    regret: float | None


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The theory's measures of a recording (`record`, `replay`).

    Regret is measured on late tasks, the second half, when learners have tasks to learn from.

    Parameters
    ----------
    dataset : xarray.Dataset
        The recording.

    Examples
    --------
    >>> from headstart import diagnosis
    >>> recording = diagnosis.record(
    ...     hs.environments.Synthetic(dimension=3, reward="linear"),
    ...     [hs.learners.itl(regularization=1.0), hs.learners.rr_oful(regularization=1.0)],
    ...     n_tasks=4,
    ...     horizon=10,
    ...     noise_scale=1.0,
    ...     replications=5,
    ... )
    >>> diagnosis.Diagnosis(recording).variance_ratio.mean < 0.9
    True
    """

    dataset: xr.Dataset

    # What was recorded.

    @property
    def learners(self) -> list[str]:
        """The learners."""
        return [str(name) for name in self.dataset["learner"].to_numpy()]

    @property
    def agents(self) -> list[str]:
        """The agents without a prior; only their regrets are known."""
        return [str(name) for name in self.dataset["agent"].to_numpy()]

    @property
    def study_learners(self) -> list[str]:
        """All learners of the recorded study, including those not in the recording."""
        names = self.dataset.attrs.get("learners")
        return self.learners if names is None else [str(name) for name in json.loads(str(names))]

    @property
    def horizon(self) -> int:
        """T."""
        return int(self.dataset.sizes["round"])

    @property
    def n_tasks(self) -> int:
        """How many tasks every replication has, n."""
        return int(self.dataset.sizes["task"])

    @property
    def late(self) -> slice:
        """The second half of the tasks."""
        return slice(self.n_tasks // 2, None)

    @cached_property
    def parameters(self) -> Floats:
        """The true parameters, (R, n, d)."""
        return np.asarray(self.dataset["parameter"].to_numpy())

    @cached_property
    def mean_parameter(self) -> Floats:
        """w̄ of every replication, (R, d)."""
        return np.asarray(self.dataset["mean_parameter"].to_numpy())

    @property
    def counted(self) -> str:
        """How many independent replications or cohorts intervals count."""
        n = self.dataset.sizes["replication"]
        if "cohort" not in self.dataset.coords:
            return f"{n} replications"
        return f"{len(np.unique(self.dataset['cohort']))} cohorts of {n} replications"

    def independent(self, values: Floats) -> Floats:
        """Values (R, …) with the mean of each cohort as one replication."""
        if "cohort" not in self.dataset.coords:
            return values
        return cohort_means(values, self.dataset["cohort"].to_numpy())

    def of(self, learner: str, variable: str) -> Floats:
        """A variable of one learner, (R, n, …)."""
        mine = self.dataset[variable].sel(learner=learner)
        return np.asarray(mine.transpose("replication", "task", ...).to_numpy())

    def policy(self, learner: str) -> str:
        """The policy of a learner, with its settings."""
        return str(self.dataset["policy"].sel(learner=learner).item())

    def regularization(self, name: str) -> float | None:
        """The λ of a learner's prior; None if it has no number for it, or is no learner."""
        if name in self.agents:
            return None
        value = float(self.dataset["prior_regularization"].sel(learner=name))
        return None if np.isnan(value) else value

    # The roles of learners. A policy that ignores its estimates, `Uniform`, has none: its prior
    # changes nothing.

    @cached_property
    def from_zero(self) -> list[str]:
        """The learners whose bias is 0 in every task."""
        return [name for name in self._playing if not self.of(name, "bias").any()]

    @cached_property
    def oracles(self) -> list[str]:
        """The learners with the same bias, not 0, in every task."""
        biases = {name: self.of(name, "bias") for name in self._playing}
        fixed = [name for name, bias in biases.items() if (bias == bias[:, :1, :1]).all()]
        return [name for name in fixed if name not in self.from_zero]

    @property
    def learned(self) -> list[str]:
        """The learners that estimate their bias."""
        fixed = {*self.from_zero, *self.oracles}
        return [name for name in self._playing if name not in fixed]

    @property
    def _playing(self) -> list[str]:
        return [name for name in self.learners if not self.policy(name).startswith("Uniform(")]

    def baseline(self, name: str) -> str | None:
        """The learner to compare with: it starts from zero and plays the same policy.

        Of several, the one with least regret; None if there is none. Against another policy, the
        difference would include the policies' difference.
        """
        policy = self.policy(name)
        return self.best([one for one in self.from_zero if self.policy(one) == policy])

    # Regret per task.

    def regret(self, name: str) -> Interval:
        """The regret per late task of a learner or of another agent."""
        return interval(self.by_replication(name))

    def by_replication(self, name: str) -> Floats:
        """The mean over late tasks of the regret of a task, by independent replication."""
        return self.independent(self._late_regrets(name).sum(-1).mean(-1))

    def cumulative(self, name: str) -> Floats:
        """The regret of the first t rounds, a mean over late tasks, (independent, T)."""
        return self.independent(self._late_regrets(name).mean(1).cumsum(-1))

    def _late_regrets(self, name: str) -> Floats:
        if name not in self.agents:
            return self.of(name, "regret")[:, self.late]
        mine = self.dataset["agent_regret"].sel(agent=name)
        return np.asarray(mine.transpose("replication", "task", "round").to_numpy())[:, self.late]

    def saved(self, name: str, against: str) -> Interval:
        """How much less regret per task a learner has than another, paired by replication."""
        return interval(self.by_replication(against) - self.by_replication(name))

    def compared(self, pairs: Sequence[tuple[str, str]]) -> Comparisons:
        """Learners against others, as one family with Holm's correction."""
        return compare_differences(
            pairs, [self.by_replication(one) - self.by_replication(other) for one, other in pairs]
        )

    def best(self, names: Sequence[str]) -> str | None:
        """The learner with least regret, the first by name of equals; None without learners."""
        return min(
            names, key=lambda name: (float(self.by_replication(name).mean()), name), default=None
        )

    def bound(self, name: str, rounds: int | None = None) -> CheckedBound | None:
        """Lemma 2 for tasks of T rounds, or of another number; None if it does not apply.

        It applies to OFUL with Λ = λI. Mar_h is the mean of the largest ‖h − w‖ of each task, which
        covers a moving bias.
        """
        if not self.dataset["has_bound"].sel(learner=name):
            return None
        largest = self.of(name, "bias_error")[:, self.late].max(-1)
        with theory.violated_assumptions() as violated:
            setting = self._setting(name, self.horizon if rounds is None else rounds)
            bound = theory.transfer_bound(setting, deviation=float(largest.mean()))
        return CheckedBound(total=float(bound.total), violated=violated)

    @property
    def trivial_bound(self) -> float:
        """2B per round: the bound without any theorem."""
        return self._setting(self.learners[0], self.horizon).trivial_bound

    def _setting(self, name: str, rounds: int) -> Setting:
        facts = self.dataset.attrs
        return Setting(
            dimension=self.parameters.shape[-1],
            horizon=rounds,
            regularization=float(self.of(name, "largest_eigenvalue")[:, self.late].mean()),
            noise_scale=float(facts["noise_scale"]),
            feature_bound=float(facts["feature_bound"]),
            parameter_bound=float(np.linalg.norm(self.parameters, axis=-1).max()),
            mean_bound=float(facts["mean_bound"]),
            failure_probability=float(facts["failure_probability"]),
        )

    # How far tasks are from their mean and from 0, and whether they are linear.

    @property
    def variance(self) -> float:
        """Var_w̄, averaged over independent replications; NaN for one task of unknown w̄.

        Each replication may have its own w̄, and Var_w̄ is taken within each. Around the mean of n
        sampled tasks, n − 1 of them count.
        """
        return float(self._around_mean.mean())

    @property
    def second_moment(self) -> float:
        """Var_0, averaged over independent replications."""
        return float(self._around_zero.mean())

    @cached_property
    def variance_ratio(self) -> Interval:
        """Assumption 1: Var_w̄/Var_0, with an interval over replications by the delta method."""
        around_mean, around_zero = self._around_mean, self._around_zero
        ratio = float(around_mean.mean() / around_zero.mean())
        return interval_around(ratio, (around_mean - ratio * around_zero) / around_zero.mean())

    @cached_property
    def _around_mean(self) -> Floats:
        found = theory.task_variance(self.parameters, self.mean_parameter)
        n, sample_mean = self.n_tasks, self.parameters.mean(1)
        # The environment states no w̄.
        if np.allclose(self.mean_parameter, sample_mean, rtol=1e-9, atol=0):
            found = found * (n / (n - 1) if n > 1 else np.nan)
        return self.independent(found)

    @cached_property
    def _around_zero(self) -> Floats:
        zero = np.zeros_like(self.mean_parameter)
        return self.independent(theory.task_variance(self.parameters, zero))

    @property
    def unexplained(self) -> float:
        """The share of the means' sum of squares that no linear task explains."""
        return float(self.dataset["unexplained"].mean())

    # The error of a learner's bias h, and what causes it.

    def error(self, name: str) -> Floats:
        """ε_N = ‖w̄ − h‖² at the start of task N + 1, (R, n): N = 0, …, n − 1."""
        start = self.of(name, "bias")[:, :, 0]
        return theory.estimation_error(start, self.mean_parameter[:, None])

    @cached_property
    def sampling_error(self) -> Floats:
        """H_ρ² when the first N tasks are known exactly, (R, n): N = 1, …, n."""
        w, mean = self.parameters, self.mean_parameter
        errors = [
            theory.sampling_error(w[:, :n], np.ones((len(w), n)), mean)
            for n in range(1, self.n_tasks + 1)
        ]
        return np.stack(errors, axis=1) ** 2

    def error_terms(self, name: str) -> ErrorTerms | None:
        """The terms of h − w̄ before the last task; None except for `Average` and `Pooled`."""
        mine = self.dataset.sel(learner=name)
        decomposition = _DECOMPOSITIONS.get(str(mine["estimator"].item()))
        ridge, n = float(mine["ridge"]), self.n_tasks - 1
        if decomposition is None or np.isnan(ridge) or not n:
            return None
        gram = self.of(name, "gram")[:, :n]
        statistics = TaskStatistics(
            gram=gram,
            moment=self.of(name, "moment")[:, :n],
            count=np.full(gram.shape[:2], float(self.horizon)),
            sum_of_squares=self.of(name, "sum_of_squares")[:, :n],
        )
        return decomposition(
            statistics, self.parameters[:, :n], self.mean_parameter, regularization=ridge
        )

    def share_outside(self, name: str, confidence_set: str) -> Floats | None:
        """The share of tasks with w outside a confidence set in a round up to each, (T + 1,).

        The sets are "Theorem 1", "fixed bias" and "as played". None if the learner has no such
        set: "fixed bias" needs a bias that does not move within the task, and "as played" needs a
        policy that plays a confidence set.
        """
        outside = self.dataset["outside"].sel(learner=name, set=confidence_set)
        shown = outside.transpose("replication", "task", "after").to_numpy()
        if (shown < 0).any():
            return None
        return np.asarray(theory.ever(shown == 1).mean((0, 1)))

    # The choices of λ for an Oracle.

    @property
    def regularization_choices(self) -> list[RegularizationChoice]:
        """λ by every rule; by least regret only if the Oracle played at several λ.

        1/(T Var_w̄) is the paper's Corollary 2, s²d/Var_w̄ is Bayes's; least regret is measured.
        """
        corollary = theory.paper_regularization(horizon=self.horizon, variance=self.variance)
        bayes = theory.bayes_regularization(
            noise_scale=float(self.dataset.attrs["noise_scale"]),
            dimension=self.parameters.shape[-1],
            variance=self.variance,
        )
        values: dict[RegularizationRule, float] = {
            "Corollary 2": float(corollary),
            "Bayes": float(bayes),
        }
        grid = regret = np.empty(0)
        if "oracle_regret" in self.dataset:
            played = self.dataset["oracle_regret"].mean("replication").sortby("regularization")
            grid, regret = played["regularization"].to_numpy(), played.to_numpy()
            values["least regret"] = float(grid[regret.argmin()])
        return [
            RegularizationChoice(rule=rule, value=value, regret=_interpolate(grid, regret, value))
            for rule, value in values.items()
        ]


def _interpolate(grid: Floats, regret: Floats, value: float) -> float | None:
    """The regret at a λ, linear in log λ between those of the grid; None outside."""
    if not len(grid) or not grid[0] <= value <= grid[-1]:
        return None
    return float(np.interp(np.log(value), np.log(grid), regret))
