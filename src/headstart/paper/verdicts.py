"""Analysis: paired differences with intervals, and rules that turn them into outcomes.

All comparisons are of pseudo-regret, summed over a study's rounds: its expectation is the reward
that OPT earns more, so it orders learners as the expected reward does, with less noise. Intervals
are Student's t over replications, of differences within a replication.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import xarray as xr

from headstart.arrays import Floats
from headstart.intervals import Interval, interval

Outcome = Literal["holds", "fails", "undecided"]

# Two learners are about equal when the whole interval of their difference lies within this share
# of the second one's regret.
MARGIN = 0.05


@dataclass(frozen=True)
class Judgement:
    """What a rule says of one study: the outcome and the difference that it follows from."""

    outcome: Outcome
    difference: Interval
    note: str = ""


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a learner at a regularization, or at its best one (None)."""

    learner: str
    regularization: float | None

    def __str__(self) -> str:
        at = "best λ" if self.regularization is None else f"λ = {self.regularization:g}"
        return f"{self.learner} ({at})"


class Rule(Protocol):
    """A claim's test: from the regrets (learner, regularization, replication) of a study."""

    def judge(self, regrets: xr.DataArray) -> Judgement:
        """The outcome and its difference."""
        ...


@dataclass(frozen=True)
class Lower:
    """The first side's regret is below the second's: the interval of first − second is below 0."""

    first: Side
    second: Side

    def judge(self, regrets: xr.DataArray) -> Judgement:
        """Holds below 0, fails above 0, undecided when the interval has 0 in it."""
        difference = interval(_values(regrets, self.first) - _values(regrets, self.second))
        return Judgement(_below_zero(difference), difference)


@dataclass(frozen=True)
class Nearer:
    """The learner's regret is nearer to the target's at the larger λ: the gap's change is below 0.

    The gap is what the learner's mean regret exceeds the target's by, taken without its sign.
    """

    learner: str
    target: str
    small: float
    large: float

    def judge(self, regrets: xr.DataArray) -> Judgement:
        """Holds below 0, fails above 0, undecided when the interval has 0 in it."""
        change = 0.0
        for value, sign in ((self.large, 1.0), (self.small, -1.0)):
            gap = _values(regrets, Side(self.learner, value)) - _values(
                regrets, Side(self.target, value)
            )
            change = change + sign * np.sign(gap.mean()) * gap
        difference = interval(np.asarray(change))
        return Judgement(_below_zero(difference), difference)


@dataclass(frozen=True)
class AboutEqual:
    """The two sides' regrets differ by less than 5 % of the second's, with the whole interval."""

    first: Side
    second: Side

    def judge(self, regrets: xr.DataArray) -> Judgement:
        """Holds inside the margin, fails outside of it, undecided across its edge."""
        second = _values(regrets, self.second)
        difference = interval(_values(regrets, self.first) - second)
        margin = MARGIN * float(second.mean())
        note = f"margin ±{margin:.3g}"
        if -margin < difference.low and difference.high < margin:
            return Judgement("holds", difference, note)
        if difference.low > margin or difference.high < -margin:
            return Judgement("fails", difference, note)
        return Judgement("undecided", difference, note)


def _below_zero(difference: Interval) -> Outcome:
    if difference.high < 0:
        return "holds"
    return "fails" if difference.low > 0 else "undecided"


def _values(regrets: xr.DataArray, side: Side) -> Floats:
    """One side's regrets, (R,)."""
    of = regrets.sel(learner=side.learner)
    if side.regularization is None:
        best = of.mean("replication").argmin("regularization")
        return np.asarray(of.isel(regularization=best).to_numpy())
    return np.asarray(of.sel(regularization=side.regularization, method="nearest").to_numpy())


Verdict = Literal["reproduced", "reproduced under another reading", "not reproduced"]


@dataclass(frozen=True)
class Judged:
    """A claim under every reading: the first is the main one."""

    claim: str
    judgements: Mapping[str, Judgement]

    @property
    def main(self) -> Judgement:
        """The judgement under the main reading."""
        return next(iter(self.judgements.values()))

    @property
    def holds_under(self) -> list[str]:
        """The other readings under which it holds."""
        others = list(self.judgements.items())[1:]
        return [reading for reading, judgement in others if judgement.outcome == "holds"]

    @property
    def verdict(self) -> Verdict:
        """Reproduced if it holds under the main reading; else under which it does, if any."""
        if self.main.outcome == "holds":
            return "reproduced"
        return "reproduced under another reading" if self.holds_under else "not reproduced"
