"""The role of every learner, found by what it does: not by its name, nor by its place."""

from dataclasses import dataclass
from functools import cached_property

from headstart.diagnosis.measures.regret import LateRegret
from headstart.diagnosis.recording import Recording


@dataclass(frozen=True, eq=False)
class Learners:
    """Those that start from zero, those with a bias that is given, and those that estimate it.

    A policy that ignores its estimates, `Uniform`, has no role: its prior changes nothing.
    """

    recording: Recording

    @property
    def names(self) -> list[str]:
        """All learners."""
        return self.recording.names

    @cached_property
    def from_zero(self) -> list[str]:
        """The learners whose bias is 0 in every task."""
        return [name for name in self._playing if not self.recording.of(name, "bias").any()]

    @cached_property
    def oracles(self) -> list[str]:
        """The learners that have the same bias, not 0, in every task."""
        fixed = [name for name in self._playing if self._has_fixed_bias(name)]
        return [name for name in fixed if name not in self.from_zero]

    @property
    def learned(self) -> list[str]:
        """The learners that estimate their bias."""
        given = {*self.from_zero, *self.oracles}
        return [name for name in self._playing if name not in given]

    def baseline(self, name: str) -> str | None:
        """What a learner is compared with: one that starts from zero and plays the same policy.

        Of several, that of least regret; None without one. Against another policy the difference
        would be that of the policies as well.
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
