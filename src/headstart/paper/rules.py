"""Rules: paired differences of regrets with intervals, and the outcomes that follow.

All comparisons are of pseudo-regret, summed over a study's rounds: its expectation is OPT's
reward minus the learner's, so it orders learners as the expected reward does, with less noise.
Intervals are Student's t over replications, of differences within a replication.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import xarray as xr

from headstart.arrays import Floats
from headstart.intervals import Interval, interval

OutcomeKind = Literal["holds", "fails", "undecided", "uninformative"]

# Two learners are about equal when the interval of their difference is within this share of the
# second one's regret.
MARGIN = 0.05


@dataclass(frozen=True)
class Outcome:
    """What a rule finds in one study: its kind, and the underlying difference.

    `margin` is half the width of what counts as about equal, if the rule has one. A study in which
    all learners are about equal is uninformative, whatever the rule would find.
    """

    kind: OutcomeKind
    difference: Interval
    margin: float | None = None


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a learner at a regularization, or at its best one (None)."""

    learner: str
    regularization: float | None


class Rule(Protocol):
    """A claim's test: from the regrets (learner, regularization, replication) of a study."""

    @property
    def difference(self) -> str:
        """What is subtracted from what."""
        ...

    @property
    def sides(self) -> tuple[Side, ...]:
        """What is compared."""
        ...

    def judge(self, regrets: xr.DataArray) -> Outcome:
        """The outcome and its difference."""
        ...


@dataclass(frozen=True)
class Lower:
    """The first side's regret is below the second's: the interval of first − second is below 0."""

    first: Side
    second: Side

    @property
    def difference(self) -> str:
        """First minus second."""
        return _minus(self.first, self.second)

    @property
    def sides(self) -> tuple[Side, ...]:
        """Both sides."""
        return (self.first, self.second)

    def judge(self, regrets: xr.DataArray) -> Outcome:
        """Holds below 0, fails above 0, undecided when the interval has 0 in it."""
        difference = interval(_values(regrets, self.first) - _values(regrets, self.second))
        return Outcome(_below_zero(difference), difference)


@dataclass(frozen=True)
class Nearer:
    """The learner's regret is nearer to the target's at the larger λ: the gap's change is below 0.

    The gap is the absolute difference of the learner's and the target's mean regrets.
    """

    learner: str
    target: str
    small: float
    large: float

    @property
    def difference(self) -> str:
        """The gap at the larger λ minus the gap at the smaller λ."""
        gap = f"|{self.learner} − {self.target}|"
        return f"{gap} at λ = {self.large:g} minus at λ = {self.small:g}"

    @property
    def sides(self) -> tuple[Side, ...]:
        """Both learners at both values."""
        return tuple(
            Side(name, value)
            for name in (self.learner, self.target)
            for value in (self.small, self.large)
        )

    def judge(self, regrets: xr.DataArray) -> Outcome:
        """Holds below 0, fails above 0, undecided when the interval has 0 in it."""
        change = 0.0
        for value, sign in ((self.large, 1.0), (self.small, -1.0)):
            gap = _values(regrets, Side(self.learner, value)) - _values(
                regrets, Side(self.target, value)
            )
            change = change + sign * np.sign(gap.mean()) * gap
        difference = interval(np.asarray(change))
        return Outcome(_below_zero(difference), difference)


@dataclass(frozen=True)
class AboutEqual:
    """The two sides' regrets differ by less than 5 % of the second's: both ends of the interval."""

    first: Side
    second: Side

    @property
    def difference(self) -> str:
        """First minus second."""
        return _minus(self.first, self.second)

    @property
    def sides(self) -> tuple[Side, ...]:
        """Both sides."""
        return (self.first, self.second)

    def judge(self, regrets: xr.DataArray) -> Outcome:
        """Holds inside the margin, fails outside, undecided across its edge."""
        second = _values(regrets, self.second)
        difference = interval(_values(regrets, self.first) - second)
        margin = MARGIN * float(second.mean())
        if -margin < difference.low and difference.high < margin:
            return Outcome("holds", difference, margin)
        if difference.low > margin or difference.high < -margin:
            return Outcome("fails", difference, margin)
        return Outcome("undecided", difference, margin)


def all_equal(regrets: xr.DataArray, learners: Sequence[str], sides: Sequence[Side]) -> bool:
    """Whether all of these learners are about equal at every λ of the sides.

    Every learner is compared with the last of them.
    """
    *others, last = learners
    values = {side.regularization for side in sides}
    return all(
        AboutEqual(Side(name, value), Side(last, value)).judge(regrets).kind == "holds"
        for name in others
        for value in values
    )


def _minus(first: Side, second: Side) -> str:
    """The difference in words; it names λ if the sides have two."""
    if first.regularization == second.regularization:
        return f"{first.learner} − {second.learner}"
    return f"{first.learner} at λ = {first.regularization:g} minus at λ = {second.regularization:g}"


def _below_zero(difference: Interval) -> OutcomeKind:
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
