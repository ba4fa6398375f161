"""MetaLinEXP3: exponential weights for rewards that an adversary chooses, with a learned start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.simulation.agent import State
from headstart.simulation.rounds import Rounds

Start = Literal["none", "uniform", "pcrw"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SecondMoment:
    """E bbᵀ from all arms seen: Σbbᵀ (R, d, d), their number, and a bound of ‖b‖ (R,)."""

    total: Floats
    count: Floats
    bound: Floats

    @classmethod
    def empty(cls, dimension: int, replications: int, bound: Floats) -> SecondMoment:
        """Before any arm was seen."""
        total = np.zeros((replications, dimension, dimension))
        return cls(total=total, count=np.zeros(replications), bound=bound)

    def with_norms(self, arms: Floats) -> SecondMoment:
        """The same sums, with a bound that also holds for arms (R, K, d)."""
        norms = np.linalg.norm(arms, axis=-1).max(-1)
        return replace(self, bound=np.maximum(self.bound, norms))

    def with_arms(self, arms: Floats) -> SecondMoment:
        """The sums with arms (R, K, d) added."""
        return replace(
            self, total=self.total + arms.mT @ arms, count=self.count + float(arms.shape[1])
        )

    def since(self, start: SecondMoment, known: SecondMoment) -> SecondMoment:
        """What is known, and the arms added since the start."""
        if known.total is start.total:
            return self
        return SecondMoment(
            total=known.total + (self.total - start.total),
            count=known.count + (self.count - start.count),
            bound=np.maximum(known.bound, self.bound),
        )

    def solve(self, vectors: Floats, *, ridge: Floats, smallest: float) -> Floats:
        """S̃⁻¹v of vectors (R, d): S̃ = S̄ + ξI, its eigenvalues at least `smallest`; ξ is (R,)."""
        mean = self.total / np.maximum(self.count, 1.0)[:, None, None]
        values, basis = np.linalg.eigh(mean)
        values = np.maximum(values + ridge[:, None], smallest)
        turned = (basis.mT @ vectors[..., None])[..., 0] / values
        return np.asarray((basis @ turned[..., None])[..., 0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Played:
    """What is learned from a task: Σθ̂ (R, d), and the arms seen before and after it."""

    loss: Floats
    start: SecondMoment
    seen: SecondMoment


@dataclass(frozen=True, kw_only=True, eq=False)
class MetaLinEXP3:
    """Meta-LinEXP3 (Li, Xu and Xie, 2026): sublinear regret against an adversary that chooses w_t.

    The arms b of a round are drawn from one distribution, the loss of an arm is ⟨b, θ_t⟩ = −reward
    with θ_t arbitrary. An arm a is drawn with propensity p_a, which results record:

        q_a ∝ exp(−μ⟨b_a, h⟩ − η⟨b_a, Σθ̂⟩),   p = (1 − γ)q + γ/K,   θ̂ = S̃⁻¹ b_a·loss/(K p_a)

    S̃ = S̄ + ξI, S̄ the mean of bbᵀ over the N arms seen before this round, in all tasks, and
    ξ = L²(Λ/3N + √(2Λ/N + Λ²/9N²)), Λ = log(2dT/δ), L² at N = 0. A task of n rounds, one of m, has
    T = mn.

    Parameters
    ----------
    name : str, default "Meta-LinEXP3"
        The label in results.
    start : {"none", "uniform", "pcrw"}, default "pcrw"
        The start h: 0 ("none": LinEXP3), the mean of v̂ = Σθ̂/‖Σθ̂‖ over completed tasks
        ("uniform"), or their mean with weights ∝ max(v̂ᵀv̂_last, 0) + τ/s after s tasks ("pcrw").
    n_tasks : int, default 20
        The number of tasks, m.
    rate : float, optional
        η, by default √(log K/n).
    exploration : float, optional
        γ, by default √(log K/mn).
    start_rate : float, default 1.0846
        μ.
    offset : float, default 1.0
        τ.
    arm_bound : float or array_like of shape (R,), optional
        L, a number or one per replication; by default the largest ‖b‖ seen.
    smallest_eigenvalue : float, default 0.01
        The least eigenvalue of S̃.
    failure_probability : float, default 0.05
        δ.

    Examples
    --------
    >>> agent = hs.learners.MetaLinEXP3()
    >>> results = hs.simulate(hs.environments.NonStochastic(), [agent], n_tasks=2, horizon=20)
    >>> bool((results.propensity > 0).all())
    True
    """

    name: str = "Meta-LinEXP3"
    start: Start = "pcrw"
    n_tasks: int = 20
    rate: float | None = None
    exploration: float | None = None
    start_rate: float = 1.0846
    offset: float = 1.0
    arm_bound: ArrayLike | None = None
    smallest_eigenvalue: float = 0.01
    failure_probability: float = 0.05

    def __post_init__(self) -> None:
        checks.one_of("start", self.start, ("none", "uniform", "pcrw"))
        checks.count("n_tasks", self.n_tasks)
        checks.probability("failure_probability", self.failure_probability)
        for name in ("start_rate", "offset"):
            checks.nonnegative(name, getattr(self, name))
        checks.positive("smallest_eigenvalue", self.smallest_eigenvalue)
        if self.rate is not None:
            checks.positive("rate", self.rate)
        if self.arm_bound is not None:
            bound = checks.floats("arm_bound", self.arm_bound)
            if bound.ndim > 1 or (bound <= 0.0).any():
                raise ValueError(
                    "arm_bound must be a number above 0, or one per replication, "
                    f"got {self.arm_bound!r}"
                )
        if (
            self.exploration is not None
            and not 0.0 < checks.real("exploration", self.exploration) <= 1.0
        ):
            raise ValueError(f"exploration must be above 0 and at most 1, got {self.exploration!r}")

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """One: the arm is drawn with it."""
        return 1

    def begin(self, dimension: int, replications: int) -> State:
        """No arms seen, and no directions of completed tasks, (R, 0, d)."""
        bound = np.asarray(0.0 if self.arm_bound is None else self.arm_bound, dtype=np.float64)
        if bound.ndim == 1 and len(bound) != replications:
            raise ValueError(
                f"arm_bound must be a number or one per replication, {replications}, "
                f"got {len(bound)}"
            )
        seen = SecondMoment.empty(dimension, replications, np.broadcast_to(bound, replications))
        return _to_state(seen, np.zeros((replications, 0, dimension)))

    def play(self, state: State, rounds: Rounds) -> Played:
        """Play a task by exponential weights, from the learned start."""
        n, k, d = rounds.horizon, rounds.n_arms, rounds.dimension
        rate, exploration = self._rates(n, k)
        start, seen = self.learned_start(state), _seen(state)
        confidence = np.log(2.0 * d * self.n_tasks * n / self.failure_probability)
        loss, rows = np.zeros((rounds.replications, d)), np.arange(rounds.replications)
        while not rounds.over:
            arms = rounds.arms
            if self.arm_bound is None:
                seen = seen.with_norms(arms)
            scores = arms @ (self.start_rate * start + rate * loss)[:, :, None]
            p = _propensities(-scores[..., 0], exploration)
            below = p.cumsum(-1) <= rounds.uniforms
            choices = np.minimum(below.sum(-1), k - 1)
            chosen = p[rows, choices]
            losses = -rounds.choose(choices, chosen)
            ridge = seen.bound**2 * _ridge(seen.count, confidence)
            weighted = rounds.features * (losses / (k * chosen))[:, None]
            loss += seen.solve(weighted, ridge=ridge, smallest=self.smallest_eigenvalue)
            seen = seen.with_arms(arms)
        return Played(loss=loss, start=_seen(state), seen=seen)

    def learn(self, state: State, played: Played) -> State:
        """Keep the arms that were seen, and the direction of the task's Σθ̂."""
        directions = state["directions"]
        if self.start != "none":
            size = np.linalg.norm(played.loss, axis=-1, keepdims=True)
            last = played.loss / np.where(size > 0.0, size, 1.0)
            directions = np.concatenate([directions, last[:, None, :]], axis=1)
        return _to_state(played.seen.since(played.start, _seen(state)), directions)

    def learned_start(self, state: State) -> Floats:
        """The start h of the next task, (R, d).

        Parameters
        ----------
        state : mapping of str to ndarray
            The state.

        Returns
        -------
        ndarray of shape (R, d)
        """
        directions = state["directions"]
        n = directions.shape[1]
        if n == 0:
            return np.zeros((len(directions), directions.shape[2]))
        if self.start == "uniform":
            return np.asarray(directions.mean(1))
        alike = (directions * directions[:, -1:]).sum(-1)
        weights = np.maximum(alike, 0.0) + self.offset / n
        # Without an offset, a last task whose losses were all 0 resembles no other.
        total = weights.sum(1, keepdims=True)
        weights /= np.where(total > 0.0, total, 1.0)
        return np.asarray((weights[..., None] * directions).sum(1))

    def _rates(self, horizon: int, n_arms: int) -> tuple[float, float]:
        """η and γ in a task of n rounds with K arms."""
        rate = np.sqrt(np.log(n_arms) / horizon) if self.rate is None else self.rate
        exploration = self.exploration
        if exploration is None:
            exploration = min(1.0, np.sqrt(np.log(n_arms) / (self.n_tasks * horizon)))
        return float(rate), float(exploration)


def _propensities(logits: Floats, exploration: float) -> Floats:
    """The p = (1 − γ)q + γ/K with q ∝ exp(logits), (R, K)."""
    q = np.exp(logits - logits.max(-1, keepdims=True))
    q /= q.sum(-1, keepdims=True)
    return np.asarray((1.0 - exploration) * q + exploration / logits.shape[-1])


def _ridge(count: Floats, confidence: float) -> Floats:
    """ξ/L² after N = count (R,) arms; 1 at N = 0."""
    n = np.maximum(count, 1.0)
    third = confidence / (3.0 * n)
    return np.where(count > 0.0, third + np.sqrt(2.0 * confidence / n + third**2), 1.0)


def _seen(state: State) -> SecondMoment:
    return SecondMoment(
        total=state["second_moment"], count=state["arms_seen"], bound=state["arm_bound"]
    )


def _to_state(seen: SecondMoment, directions: Floats) -> State:
    return {
        "second_moment": seen.total,
        "arms_seen": seen.count,
        "arm_bound": seen.bound,
        "directions": directions,
    }
