"""The error of the biases that learners start from, and its terms."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headstart import theory
from headstart.arrays import Floats
from headstart.diagnosis.recording import Recording
from headstart.theory import ErrorTerms

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
        """The terms of h − w̄ before the last task; None but for `Average` and `Pooled`."""
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
