"""The role of every learner, found by the biases it has, not by its name."""

from dataclasses import dataclass
from functools import cached_property

from headstart.diagnosis.recording import Recording


@dataclass(frozen=True, eq=False)
class Learners:
    """The baseline, the Oracle, and the learners that estimate their bias."""

    recording: Recording

    @property
    def names(self) -> list[str]:
        """All learners."""
        return self.recording.names

    @cached_property
    def baseline(self) -> str | None:
        """The learner whose bias is 0 in every task."""
        zero = (name for name in self.names if not self.recording.of(name, "bias").any())
        return next(zero, None)

    @cached_property
    def oracle(self) -> str | None:
        """The learner that has the same bias, not 0, in every task."""
        fixed = (
            name for name in self.names if name != self.baseline and self._has_fixed_bias(name)
        )
        return next(fixed, None)

    @property
    def learned(self) -> list[str]:
        """The learners that estimate their bias."""
        return [name for name in self.names if name not in {self.baseline, self.oracle}]

    def _has_fixed_bias(self, name: str) -> bool:
        bias = self.recording.of(name, "bias")
        return bool((bias == bias[:, :1, :1]).all())
