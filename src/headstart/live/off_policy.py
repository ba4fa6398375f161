"""Off-policy evaluation: the mean reward that a bandit would have had on a log."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Booleans, Floats
from headstart.core.prior import Prior
from headstart.core.running import RunningEstimate
from headstart.intervals import Interval, interval, interval_around
from headstart.live.bandit import MetaBandit
from headstart.live.decision import Name

# Of no rounds at all.
_UNKNOWN = Interval(math.nan, math.inf, -math.inf, math.inf, 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class LoggedDecisions:
    """Decisions in the order in which they were made: n rounds.

    Shapes: tasks n names; arms (n, K, d); choices (n,), indices of the arms; rewards (n,);
    propensities (n,), the probability with which each choice was made, above 0.
    """

    tasks: Sequence[Name]
    arms: ArrayLike
    choices: ArrayLike
    rewards: ArrayLike
    propensities: ArrayLike

    def __post_init__(self) -> None:
        arms = checks.floats("arms", self.arms)
        if arms.ndim != 3 or 0 in arms.shape:
            raise ValueError(f"arms must have shape (n, K, d), got {arms.shape}")
        n, n_arms, _ = arms.shape
        choices = np.asarray(self.choices)
        if choices.shape != (n,) or not np.issubdtype(choices.dtype, np.integer):
            raise ValueError(f"choices must be integers of shape (n,) = ({n},)")
        if choices.min() < 0 or choices.max() >= n_arms:
            raise ValueError(f"choices must be indices of the {n_arms} arms, got {choices.max()}")
        rewards = checks.floats("rewards", self.rewards)
        propensities = checks.floats("propensities", self.propensities)
        checks.shape("rewards", rewards, (n,), "(n,)")
        checks.shape("propensities", propensities, (n,), "(n,)")
        if not ((propensities > 0) & (propensities <= 1)).all():
            raise ValueError("propensities must be above 0 and at most 1")
        if len(self.tasks) != n:
            raise ValueError(f"tasks must be {n} names, got {len(self.tasks)}")
        for name, value in (
            ("tasks", list(self.tasks)),
            ("arms", arms),
            ("choices", choices.astype(np.int64)),
            ("rewards", rewards),
            ("propensities", propensities),
        ):
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class OffPolicy:
    """Four estimates of a bandit's mean reward per round, and the weights behind them."""

    replay: Interval  # of the rounds that it accepted
    inverse_propensity: Interval
    self_normalised: Interval
    doubly_robust: Interval
    accepted: Booleans  # (n,)
    weights: Floats  # (n,), its probability of the logged choice over the log's


def evaluate_logged(bandit: MetaBandit, log: LoggedDecisions, *, seed: int = 0) -> OffPolicy:
    """Estimate the mean reward that a bandit would have had on a log, from which it learns.

    In each round the bandit's probability π of the logged choice is compared with the log's p. It
    accepts the round with probability c·π/p, c the smallest p, and learns from what it accepted, as
    if it had chosen so itself (rejection sampling; Li et al. 2011, Dudík et al. 2012). So it is
    evaluated with the experience it gathered, which is less than the log's. A task is finished
    after its last round. The doubly robust estimate uses a ridge regression over the log's earlier
    rounds.
    """
    arms, choices = np.asarray(log.arms), np.asarray(log.choices)
    rewards, propensities = np.asarray(log.rewards), np.asarray(log.propensities)
    n = len(rewards)
    last = {task: i for i, task in enumerate(log.tasks)}
    uniforms = np.random.default_rng(seed).random(n)
    scale = float(propensities.min())
    model = RunningEstimate(Prior.zero(arms.shape[2], regularization=1.0))
    weights, robust = np.empty(n), np.empty(n)
    accepted = np.zeros(n, dtype=bool)
    begun: set[Name] = set()
    for i, task in enumerate(log.tasks):
        choice, x = int(choices[i]), arms[i, choices[i]]
        probabilities = bandit.propensities(task, arms[i])
        weights[i] = probabilities[choice] / propensities[i]
        guesses = arms[i] @ model.parameter
        robust[i] = probabilities @ guesses + weights[i] * (rewards[i] - guesses[choice])
        accepted[i] = uniforms[i] < scale * weights[i]
        if accepted[i]:
            bandit.observe(task, x, float(rewards[i]))
            begun.add(task)
        model.observe(x, np.asarray(rewards[i]))
        if last[task] == i and task in begun:
            bandit.finish(task)
    return OffPolicy(
        replay=_mean(rewards[accepted]),
        inverse_propensity=_mean(weights * rewards),
        self_normalised=_weighted_mean(rewards, weights),
        doubly_robust=_mean(robust),
        accepted=accepted,
        weights=weights,
    )


def _mean(values: Floats) -> Interval:
    return interval(values) if len(values) else _UNKNOWN


def _weighted_mean(values: Floats, weights: Floats) -> Interval:
    """Σwy/Σw, with the delta method's interval."""
    total = float(weights.sum())
    if total == 0.0:
        return _UNKNOWN
    mean = float(weights @ values) / total
    return interval_around(mean, len(values) * weights * (values - mean) / total)
