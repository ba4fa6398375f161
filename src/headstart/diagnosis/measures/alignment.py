"""Alignment of the recorded tasks, by what a learner played in them."""

from dataclasses import dataclass

from headstart import theory
from headstart.arrays import Floats
from headstart.diagnosis.recording import Recording
from headstart.theory import SharedBasis


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
