"""Rules: paired differences of regrets with intervals, and the outcomes that follow.

All comparisons are of pseudo-regret, summed over a study's rounds: its expectation is OPT's
reward minus the learner's, so it orders learners as the expected reward does, with less noise.
Intervals and p-values are Student's t over replications, of differences within a replication.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import xarray as xr
from scipy.special import stdtr

from headstart.arrays import Floats
from headstart.intervals import CONFIDENCE, Interval, interval
from headstart.studies.results import at_best

OutcomeKind = Literal["holds", "fails", "undecided", "uninformative"]

LEVEL = 1.0 - CONFIDENCE
# Two learners are about equal when the interval of their difference is within this share of the
# second one's regret.
MARGIN = 0.05


@dataclass(frozen=True)
class Outcome:
    """What a rule finds in one study: p-values of the claim and of its contrary, the difference.

    The claim holds if `p` is below 5 %, and the contrary if `p_contrary` is: exactly if the 95 %
    interval is on that side. `margin` is half the width of what counts as about equal, if the rule
    has one. A study in which all learners are about equal is `uninformative`, whatever the rule
    finds.
    """

    p: float
    p_contrary: float
    difference: Interval
    margin: float | None = None
    uninformative: bool = False

    @property
    def kind(self) -> OutcomeKind:
        """The outcome of this study alone."""
        if self.uninformative:
            return "uninformative"
        if self.p < LEVEL:
            return "holds"
        return "fails" if self.p_contrary < LEVEL else "undecided"


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
    """The first side's regret is below the second's."""

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
        """Holds below 0."""
        return below_zero(interval(_values(regrets, self.first) - _values(regrets, self.second)))


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
        """Holds below 0."""
        change = 0.0
        for value, sign in ((self.large, 1.0), (self.small, -1.0)):
            gap = _values(regrets, Side(self.learner, value)) - _values(
                regrets, Side(self.target, value)
            )
            change = change + sign * np.sign(gap.mean()) * gap
        return below_zero(interval(np.asarray(change)))


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
        """Holds inside the margin; the contrary is a difference outside of it."""
        second = _values(regrets, self.second)
        difference = interval(_values(regrets, self.first) - second)
        margin = MARGIN * float(second.mean())
        return Outcome(
            p=max(_p_below(difference, margin), _p_above(difference, -margin)),
            p_contrary=min(_p_above(difference, margin), _p_below(difference, -margin)),
            difference=difference,
            margin=margin,
        )


def below_zero(difference: Interval) -> Outcome:
    """The outcome of the claim that a difference is below 0."""
    return Outcome(_p_below(difference, 0.0), _p_above(difference, 0.0), difference)


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


def _p_below(difference: Interval, limit: float) -> float:
    """Student's p-value of a mean below the limit, doubled: below 5 % if the interval's end is."""
    distance = difference.mean - limit
    if difference.replications < 2:
        return 1.0
    if difference.error == 0.0:
        return 0.0 if distance < 0.0 else 1.0
    p = 2.0 * stdtr(difference.replications - 1, distance / difference.error)
    return min(float(p), 1.0)


def _p_above(difference: Interval, limit: float) -> float:
    return _p_below(-difference, -limit)


def _minus(first: Side, second: Side) -> str:
    """The difference in words; it names λ if the sides have two."""
    if first.regularization == second.regularization:
        return f"{first.learner} − {second.learner}"
    return f"{first.learner} at λ = {first.regularization:g} minus at λ = {second.regularization:g}"


def _values(regrets: xr.DataArray, side: Side) -> Floats:
    """One side's regrets, (R,); at its best λ, of the replications that did not choose it."""
    of = regrets.sel(learner=side.learner)
    if side.regularization is None:
        return np.asarray(at_best(regrets.sel(learner=[side.learner])).to_numpy()[0])
    return np.asarray(of.sel(regularization=side.regularization, method="nearest").to_numpy())
