"""Verdict: what becomes of a claim under every interpretation of the paper."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from headstart.paper.claims import Claim
from headstart.paper.rules import Outcome

VerdictKind = Literal["reproduced", "reproduced otherwise", "not reproduced"]


@dataclass(frozen=True)
class Verdict:
    """A claim and its outcomes by the keys of interpretations, the main one first."""

    claim: Claim
    outcomes: Mapping[str, Outcome]

    @property
    def main(self) -> Outcome:
        """The outcome under the main interpretation."""
        return next(iter(self.outcomes.values()))

    @property
    def holds_under(self) -> list[str]:
        """The keys of the other interpretations under which it holds."""
        others = list(self.outcomes.items())[1:]
        return [key for key, outcome in others if outcome.kind == "holds"]

    @property
    def kind(self) -> VerdictKind:
        """Reproduced if it holds under the main interpretation, otherwise if under another."""
        if self.main.kind == "holds":
            return "reproduced"
        return "reproduced otherwise" if self.holds_under else "not reproduced"
