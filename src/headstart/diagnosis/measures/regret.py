"""Regret on late tasks, and its bound."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headstart import theory
from headstart.arrays import Floats
from headstart.diagnosis.recording import Recording
from headstart.intervals import Interval, interval
from headstart.theory import Setting


@dataclass(frozen=True, kw_only=True)
class CheckedBound:
    """A bound on the regret, and the assumptions of the theory that do not hold."""

    total: float
    violated: Sequence[str]


@dataclass(frozen=True, eq=False)
class LateRegret:
    """The regret of a learner on a late task."""

    recording: Recording

    def by_replication(self, name: str) -> Floats:
        """The mean over late tasks of the regret of a task, (R,)."""
        regret = self.recording.of(name, "regret")[:, self.recording.late]
        return np.asarray(regret.sum(-1).mean(-1))

    def of(self, name: str) -> Interval:
        """The regret per task."""
        return interval(self.by_replication(name))

    def saved(self, name: str, against: str) -> Interval:
        """How much less regret per task a learner has than another, paired by replication."""
        return interval(self.by_replication(against) - self.by_replication(name))

    def best(self, names: Sequence[str]) -> str | None:
        """The learner of least regret, the first by name of equal ones; None of no learners."""
        return min(
            names, key=lambda name: (float(self.by_replication(name).mean()), name), default=None
        )

    def cumulative(self, name: str) -> Floats:
        """The mean regret of the first t rounds of a task, (T,)."""
        regret = self.recording.dataset["regret"].sel(learner=name).isel(task=self.recording.late)
        return np.asarray(regret.mean(["replication", "task"]).cumsum("round").to_numpy())

    def bound(self, name: str, rounds: int | None = None) -> CheckedBound | None:
        """Lemma 2 for tasks of T rounds, or of another number; None where it says nothing.

        It is for OFUL with Λ = λI. Mar_h is the mean of the largest ‖h − w‖ of each task, so that
        it covers a moving bias.
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
