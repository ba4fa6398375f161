"""Verdicts on a claim under every interpretation, and on a sentence of the paper."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headstart.paper.claims import Claim, Sentence
from headstart.paper.rules import Outcome, OutcomeKind

VerdictKind = Literal["reproduced", "reproduced otherwise", "not reproduced"]
SentenceKind = Literal["reproduced", "reproduced otherwise", "in part", "not reproduced"]


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
        return self._others("holds")

    @property
    def fails_under(self) -> list[str]:
        """The keys of the other interpretations under which the contrary holds."""
        return self._others("fails")

    @property
    def kind(self) -> VerdictKind:
        """Reproduced if it holds under the main interpretation; "otherwise" if under another."""
        if self.main.kind == "holds":
            return "reproduced"
        return "reproduced otherwise" if self.holds_under else "not reproduced"

    def _others(self, kind: OutcomeKind) -> list[str]:
        others = list(self.outcomes.items())[1:]
        return [key for key, outcome in others if outcome.kind == kind]


@dataclass(frozen=True)
class SentenceVerdict:
    """A sentence and the verdicts on all its claims, by section."""

    sentence: Sentence
    verdicts: Mapping[str, Sequence[Verdict]]

    @property
    def claims(self) -> list[Verdict]:
        """The verdicts of all sections."""
        return [verdict for some in self.verdicts.values() for verdict in some]

    @property
    def n_reproduced(self) -> int:
        """How many of its claims hold under the main interpretation."""
        return sum(verdict.kind == "reproduced" for verdict in self.claims)

    @property
    def joint(self) -> dict[str, list[str]]:
        """By section, the keys of interpretations under which all its claims hold together."""
        return {
            name: [
                key
                for key in some[0].outcomes
                if all(key in v.outcomes and v.outcomes[key].kind == "holds" for v in some)
            ]
            for name, some in self.verdicts.items()
        }

    @property
    def kind(self) -> SentenceKind:
        """Reproduced if all claims hold under the main interpretations.

        Otherwise, if in every section all of them hold together under one other interpretation; in
        part if some hold under the main one.
        """
        if self.n_reproduced == len(self.claims):
            return "reproduced"
        if all(self.joint.values()):
            return "reproduced otherwise"
        return "in part" if self.n_reproduced else "not reproduced"


def hold_together(verdicts: Sequence[SentenceVerdict]) -> tuple[list[str], int]:
    """The keys of interpretations under which all claims of sentences hold, and how many there are.

    The sentences must be about one section.
    """
    claims = [claim for verdict in verdicts for claim in verdict.claims]
    keys = [key for key in claims[0].outcomes if all(key in claim.outcomes for claim in claims)]
    holding = [key for key in keys if all(claim.outcomes[key].kind == "holds" for claim in claims)]
    return holding, len(keys)


def by_sentence(
    sentences: Sequence[Sentence], verdicts: Mapping[str, Sequence[Verdict]]
) -> list[SentenceVerdict]:
    """The verdicts on sentences with claims, from the verdicts on claims by section."""
    judged = []
    for sentence in sentences:
        about = {
            name: [verdict for verdict in some if verdict.claim.sentence == sentence]
            for name, some in verdicts.items()
        }
        if any(about.values()):
            kept = {name: some for name, some in about.items() if some}
            judged.append(SentenceVerdict(sentence, kept))
    return judged
