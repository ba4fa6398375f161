"""Logs for `headstart trial`, and the same tasks to play: six made ones and six of real people.

A made world has twelve items with a price, a size and a brand; every task is a user who comes 15
times and is shown one of them, by a random policy. A real log is what `people_data` has, with one
random arm of each round.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.people_data import Rounds, people_of

from headstart.arrays import Floats

N_ITEMS, N_ROUNDS = 12, 15


@dataclass(frozen=True, kw_only=True)
class Case:
    """A log with the columns of a trial, and tasks of the same kind to play."""

    log: pd.DataFrame
    columns: Mapping[str, Any]
    people: Callable[[np.random.Generator], Sequence[Rounds]]
    in_order: bool = False  # whether tasks to play come in their order, and the later half counts
    worth: Floats | None = None  # the expected rewards (J, K) of tasks to play, if they are known


def _made(
    parameters: Callable[[np.random.Generator, int], Floats],
    *,
    n_tasks: int,
    effect: float = 0.0,
    rate: float | None = None,
    leak: bool = False,
    timed: bool = False,
    seed: int = 0,
) -> Case:
    """A world: what each task's attributes are worth, (J, 5), and how much items differ beyond.

    With a rate the rewards are clicks, whose logarithm of the probability is linear.
    """
    rng = np.random.default_rng(seed)
    price, size = rng.uniform(5.0, 50.0, N_ITEMS).round(2), rng.integers(8, 90, N_ITEMS)
    brand = rng.permutation(np.arange(N_ITEMS) % 3)
    numbers = np.stack([price, size], 1)
    numbers = (numbers - numbers.mean(0)) / numbers.std(0)
    x = np.concatenate([numbers, np.eye(3)[brand] - 1.0 / 3.0], 1)
    items = rng.normal(0.0, effect, N_ITEMS)
    # The same items and the same kind of tasks for the log and to play.
    both = np.concatenate([parameters(rng, n_tasks), parameters(rng, n_tasks)])
    worth = both @ x.T + items
    noise = rng.normal(0.0, 1.0, (2 * n_tasks, N_ROUNDS, N_ITEMS))
    if rate is None:
        rewards = worth[:, None] + noise
    else:
        worth = np.clip(rate * np.exp(worth) / np.exp(worth).mean(), 0.0, 0.9)
        rewards = (rng.random(noise.shape) < worth[:, None]).astype(float)
    arms = np.concatenate([x, np.ones((N_ITEMS, 1))], 1)
    arms = np.broadcast_to(arms, (N_ROUNDS, *arms.shape))
    ids = np.tile(np.arange(N_ITEMS), (N_ROUNDS, 1))
    shown = rng.integers(N_ITEMS, size=(n_tasks, N_ROUNDS))
    log = pd.DataFrame({
        "user": np.repeat([f"u{j}" for j in range(n_tasks)], N_ROUNDS),
        "sku": [f"sku{k}" for k in shown.ravel()],
        "price": price[shown.ravel()],
        "size": size[shown.ravel()],
        "brand": np.array(["acme", "birch", "clay"])[brand[shown.ravel()]],
        "reward": np.take_along_axis(rewards[:n_tasks], shown[..., None], 2).ravel(),
        "propensity": 1.0 / N_ITEMS,
    })  # fmt: skip
    columns = {"task": "user", "item": "sku", "reward": "reward", "propensity": "propensity"}
    if timed:
        log["time"] = np.arange(len(log)) * 60.0
        columns["time"] = "time"
    if leak:
        log["paid"] = log["reward"]
    people = [Rounds(arms, own, ids) for own in rewards[n_tasks:]]
    return Case(
        log=log,
        columns=columns,
        people=lambda rng: people,
        in_order=timed,
        worth=worth[n_tasks:],
    )


def _alike(rng: np.random.Generator, n: int) -> Floats:
    return np.tile([0.4, -0.2, 0.3, 0.0, -0.3], (n, 1))


def _none(rng: np.random.Generator, n: int) -> Floats:
    return np.zeros((n, 5))


def _two_directions(rng: np.random.Generator, n: int) -> Floats:
    directions = np.array([[1.0, 0.0, 0.6, 0.0, -0.6], [0.0, 1.0, 0.0, 0.8, -0.8]])
    own: Floats = rng.normal(0.0, 0.7, (n, 2)) @ directions
    return _alike(rng, n) + own


def _drifting(rng: np.random.Generator, n: int) -> Floats:
    """The mean task turns by a full circle in 400 tasks."""
    angle = 2.0 * np.pi * np.arange(n) / 400.0
    turning = np.stack([np.cos(angle), np.sin(angle)], 1) * 0.8
    return np.concatenate([turning, np.zeros((n, 3))], 1)


MADE: Mapping[str, Callable[[], Case]] = {
    "no differences": lambda: _made(_alike, n_tasks=400, seed=1),
    "only item effects": lambda: _made(_none, n_tasks=400, effect=0.5, seed=2),
    "two directions": lambda: _made(_two_directions, n_tasks=400, seed=3),
    "a leak": lambda: _made(_two_directions, n_tasks=400, leak=True, seed=4),
    "drift": lambda: _made(_drifting, n_tasks=400, timed=True, seed=5),
    "1 % clicks": lambda: _made(_alike, n_tasks=2000, rate=0.01, seed=6),
}


def _real(data: str, seed: int = 0) -> Case:
    """A log in which every round shows one of its arms at random."""
    people = people_of(data)
    rng = np.random.default_rng(seed)
    frames = []
    for person, rounds in enumerate(people(rng)):
        t = np.arange(len(rounds.rewards))
        shown = rng.integers(rounds.rewards.shape[1], size=len(t))
        x = np.asarray(rounds.arms)[t, shown]
        frame = pd.DataFrame(x[:, :-1], columns=[f"x{i}" for i in range(x.shape[1] - 1)])
        frame.insert(0, "person", f"p{person}")
        if rounds.items is not None:
            frame["item"] = [f"i{item}" for item in rounds.items[t, shown]]
        frame["reward"] = rounds.rewards[t, shown]
        frames.append(frame)
    log = pd.concat(frames, ignore_index=True)
    columns = {"task": "person", "reward": "reward"}
    if "item" in log:
        columns["item"] = "item"
    if data == "mmlu-pro":  # where every model is on offer
        log["propensity"] = 1.0 / rounds.rewards.shape[1]
        columns["propensity"] = "propensity"
    return Case(log=log, columns=columns, people=people)


REAL: Mapping[str, Callable[[], Case]] = {
    name: (lambda name=name: _real(name))  # type: ignore[misc]
    for name in ("electricity", "camera", "bank", "coupons", "mmlu-pro", "movielens 15")
}
