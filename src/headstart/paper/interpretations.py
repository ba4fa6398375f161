"""Interpretations of the paper, and the sections of the report that compare them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase

import xarray as xr

from headstart.paper import claims
from headstart.paper.claims import Claim
from headstart.paper.rules import Outcome, Rule, all_equal
from headstart.paper.verdicts import Verdict
from headstart.studies.results import totals
from headstart.studies.study import Study

# Results by the names of studies.
Results = Mapping[str, xr.Dataset]


@dataclass(frozen=True)
class Interpretation:
    """One choice of details that the paper leaves open: a study, with a key and a label.

    With `best`, claims are judged at each learner's best λ.
    """

    key: str
    label: str
    study: Study
    best: bool = False


@dataclass(frozen=True)
class ReportSection:
    """One section of the report: `interpretations` begin with the main one.

    `curves` are further studies, over the number of completed tasks. `compared` gives the learners
    that must differ for a study to say anything about a rule; without it, every study counts.
    """

    name: str
    title: str
    choices: str
    interpretations: Sequence[Interpretation]
    claims: Sequence[Claim]
    curves: Sequence[Interpretation] = ()
    compared: Callable[[Rule], Sequence[str]] | None = None

    @property
    def main(self) -> Interpretation:
        """The main interpretation."""
        return self.interpretations[0]

    def interpretation(self, key: str) -> Interpretation:
        """The interpretation with this key."""
        return next(one for one in self.interpretations if one.key == key)

    def curve(self, key: str) -> Interpretation:
        """The curve with this key."""
        return next(one for one in self.curves if one.key == key)

    def letters(self) -> dict[str, str]:
        """A letter for each interpretation, by key."""
        keys = [one.key for one in self.interpretations]
        return dict(zip(keys, ascii_uppercase, strict=False))

    def studies(self) -> dict[str, Study]:
        """All studies to run, by name."""
        return {one.study.name: one.study for one in (*self.interpretations, *self.curves)}

    def with_settings(self, *, replications: int | None, seed: int) -> "ReportSection":
        """The same section with other replications (None: unchanged) and another seed."""

        def change(one: Interpretation) -> Interpretation:
            n = replications or one.study.replications
            return replace(one, study=replace(one.study, replications=n, seed=seed))

        return replace(
            self,
            interpretations=[change(one) for one in self.interpretations],
            curves=[change(one) for one in self.curves],
        )

    def verdicts(self, results: Results) -> list[Verdict]:
        """Every claim under every interpretation that bears on it."""
        regrets = {one.study.name: totals(results[one.study.name]) for one in self.interpretations}
        return [Verdict(claim, dict(self._outcomes(claim, regrets))) for claim in self.claims]

    def _outcomes(
        self, claim: Claim, regrets: Mapping[str, xr.DataArray]
    ) -> Iterator[tuple[str, Outcome]]:
        for one in self.interpretations:
            rule = claims.at_best(claim.rule) if one.best else claim.rule
            if rule is not None:
                of = regrets[one.study.name]
                outcome = rule.judge(of)
                if self.compared and all_equal(of, self.compared(rule), rule.sides):
                    outcome = replace(outcome, kind="uninformative")
                yield one.key, outcome
