"""Diagnosis: the measures of a recording, by subject."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import xarray as xr

from headstart import theory
from headstart.arrays import Floats
from headstart.diagnosis.recording import Recording
from headstart.intervals import Interval, interval, interval_around
from headstart.studies.comparisons import Comparisons, compare_differences
from headstart.theory import ErrorTerms, Setting, SharedBasis


@dataclass(frozen=True, kw_only=True)
class CheckedBound:
    """A bound on the regret, and the theory's assumptions that do not hold."""

    total: float
    violated: Sequence[str]


@dataclass(frozen=True, eq=False)
class LateRegret:
    """The regret of a learner on a late task."""

    recording: Recording

    def by_replication(self, name: str) -> Floats:
        """The mean over late tasks of the regret of a task, by independent replication."""
        regret = self.recording.regret(name)[:, self.recording.late]
        return self.recording.independent(regret.sum(-1).mean(-1))

    def of(self, name: str) -> Interval:
        """The regret per task."""
        return interval(self.by_replication(name))

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

    def cumulative(self, name: str) -> Floats:
        """The regret of the first t rounds, a mean over late tasks, (independent, T)."""
        regret = self.recording.regret(name)[:, self.recording.late]
        return self.recording.independent(regret.mean(1).cumsum(-1))

    def bound(self, name: str, rounds: int | None = None) -> CheckedBound | None:
        """Lemma 2 for tasks of T rounds, or of another number; None if it does not apply.

        It applies to OFUL with Λ = λI. Mar_h is the mean of the largest ‖h − w‖ of each task, which
        covers a moving bias.
        """
        if not self.recording.has_bound(name):
            return None
        largest = self.recording.of(name, "bias_error")[:, self.recording.late].max(-1)
        with theory.violated_assumptions() as violated:
            setting = self._setting(name, self.recording.horizon if rounds is None else rounds)
            bound = theory.transfer_bound(setting, deviation=float(largest.mean()))
        return CheckedBound(total=float(bound.total), violated=violated)

    @property
    def trivial_bound(self) -> float:
        """2B per round: the bound without any theorem."""
        return self._setting(self.recording.names[0], self.recording.horizon).trivial_bound

    def _setting(self, name: str, rounds: int) -> Setting:
        recording = self.recording
        eigenvalues = recording.of(name, "largest_eigenvalue")[:, recording.late]
        return Setting(
            dimension=recording.parameters.shape[-1],
            horizon=rounds,
            regularization=float(eigenvalues.mean()),
            noise_scale=recording.attribute("noise_scale"),
            feature_bound=recording.attribute("feature_bound"),
            parameter_bound=float(np.linalg.norm(recording.parameters, axis=-1).max()),
            mean_bound=recording.attribute("mean_bound"),
            failure_probability=recording.attribute("failure_probability"),
        )


@dataclass(frozen=True, eq=False)
class Learners:
    """The learners that start from zero, that have a given bias, and that estimate it.

    A policy that ignores its estimates, `Uniform`, has no role: its prior changes nothing.
    """

    recording: Recording

    @property
    def names(self) -> list[str]:
        """All learners."""
        return self.recording.names

    @property
    def agents(self) -> list[str]:
        """The agents without a prior."""
        return self.recording.agents

    @cached_property
    def from_zero(self) -> list[str]:
        """The learners whose bias is 0 in every task."""
        return [name for name in self._playing if not self.recording.of(name, "bias").any()]

    @cached_property
    def oracles(self) -> list[str]:
        """The learners with the same bias, not 0, in every task."""
        fixed = [name for name in self._playing if self._has_fixed_bias(name)]
        return [name for name in fixed if name not in self.from_zero]

    @property
    def learned(self) -> list[str]:
        """The learners that estimate their bias."""
        fixed = {*self.from_zero, *self.oracles}
        return [name for name in self._playing if name not in fixed]

    def baseline(self, name: str) -> str | None:
        """The learner to compare with: it starts from zero and plays the same policy.

        Of several, the one with least regret; None if there is none. Against another policy, the
        difference would include the policies' difference.
        """
        policy = self.recording.policy(name)
        same = [one for one in self.from_zero if self.recording.policy(one) == policy]
        return LateRegret(self.recording).best(same)

    @cached_property
    def _playing(self) -> list[str]:
        return [
            name for name in self.names if not self.recording.policy(name).startswith("Uniform(")
        ]

    def _has_fixed_bias(self, name: str) -> bool:
        bias = self.recording.of(name, "bias")
        return bool((bias == bias[:, :1, :1]).all())


@dataclass(frozen=True, eq=False)
class TaskMoments:
    """How far tasks are from their mean and from 0, and whether they are linear."""

    recording: Recording

    @cached_property
    def variance(self) -> float:
        """Var_w̄, averaged over independent replications; NaN for one task of unknown w̄.

        Each replication may have its own w̄, and Var_w̄ is taken within each. Around the mean of n
        sampled tasks, n − 1 of them count.
        """
        return float(self._around_mean.mean())

    @cached_property
    def second_moment(self) -> float:
        """Var_0, averaged over independent replications."""
        return float(self._around_zero.mean())

    @cached_property
    def _around_mean(self) -> Floats:
        recording = self.recording
        found = theory.task_variance(recording.parameters, recording.mean_parameter)
        n = recording.n_tasks
        if recording.mean_is_sampled:
            found = found * (n / (n - 1) if n > 1 else np.nan)
        return recording.independent(found)

    @cached_property
    def _around_zero(self) -> Floats:
        zero = np.zeros_like(self.recording.mean_parameter)
        return self.recording.independent(theory.task_variance(self.recording.parameters, zero))

    @cached_property
    def ratio(self) -> Interval:
        """Assumption 1: Var_w̄/Var_0, with an interval over replications by the delta method."""
        around_mean, around_zero = self._around_mean, self._around_zero
        ratio = float(around_mean.mean() / around_zero.mean())
        return interval_around(ratio, (around_mean - ratio * around_zero) / around_zero.mean())

    @cached_property
    def unexplained(self) -> float:
        """The share of the means' sum of squares that no linear task explains."""
        return float(self.recording.dataset["unexplained"].mean())


_DECOMPOSITIONS = {"Average": theory.average_error, "Pooled": theory.pooled_error}


@dataclass(frozen=True, eq=False)
class BiasError:
    """The error ε = ‖w̄ − h‖² of every learner's bias h."""

    recording: Recording

    def of(self, name: str) -> Floats:
        """ε_N at the start of task N + 1, (R, n): N = 0, …, n − 1."""
        start = self.recording.of(name, "bias")[:, :, 0]
        return theory.estimation_error(start, self.recording.mean_parameter[:, None])

    @cached_property
    def sampling(self) -> Floats:
        """H_ρ² when the first N tasks are known exactly, (R, n): N = 1, …, n."""
        w, mean = self.recording.parameters, self.recording.mean_parameter
        errors = [
            theory.sampling_error(w[:, :n], np.ones((len(w), n)), mean)
            for n in range(1, self.recording.n_tasks + 1)
        ]
        return np.stack(errors, axis=1) ** 2

    def terms(self, name: str) -> ErrorTerms | None:
        """The terms of h − w̄ before the last task; None except for `Average` and `Pooled`."""
        mine = self.recording.dataset.sel(learner=name)
        decomposition = _DECOMPOSITIONS.get(str(mine["estimator"].item()))
        ridge = float(mine["ridge"])
        if decomposition is None or np.isnan(ridge) or self.recording.n_tasks < 2:
            return None
        before_last = slice(0, self.recording.n_tasks - 1)
        return decomposition(
            self.recording.statistics(name, before_last),
            self.recording.parameters[:, before_last],
            self.recording.mean_parameter,
            regularization=ridge,
        )


@dataclass(frozen=True, eq=False)
class Alignment:
    """Assumption 2 and the misalignment of Section 5.2, for every learner's grams."""

    recording: Recording

    def misalignment(self, name: str) -> Floats:
        """σ_max(V_j Ṽ⁺) of every task, (R, n)."""
        return theory.misalignment(self.recording.of(name, "gram"))

    def shared_basis(self, name: str) -> SharedBasis:
        """How far Assumption 2 holds, (R,)."""
        return theory.shared_basis(self.recording.of(name, "gram"))

    def smallest_eigenvalues(self, name: str) -> Floats:
        """λ_min(V_j) of every task, (R, n)."""
        return theory.smallest_eigenvalues(self.recording.of(name, "gram"))

    def smallest_global_eigenvalue(self, name: str) -> Floats:
        """ν_min of the pool, (R,)."""
        return theory.smallest_global_eigenvalue(self.recording.of(name, "gram"))


@dataclass(frozen=True, eq=False)
class ConfidenceSets:
    """How often w is outside the sets "Theorem 1", "fixed bias" and "as played"."""

    recording: Recording

    @property
    def failure_probability(self) -> float:
        """The δ of "Theorem 1" and "fixed bias"."""
        return self.recording.attribute("failure_probability")

    def share_outside(self, name: str, confidence_set: str) -> Floats | None:
        """The share of tasks whose w was outside in any round up to each, (T + 1,).

        None if the learner has no such set: "fixed bias" needs a bias that does not move within the
        task, and "as played" needs a policy that plays a confidence set.
        """
        outside = self.recording.of(name, "outside", confidence_set)
        if (outside < 0).any():
            return None
        return np.asarray(theory.ever(outside == 1).mean((0, 1)))


RegularizationRule = Literal["Corollary 2", "Bayes", "least regret"]


@dataclass(frozen=True, kw_only=True)
class RegularizationChoice:
    """λ by a rule, and the Oracle's regret per task there; None outside the recorded λ."""

    rule: RegularizationRule
    value: float
    regret: float | None


@dataclass(frozen=True, eq=False)
class Regularization:
    """The choices of λ for an Oracle.

    1/(T Var_w̄) is the paper's Corollary 2, s²d/Var_w̄ is Bayes's; least regret is measured.
    """

    recording: Recording

    @cached_property
    def choices(self) -> list[RegularizationChoice]:
        """λ by every rule; by least regret only if the Oracle played at several λ."""
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
    """The regret at a λ, linear in log λ between those played; None outside."""
    if played is None or not played[0][0] <= value <= played[0][-1]:
        return None
    grid, regret = played
    return float(np.interp(np.log(value), np.log(grid), regret))


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The theory's measures of a recording (`record`, `replay`), by subject.

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
    >>> measured = diagnosis.Diagnosis(recording)
    >>> measured.tasks.ratio.mean < 0.9
    True
    """

    dataset: xr.Dataset

    @cached_property
    def recording(self) -> Recording:
        """The recorded arrays."""
        return Recording(self.dataset)

    @cached_property
    def learners(self) -> Learners:
        """The role of every learner."""
        return Learners(self.recording)

    @cached_property
    def tasks(self) -> TaskMoments:
        """How far tasks are from their mean and from 0."""
        return TaskMoments(self.recording)

    @cached_property
    def regret(self) -> LateRegret:
        """The regret on late tasks, and its bound."""
        return LateRegret(self.recording)

    @cached_property
    def bias(self) -> BiasError:
        """The error of the biases, and its terms."""
        return BiasError(self.recording)

    @cached_property
    def alignment(self) -> Alignment:
        """Whether tasks share a basis."""
        return Alignment(self.recording)

    @cached_property
    def confidence_sets(self) -> ConfidenceSets:
        """How often the true parameter is outside the confidence sets."""
        return ConfidenceSets(self.recording)

    @cached_property
    def regularization(self) -> Regularization:
        """Three choices of λ."""
        return Regularization(self.recording)
