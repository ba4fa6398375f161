"""Off-policy evaluation: the mean reward that a bandit would have had on a log."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from headstart.arrays import Booleans, Floats, Integers
from headstart.core.prior import Prior
from headstart.core.running import RunningEstimate
from headstart.intervals import Interval, interval_around
from headstart.live._decision_sets import DecisionSet
from headstart.live.bandit import MetaBandit
from headstart.live.inputs import Name
from headstart.logs import LoggedDecisions
from headstart.progress import Progress

# For no rounds at all.
_UNKNOWN = Interval(math.nan, math.inf, -math.inf, math.inf, 0)
# This share of the rounds may have a smaller propensity than the one that sets the rate of
# acceptance: with the smallest one, a single rare choice would leave nothing to learn from.
_RARE = 0.01
# With less, an estimate would be made of a handful of rounds.
_LEAST_SAMPLE_SIZE = 10.0
# How much of a policy's probability may be on arms that the log never chooses. The log says nothing
# about that part of its value.
_LEAST_OVERLAP = 0.95
# How often progress is reported, in rounds.
_ROUNDS_PER_REPORT = 100
# Standard errors by which the mean weight must miss the overlap, so that one sound log in a
# thousand is refused by chance.
_STANDARD_ERRORS = 3.3


@dataclass(frozen=True)
class OffPolicy:
    """Four estimates of a bandit's mean reward per round, and the weights behind them.

    Rounds of one task depend on each other, so that intervals are of independent tasks; if the log
    has a single task, of independent rounds.

    Attributes
    ----------
    replay : Interval
        The mean reward of the rounds that the bandit accepted.
    inverse_propensity, self_normalised, doubly_robust : Interval
        The mean reward by three estimators over all rounds.
    accepted : ndarray of bool of shape (n,)
        Which rounds the bandit accepted.
    weights : ndarray of shape (n,)
        The bandit's probability of the logged choice over the log's.
    mean_weight : Interval
        An estimate of the overlap. It is 1 if the log's propensities are right and the log may
        choose every arm that the bandit may.
    effective_sample_size : float
        (Σw)²/Σw², out of n.
    overlap : float or None
        The bandit's probability of arms that the log may choose; None unless the propensities of
        all arms are known.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> arms, choices = rng.normal(size=(300, 3, 2)), rng.integers(3, size=300)
    >>> log = hs.LoggedDecisions(
    ...     tasks=["ann"] * 300,
    ...     arms=arms,
    ...     choices=choices,
    ...     rewards=arms[np.arange(300), choices, 0],
    ...     propensities=np.full(300, 1 / 3),
    ... )
    >>> found = hs.evaluate_logged(hs.MetaBandit(dimension=2, seed=0), log)
    >>> bool(found.doubly_robust.low > log.rewards.mean())  # better than the log's random choices
    True
    """

    replay: Interval
    inverse_propensity: Interval
    self_normalised: Interval
    doubly_robust: Interval
    accepted: Booleans
    weights: Floats
    mean_weight: Interval
    effective_sample_size: float
    overlap: float | None

    def __str__(self) -> str:
        n = len(self.weights)
        estimates = ("replay", "inverse_propensity", "self_normalised", "doubly_robust")
        shown = {
            name: f"{found:.3g}" if (found := getattr(self, name)).replications else "not known"
            for name in estimates
        }
        lines = [f"{name.replace('_', ' '):20}{text}" for name, text in shown.items()]
        overlap = "not known" if self.overlap is None else f"{self.overlap:.3g}"
        return "\n".join(
            [
                *lines,
                f"{n:,} rounds, an effective {self.effective_sample_size:,.0f}; "
                f"{int(self.accepted.sum()):,} accepted",
                f"mean weight {self.mean_weight:.3g}, 1 with full overlap; overlap {overlap}",
            ]
        )


class LogTime:
    """The clock of a bandit under evaluation: it shows the times of the log, round by round.

    >>> from headstart.live.off_policy import LogTime
    >>> bandit = hs.MetaBandit(dimension=2, half_life_seconds=3600, clock=LogTime(), seed=0)
    >>> bandit.settings.clock()
    0.0
    """

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time of the current round."""
        return self.now


def evaluate_logged(
    bandit: MetaBandit,
    log: LoggedDecisions,
    *,
    learn: Literal["accepted", "all"] = "accepted",
    seed: int = 0,
    progress: Progress | None = None,
) -> OffPolicy:
    """Estimate the mean reward that a bandit would have had on a log, from which it learns.

    In each round the bandit's probability π of the logged choice is compared with the log's p. The
    bandit accepts the round with probability min(1, c·π/p), where 1 % of the p are below c, and
    learns from accepted rounds as if it had made the choice itself (rejection sampling; Li et al.
    2011, Dudík et al. 2012). So it is evaluated with the experience that it gathered, which is less
    than the log's. With `learn="all"` it learns from every round, and the estimates are for the
    choices it would make with the log's experience. A task is finished after its last round. A
    bandit whose clock is a `LogTime` follows the times of the log. The doubly robust estimate uses
    a ridge regression over the log's earlier rounds.

    See `OffPolicy` for an example.

    Parameters
    ----------
    bandit : MetaBandit
        The bandit to evaluate, usually a new one.
    log : LoggedDecisions
        The log. A log of items with attributes (`LoggedDecisions.from_items`) needs a bandit with
        the same features; it settles means and scales that are open.
    learn : {"accepted", "all"}, default "accepted"
        Whether the bandit learns from the rounds that it accepted, or from all.
    seed : int, default 0
        Decides which rounds are accepted.
    progress : callable, optional
        Called with the rounds done so far and their total.

    Raises
    ------
    ValueError
        If the log cannot tell: the bandit chooses arms that the log does not, the log's
        propensities are wrong, too few rounds carry all the weight, or the bandit accepted none.

    Returns
    -------
    OffPolicy
        The estimate with its interval, and on how many rounds it rests.
    """
    rewards = log.rewards
    if log.features is not None:
        bandit.settle(log.features)
    clock = bandit.settings.clock
    if bandit.settings.half_life_seconds is not None and (
        log.times is None or not isinstance(clock, LogTime)
    ):
        raise ValueError("a half-life in seconds needs a log with times, and clock=LogTime()")
    learns_all = learn == "all"
    weights, robust, overlaps, accepted = _played(bandit, log, seed, progress, learns_all)
    overlap = None if overlaps is None else float(overlaps.mean())
    units = _units(log.tasks)
    mean_weight = _mean(weights, units)
    size = _effective_sample_size(weights)
    _check_overlap(mean_weight, size, overlap, len(weights))
    if not accepted.any() and not learns_all:
        raise ValueError(
            "the log cannot tell the bandit's value: the bandit accepted none of its "
            f"{len(weights):,} rounds, and learns from accepted rounds alone; use more rounds, or "
            'learn="all"'
        )
    return OffPolicy(
        replay=_mean(rewards[accepted], units[accepted]),
        inverse_propensity=_mean(weights * rewards, units),
        self_normalised=_weighted_mean(rewards, weights, units),
        doubly_robust=_mean(robust, units),
        accepted=accepted,
        weights=weights,
        mean_weight=mean_weight,
        effective_sample_size=size,
        overlap=overlap,
    )


def _played(
    bandit: MetaBandit,
    log: LoggedDecisions,
    seed: int,
    progress: Progress | None,
    learns_all: bool,
) -> tuple[Floats, Floats, Floats | None, Booleans]:
    """Weights, doubly robust rewards, overlaps if known, and which rounds were accepted, (n,)."""
    choices, everything = log.choices, log.propensities_of_all
    rewards, propensities = log.rewards, log.propensities
    n = len(rewards)
    last = {task: i for i, task in enumerate(log.tasks)}
    uniforms = np.random.default_rng(seed).random(n)
    scale = float(np.quantile(propensities, _RARE, method="higher"))
    model = RunningEstimate(Prior.zero(log.arms.shape[2], regularization=1.0))
    weights, robust, overlaps = np.empty(n), np.empty(n), np.ones(n)
    accepted = np.zeros(n, dtype=bool)
    begun: set[Name] = set()
    clock = bandit.settings.clock
    for i, task in enumerate(_reporting(log.tasks, progress)):
        arms, choice = log.arms[i], int(choices[i])
        x = arms[choice]
        about = None if log.abouts is None else log.abouts[i]
        mask = None if log.allowed is None else log.allowed[i]
        if log.times is not None and isinstance(clock, LogTime):
            clock.now = float(log.times[i])
        offered: Any = arms if log.ids is None else DecisionSet.of_items(arms, log.ids)
        probabilities = bandit.propensities(task, offered, mask=mask, about=about)
        weights[i] = probabilities[choice] / propensities[i]
        if everything is not None:
            overlaps[i] = probabilities[everything[i] > 0].sum()
        guesses = arms @ model.parameter
        robust[i] = probabilities @ guesses + weights[i] * (rewards[i] - guesses[choice])
        accepted[i] = uniforms[i] < scale * weights[i]
        if accepted[i] or learns_all:
            item = None if log.ids is None else log.ids[choice]
            bandit.observe(task, x, float(rewards[i]), about=about, item=item)
            begun.add(task)
        model.observe(x, np.asarray(rewards[i]))
        if last[task] == i and task in begun:
            bandit.finish(task)
    return weights, robust, None if everything is None else overlaps, accepted


def _reporting(tasks: Sequence[Name], progress: Progress | None) -> Iterator[Name]:
    """The tasks of the rounds; calls `progress` with the number of rounds done."""
    n = len(tasks)
    for i, task in enumerate(tasks):
        yield task
        if progress is not None and ((i + 1) % _ROUNDS_PER_REPORT == 0 or i + 1 == n):
            progress(i + 1, n)


def _check_overlap(mean_weight: Interval, size: float, overlap: float | None, n: int) -> None:
    """Raise if the weights of n rounds allow no estimate; E[w] is the overlap."""
    if overlap is not None and overlap < _LEAST_OVERLAP:
        raise ValueError(
            f"the log cannot tell the bandit's value: {1 - overlap:.1%} of the bandit's choices "
            "are of arms that the log never chooses (overlap "
            f"{overlap:.3g}); log with an exploration floor, or evaluate a bandit closer to it"
        )
    slack = _STANDARD_ERRORS * mean_weight.error if size > 1 else 0.0
    if mean_weight.mean + slack < _LEAST_OVERLAP:
        raise ValueError(
            "the log cannot tell the bandit's value: the mean weight π/p is "
            f"{mean_weight.mean:.3g} ± {mean_weight.error:.2g} and should be 1, so that the bandit "
            "chooses arms that the log does not; log with an exploration floor, or evaluate a "
            "bandit closer to it"
        )
    if mean_weight.mean - slack > 1.0 / _LEAST_OVERLAP and size >= _LEAST_SAMPLE_SIZE:
        raise ValueError(
            f"the log's propensities are wrong: the mean weight π/p is "
            f"{mean_weight.mean:.3g} ± {mean_weight.error:.2g} and should be 1"
        )
    if size < _LEAST_SAMPLE_SIZE:
        raise ValueError(
            f"the log cannot tell the bandit's value: its {n:,} rounds are "
            f"worth {size:.1f}, by (Σw)²/Σw² of the weights π/p, and at least "
            f"{_LEAST_SAMPLE_SIZE:.0f} are needed; use more rounds, or a log that explores more"
        )


def _effective_sample_size(weights: Floats) -> float:
    """(Σw)²/Σw²: the number of equally weighted rounds that tell as much."""
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def _units(tasks: Sequence[Name]) -> Integers:
    """The independent unit of each round: its task, or itself if there is one task."""
    codes: dict[Name, int] = {}
    units = np.array([codes.setdefault(task, len(codes)) for task in tasks], dtype=np.int64)
    return units if len(codes) > 1 else np.arange(len(tasks))


def _mean(values: Floats, units: Integers) -> Interval:
    return _weighted_mean(values, np.ones(len(values)), units)


def _weighted_mean(values: Floats, weights: Floats, units: Integers) -> Interval:
    """Σwy/Σw, with the delta method's interval over independent units."""
    total = float(weights.sum())
    if total == 0.0:
        return _UNKNOWN
    mean = float(weights @ values) / total
    present, units = np.unique(units, return_inverse=True)
    influence = np.bincount(units, weights * (values - mean), minlength=len(present))
    return interval_around(mean, len(present) * influence / total)
