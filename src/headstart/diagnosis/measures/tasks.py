"""Moments of the recorded tasks."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headstart import theory
from headstart.diagnosis.recording import Recording
from headstart.intervals import Interval, interval_around


@dataclass(frozen=True, eq=False)
class TaskMoments:
    """How far tasks are from their mean and from 0, and whether they are linear."""

    recording: Recording

    @cached_property
    def variance(self) -> float:
        """Var_w̄, averaged over replications."""
        recording = self.recording
        return float(theory.task_variance(recording.parameters, recording.mean_parameter).mean())

    @cached_property
    def second_moment(self) -> float:
        """Var_0, averaged over replications."""
        zero = np.zeros_like(self.recording.mean_parameter)
        return float(theory.task_variance(self.recording.parameters, zero).mean())

    @cached_property
    def ratio(self) -> Interval:
        """Assumption 1: Var_w̄/Var_0, with an interval over replications by the delta method.

        Each replication may have another w̄; Var_w̄ is taken within each of them.
        """
        w, mean = self.recording.parameters, self.recording.mean_parameter[:, None]
        around_mean = ((w - mean) ** 2).sum(-1).mean(1)
        around_zero = (w**2).sum(-1).mean(1)
        ratio = float(around_mean.mean() / around_zero.mean())
        return interval_around(ratio, (around_mean - ratio * around_zero) / around_zero.mean())

    @cached_property
    def unexplained(self) -> float:
        """The share of the means' sum of squares that no linear task explains."""
        return float(self.recording.dataset["unexplained"].mean())
