"""Verdict: whether a warm start would pay, from errors of prediction, in one sentence.

What counts is what could change a choice. So headstart is compared with models that know every
task's own level too: a level is predicted, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from headstart.arrays import Floats
from headstart.intervals import Interval, interval_around
from headstart.trials.log import MOST_REWARDS, CannotTell
from headstart.trials.starts import (
    ALONE,
    MEAN,
    MEAN_AND_LEVEL,
    METHODS,
    ONE_AND_LEVEL,
    OURS,
)

Answer = Literal["yes", "one model", "alone", "cannot tell"]
# After how many rewards of its own a task is predicted. What is shown at one of them is of the
# rewards until the next.
AFTER = (0, 1, 2, 3, 5, 7, 10, 15, 20, 30, MOST_REWARDS)
# Choices by headstart are worth at least this many times those by one model for "yes"; and the
# interval must exclude that many for "one model".
_LEAST_LIFT, _LARGEST_LIFT = 1.03, 1.25


@dataclass(frozen=True, kw_only=True)
class Curves:
    """The share of the variance of rewards that each method predicts, after `after` rewards."""

    after: Sequence[int]
    of: Mapping[str, Sequence[Interval]]


def curves(errors: Mapping[str, Floats]) -> Curves:
    """1 − Σe²/Σe₀², with e₀ the errors of the mean, for errors (J, T) by method."""
    seen = np.isfinite(errors[MEAN])
    enough = max(20, seen[:, 0].sum() // 10)
    spans = [
        (low, high)
        for low, high in pairwise(AFTER)
        if low < seen.shape[1] and seen[:, low].sum() >= enough
    ]
    return Curves(
        after=[low for low, _ in spans],
        of={
            name: [explained(errors[name], errors[MEAN], low, high) for low, high in spans]
            for name in METHODS
        },
    )


def explained(errors: Floats, base: Floats, low: int = 0, high: int = MOST_REWARDS) -> Interval:
    """The share of the base's squared errors that is saved, with an interval over tasks."""
    ours = np.nansum(errors[:, low:high] ** 2, 1)
    theirs = np.nansum(base[:, low:high] ** 2, 1)
    used = np.isfinite(base[:, low:high]).any(1)
    ours, theirs = ours[used], theirs[used]
    share = 1.0 - ours.sum() / theirs.sum()
    return interval_around(float(share), ((1.0 - share) * theirs - ours) / theirs.mean() + share)


def verdict(errors: Mapping[str, Floats], tastes: Interval) -> tuple[Answer, str]:
    """The answer and its sentence; tastes: the share of the variance that tasks prefer."""
    level = errors[MEAN_AND_LEVEL]
    whole = float(np.nansum(level**2))
    one, ours, alone = (explained(errors[name], level) for name in (ONE_AND_LEVEL, OURS, ALONE))
    gain = _scaled(explained(errors[OURS], errors[ONE_AND_LEVEL]), errors[ONE_AND_LEVEL], whole)
    over_alone = _scaled(explained(errors[OURS], errors[ALONE]), errors[ALONE], whole)
    alone_over_one = _scaled(
        explained(errors[ALONE], errors[ONE_AND_LEVEL]), errors[ONE_AND_LEVEL], whole
    )
    if max(one.low, ours.low, alone.low) <= 0.0:
        raise CannotTell(
            "nothing in it predicts which choice is better: one model for all explains "
            f"{one.mean:.1%} of the variance [{one.low:.1%}, {one.high:.1%}]"
        )
    if over_alone.low <= 0.0 and alone_over_one.low > 0.0:
        return "alone", (
            "No: let each task learn alone. What earlier tasks taught predicts a new one no better "
            f"than its own rewards do (by {over_alone:.1%} of the variance)."
        )
    lift = _lift(ours.mean, one.mean)
    if gain.low > 0.0 and over_alone.low > 0.0 and lift >= _LEAST_LIFT:
        return "yes", f"Yes: {_as_good(errors)}."
    if _lift(one.mean + gain.high, one.mean) > _LARGEST_LIFT and gain.low <= 0.0:
        raise CannotTell(
            f"over one model for all, headstart predicts {gain.mean:+.1%} of the variance "
            f"[{gain.low:+.1%}, {gain.high:+.1%}], which is too wide; use more tasks"
        )
    differ = "Tasks differ" if tastes.low > 0.0 else "Tasks hardly differ in what is best for them"
    but = ", but a learned prior does not predict new ones better" if tastes.low > 0.0 else ""
    return "one model", (
        f"No: take one model for all. {differ}{but}: over that model headstart predicts "
        f"{gain.mean:+.1%} of the variance [{gain.low:+.1%}, {gain.high:+.1%}]."
    )


def _scaled(saved: Interval, base: Floats, whole: float) -> Interval:
    """A share of the base's squared errors, as a share of the whole."""
    factor = float(np.nansum(base**2)) / whole
    return Interval(
        saved.mean * factor,
        saved.error * factor,
        saved.low * factor,
        saved.high * factor,
        saved.replications,
    )


def _lift(ours: float, theirs: float) -> float:
    """How many times as much choices by one prediction gain over random ones as by another.

    The best of several arms by a prediction with variance v is better than a random one by a
    multiple of √v.
    """
    if theirs <= 0.0:
        return np.inf if ours > 0.0 else 1.0
    return float(np.sqrt(max(ours, 0.0) / theirs))


def _as_good(errors: Mapping[str, Floats]) -> str:
    """After how many rewards a task alone is as good as headstart after two."""
    found = curves(errors)
    ours, alone = ([one.mean for one in found.of[name]] for name in (OURS, ALONE))
    place = min(AFTER.index(2), len(ours) - 1)
    after = "2 visits" if place == AFTER.index(2) else f"{place} visits"
    reached = [n for n, one in zip(found.after, alone, strict=True) if one >= ours[place]]
    if not reached:
        return f"better after {after} than a cold start after {found.after[-1]}"
    if reached[0] > found.after[place]:
        return f"as good after {after} as a cold start after {reached[0]}"
    return "it predicts new tasks better than one model for all, and than each task alone"
