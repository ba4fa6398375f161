"""NonStochastic: rewards chosen by an adversary, for which a stochastic model is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.core.task import Task


@dataclass(frozen=True, kw_only=True)
class BeliefAdversary:
    """Pays for what the agent believes is bad: w = 0 along the first axis, ±size along the others.

    An axis pays +size while a ridge regression on the rounds played estimates it more than `margin`
    below the first axis, and −size otherwise. Before it is played it counts as 2·margin below. An
    agent that stops playing an arm once it looks bad never sees that it pays.

    Parameters
    ----------
    size : float, default 1.0
        What an axis pays, or takes.
    margin : float, default 0.5
        How far below the first axis an axis must look to pay.

    Examples
    --------
    >>> nothing = hs.TaskStatistics.zeros(3, (1,))
    >>> hs.environments.BeliefAdversary().parameter(nothing)
    array([[0., 1., 1.]])
    """

    size: float = 1.0
    margin: float = 0.5

    def parameter(self, played: TaskStatistics) -> Floats:
        """The w of the round after those played, (R, d)."""
        d = played.dimension
        bias = np.full(d, -2.0 * self.margin)
        bias[0] = 0.0
        moment = (played.moment + bias)[..., None]
        belief = np.linalg.solve(played.gram + np.eye(d), moment)[..., 0]
        low = belief < belief[..., :1] - self.margin
        w = np.where(low, self.size, -self.size)
        w[..., 0] = 0.0
        return w


@dataclass(frozen=True, kw_only=True)
class NonStochastic:
    """Arms along the axes, in random order and of random length, and an adversary that chooses w_t.

    Every round has one new arm per axis, and an arm says nothing about the others. The first axis
    always pays 0, the others ±size times the arm's length.

    Regret is against the arm with the largest xᵀΣw_t in every round. Learners that assume one w per
    task stop playing arms that look bad, and miss them when they pay: their regret grows linearly
    with the horizon. The regret of LinEXP3 does not (docs/explanation/non-stochastic.md).

    Parameters
    ----------
    dimension : int, default 5
        The number of axes, d.
    adversary : {"switching", "reacting"}, default "switching"
        "switching" pays −size in the first `share` of the rounds, and +size from then on, whatever
        is played; "reacting" pays what `BeliefAdversary` chooses from the rounds played so far.
    size : float, default 1.0
        What an axis pays, or takes.
    margin : float, default 0.5
        The margin of `BeliefAdversary`.
    share : float, default 0.1
        The share of rounds before the switch.
    spread : float, default 0.5
        The length of an arm is uniform in [1 − spread, 1].
    noise_scale : float, default 0.1
        The standard deviation of the noise.

    Examples
    --------
    >>> environment = hs.environments.NonStochastic(dimension=3, adversary="switching")
    >>> environment.sample(10, 1, np.random.default_rng(0)).arms.shape
    (1, 10, 3, 3)
    """

    dimension: int = 5
    adversary: Literal["switching", "reacting"] = "switching"
    size: float = 1.0
    margin: float = 0.5
    share: float = 0.1
    spread: float = 0.5
    noise_scale: float = 0.1

    def __post_init__(self) -> None:
        checks.count("dimension", self.dimension, least=2)
        checks.one_of("adversary", self.adversary, ("switching", "reacting"))
        checks.positive("size", self.size)
        checks.probability("share", self.share)
        checks.nonnegative("noise_scale", self.noise_scale)
        if not 0.0 < checks.real("margin", self.margin) < self.size:
            raise ValueError(f"margin must be above 0 and below size, got {self.margin!r}")
        if not 0.0 <= checks.real("spread", self.spread) < 1.0:
            raise ValueError(f"spread must be at least 0 and below 1, got {self.spread!r}")

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One task per replication."""
        rounds = checks.count("horizon", horizon)
        shape = (checks.count("replications", replications), rounds, self.dimension)
        arms = self._arms(shape, rng)
        noise = self.noise_scale * rng.standard_normal(shape)
        if self.adversary == "reacting":
            adversary = BeliefAdversary(size=self.size, margin=self.margin)
            return Task(arms=arms, rewards=noise, means=np.zeros(shape), adversary=adversary)
        late = np.arange(rounds) >= np.ceil(self.share * rounds)
        w = np.repeat(np.where(late, self.size, -self.size)[:, None], self.dimension, axis=1)
        w[:, 0] = 0.0
        means = (arms @ w[:, :, None])[..., 0]
        total = np.repeat(w.sum(0)[None], replications, axis=0)
        return Task(arms=arms, rewards=means + noise, means=means, comparator=total)

    def _arms(self, shape: tuple[int, int, int], rng: np.random.Generator) -> Floats:
        """One arm per axis in every round, (R, T, d, d)."""
        axes = rng.permuted(np.broadcast_to(np.arange(shape[2]), shape), axis=-1)
        lengths = 1.0 - self.spread * rng.random(shape)
        return np.asarray(lengths[..., None] * np.eye(shape[2])[axes])
