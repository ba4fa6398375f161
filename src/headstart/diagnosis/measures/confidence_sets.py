"""Whether confidence sets contained the true parameters."""

from dataclasses import dataclass

import numpy as np

from headstart import theory
from headstart.arrays import Floats
from headstart.diagnosis.recording import Recording


@dataclass(frozen=True, eq=False)
class ConfidenceSets:
    """How often w is outside of "Theorem 1", "fixed bias" and the set "as played"."""

    recording: Recording

    @property
    def failure_probability(self) -> float:
        """The δ of "Theorem 1" and "fixed bias"."""
        return self.recording.attribute("failure_probability")

    def share_outside(self, name: str, confidence_set: str) -> Floats | None:
        """The share of tasks whose w was outside in any round up to each, (T + 1,).

        None where the learner has no such set: "fixed bias" needs a bias that does not move within
        the task, and "as played" a policy that plays a confidence set.
        """
        outside = self.recording.of(name, "outside", confidence_set)
        if (outside < 0).any():
            return None
        return np.asarray(theory.ever(outside == 1).mean((0, 1)))
