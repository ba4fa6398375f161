"""Verdicts on a claim under every reading, and on a sentence of the paper.

The main reading was fixed before the others, so its verdicts stand at 5 %. Any of the others may
reproduce a claim; Holm's correction over them keeps the chance that one does by accident below 5 %.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from headstart.paper.claims import Claim, Sentence
from headstart.paper.rules import LEVEL, Outcome
from headstart.studies.comparisons import corrected

Kind = Literal["reproduced", "reproduced otherwise", "in part", "not reproduced"]


@dataclass(frozen=True)
class Verdict:
    """A claim and its outcomes by the keys of readings, the main one first.

    A `marginal` claim holds under the main reading, but not with Holm's correction over all claims
    of its section.
    """

    claim: Claim
    outcomes: Mapping[str, Outcome]
    marginal: bool = False

    @property
    def main(self) -> Outcome:
        """The outcome under the main reading."""
        return next(iter(self.outcomes.values()))

    @property
    def holds_under(self) -> list[str]:
        """The keys of readings under which it holds, corrected."""
        return holding([self])

    @property
    def fails_under(self) -> list[str]:
        """The keys of readings under which the contrary holds, corrected."""
        contrary = {
            key: replace(one, p=one.p_contrary, p_contrary=one.p)
            for key, one in self.outcomes.items()
        }
        return holding([Verdict(self.claim, contrary)])

    @property
    def kind(self) -> Kind:
        """Reproduced if it holds under the main reading; "otherwise" if under another."""
        if self.main.kind == "holds":
            return "reproduced"
        return "reproduced otherwise" if self.holds_under else "not reproduced"


@dataclass(frozen=True)
class SentenceVerdict:
    """A sentence and the verdicts on all its claims, by section."""

    sentence: Sentence
    verdicts: Mapping[str, Sequence[Verdict]]

    @property
    def claims(self) -> list[Verdict]:
        """The verdicts of all sections."""
        return [verdict for verdicts in self.verdicts.values() for verdict in verdicts]

    @property
    def n_reproduced(self) -> int:
        """How many of its claims hold under the main reading."""
        return sum(verdict.kind == "reproduced" for verdict in self.claims)

    @property
    def joint(self) -> dict[str, list[str]]:
        """By section, the keys of readings under which all its claims hold together."""
        return {name: holding(verdicts) for name, verdicts in self.verdicts.items()}

    @property
    def kind(self) -> Kind:
        """Reproduced if all claims hold under the main readings.

        Otherwise, if in every section all of them hold together under one other reading; in part if
        some hold under the main one.
        """
        if self.n_reproduced == len(self.claims):
            return "reproduced"
        if all(self.joint.values()):
            return "reproduced otherwise"
        return "in part" if self.n_reproduced else "not reproduced"


def holding(verdicts: Sequence[Verdict]) -> list[str]:
    """The keys of readings under which all claims of one section hold together.

    Together they are as improbable as the least certain of them. The main reading counts at 5 %,
    the others with Holm's correction over all of them.
    """
    p = {key: max(_p(verdict, key) for verdict in verdicts) for key in shared(verdicts)}
    main, *others = p
    held = [main] if p[main] < LEVEL else []
    adjusted = corrected([p[key] for key in others])
    return held + [key for key, value in zip(others, adjusted, strict=True) if value < LEVEL]


def shared(verdicts: Sequence[Verdict]) -> list[str]:
    """The keys of readings that bear on all of these claims."""
    first, *others = verdicts
    return [key for key in first.outcomes if all(key in other.outcomes for other in others)]


def mark_marginal(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts of a section, told which hold without Holm's correction over them only."""
    adjusted = corrected([_p(verdict, next(iter(verdict.outcomes))) for verdict in verdicts])
    return [
        replace(verdict, marginal=verdict.main.kind == "holds" and value >= LEVEL)
        for verdict, value in zip(verdicts, adjusted, strict=True)
    ]


def by_sentence(
    sentences: Sequence[Sentence], verdicts: Mapping[str, Sequence[Verdict]]
) -> list[SentenceVerdict]:
    """The verdicts on sentences with claims, from the verdicts on claims by section."""
    judged = []
    for sentence in sentences:
        about = {
            name: [verdict for verdict in of_section if verdict.claim.sentence == sentence]
            for name, of_section in verdicts.items()
        }
        kept = {name: of_section for name, of_section in about.items() if of_section}
        if kept:
            judged.append(SentenceVerdict(sentence, kept))
    return judged


def _p(verdict: Verdict, key: str) -> float:
    outcome = verdict.outcomes[key]
    return 1.0 if outcome.uninformative else outcome.p
