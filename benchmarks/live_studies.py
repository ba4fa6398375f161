"""Live use, studied: what a stream of users earns, what a half-life keeps, how long calls take.

`python -m benchmarks.live_studies stream`, `drift` or `latency` prints a table. The first two count
rewards and can be repeated; the last one measures time, which is another on every machine.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import headstart as hs
from headstart.arrays import Floats
from headstart.interfaces import Memory

HOUR = 3600.0
DAY = 24 * HOUR
MONTH = 30 * DAY


class Clock:
    """The time of a study, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time now."""
        return self.now


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Users who come for about 20 hours each, and click with probability base + xᵀw, cut to [0, 1].

    Arms x are unit vectors; parameters w lie around a common mean.
    """

    n_users: int = 2000
    visits: int = 20
    hours: float = 20.0
    days: float = 60.0
    dimension: int = 20
    n_arms: int = 20
    base: float = 0.35
    mean: float = 0.95
    spread: float = 0.35

    def events(self, rng: np.random.Generator) -> list[tuple[float, int]]:
        """The times of all visits in order, and whose they are."""
        begin = rng.uniform(0.0, self.days * DAY, self.n_users)
        times = begin[:, None] + rng.uniform(0.0, self.hours * HOUR, (self.n_users, self.visits))
        order = np.argsort(times, axis=None)
        users = np.repeat(np.arange(self.n_users), self.visits)
        return list(zip(times.ravel()[order].tolist(), users[order].tolist(), strict=True))

    def parameters(self, rng: np.random.Generator) -> Floats:
        """The users' parameters, (users, d)."""
        mean = rng.standard_normal(self.dimension)
        mean *= self.mean / np.linalg.norm(mean)
        own = rng.standard_normal((self.n_users, self.dimension)) / np.sqrt(self.dimension)
        return np.asarray(mean + self.spread * own)

    def arms(self, rng: np.random.Generator) -> Floats:
        """Unit vectors, (K, d)."""
        arms = rng.standard_normal((self.n_arms, self.dimension))
        return np.asarray(arms / np.linalg.norm(arms, axis=1, keepdims=True))


def clicks(stream: Stream, seed: int, **settings: Any) -> float:
    """Clicks per visit of a bandit with these settings."""
    clock = Clock()
    bandit = hs.MetaBandit(dimension=stream.dimension, seed=seed, clock=clock, **settings)
    return _clicks(stream, seed, clock, lambda user: bandit, lambda user, x, click: None)


def clicks_of_refits(stream: Stream, seed: int, every: int = 25) -> float:
    """Clicks per visit where every so many new users a bandit is fitted afresh to all rewards.

    Users stay with the bandit that they began with.
    """
    bandits: dict[int, hs.MetaBandit] = {}
    rows: list[tuple[str, Floats, float]] = []

    def bandit_of(user: int) -> hs.MetaBandit:
        if user not in bandits:
            if len(bandits) % every == 0:
                fresh = hs.MetaBandit(dimension=stream.dimension, seed=seed)
                if rows:
                    names, features, rewards = zip(*rows, strict=True)
                    columns = {"task": names, "features": list(features), "reward": rewards}
                    fresh.fit(pd.DataFrame(columns))
                bandits[user] = fresh
            else:
                bandits[user] = bandits[next(reversed(bandits))]
        return bandits[user]

    def note(user: int, x: Floats, click: float) -> None:
        rows.append((f"user-{user}", x, click))

    return _clicks(stream, seed, Clock(), bandit_of, note)


def _clicks(
    stream: Stream,
    seed: int,
    clock: Clock,
    bandit_of: Callable[[int], hs.MetaBandit],
    note: Callable[[int, Floats, float], None],
) -> float:
    rng = np.random.default_rng(seed)
    parameters, events = stream.parameters(rng), stream.events(rng)
    total = 0.0
    for now, user in events:
        clock.now = now
        arms, bandit = stream.arms(rng), bandit_of(user)
        decision = bandit.decide(user, arms)
        x = arms[decision.arm_index]
        click = float(rng.random() < stream.base + float(x @ parameters[user]))
        bandit.reward(decision.id, click)
        note(user, x, click)
        total += click
    return total / len(events)


class Cold(hs.priors.Hierarchical):
    """A prior that learns from no task."""

    def absorb(self, memory: Memory, task: hs.TaskStatistics, weight: float = 1.0) -> Memory:
        """The memory as it is."""
        return memory


def stream_table(seed: int = 0, stream: Stream | None = None) -> Iterator[str]:
    """Clicks per visit for every idle time, beside the references."""
    stream = Stream() if stream is None else stream
    yield "| idle time | clicks per visit |"
    yield "|---|---|"
    for hours in (2.0, 4.0, 8.0, 16.0, 24.0):
        yield f"| {hours:g} h | {clicks(stream, seed, idle_seconds=hours * HOUR):.3f} |"
    yield f"| none | {clicks(stream, seed):.3f} |"
    # The study plays 60 days in a minute or two, so that the thread is days behind.
    behind = clicks(stream, seed, refresh="background")
    yield f"| none, with a thread that is days behind | {behind:.3f} |"
    yield f"| refitted on everybody, every 25 users | {clicks_of_refits(stream, seed):.3f} |"
    yield f"| no task teaches another | {clicks(stream, seed, prior=Cold()):.3f} |"


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Users one after another, whose mean parameter turns by 180° over 24 months."""

    months: int = 24
    users_per_month: int = 40
    rounds: int = 10
    dimension: int = 10
    n_arms: int = 10
    length: float = 1.7
    spread: float = 0.3

    def mean(self, month: float) -> Floats:
        """The mean parameter at a time in months, (d,)."""
        angle = np.pi * month / self.months
        mean = np.zeros(self.dimension)
        mean[:2] = self.length * np.array([np.cos(angle), np.sin(angle)])
        return mean


def rewards_by_month(
    drift: Drift, seed: int, *, fresh_months: int | None = None, **settings: Any
) -> Floats:
    """The mean reward xᵀw per round in every month, (months,); with `fresh_months`, begun anew."""
    rng = np.random.default_rng(seed)
    clock = Clock()
    earned = np.zeros(drift.months)
    given: dict[str, Any] = {"dimension": drift.dimension, "seed": seed, "clock": clock}
    bandit = hs.MetaBandit(**given, **settings)
    for month in range(drift.months):
        if fresh_months is not None and month % fresh_months == 0:
            bandit = hs.MetaBandit(**given, **settings)
        for i in range(drift.users_per_month):
            time_now = month + i / drift.users_per_month
            clock.now = time_now * MONTH
            w = drift.mean(time_now) + drift.spread * rng.standard_normal(drift.dimension)
            for _ in range(drift.rounds):
                arms = rng.standard_normal((drift.n_arms, drift.dimension))
                decision = bandit.decide(f"{month}-{i}", arms)
                value = float(arms[decision.arm_index] @ w)
                bandit.reward(decision.id, value + float(rng.standard_normal()))
                earned[month] += value
    return np.asarray(earned / (drift.users_per_month * drift.rounds))


def drift_table(seed: int = 0, drift: Drift | None = None) -> Iterator[str]:
    """Rewards per round: over all months, in the first three, and in the last three."""
    drift = Drift() if drift is None else drift
    kinds: dict[str, dict[str, Any]] = {
        "no half-life": {},
        "a fresh bandit every three months": {"fresh_months": 3},
        "half-life of 1 month": {"half_life_seconds": MONTH},
        "half-life of 2 months": {"half_life_seconds": 2 * MONTH},
        "half-life of 4 months": {"half_life_seconds": 4 * MONTH},
    }
    yield "| | all months | months 1–3 | months 22–24 | lowest month |"
    yield "|---|---|---|---|---|"
    for name, given in kinds.items():
        months = rewards_by_month(drift, seed, **given)
        ends = months[:3].mean(), months[-3:].mean(), months[3:].min()
        yield (
            f"| {name} | {months.mean():.2f} | " + " | ".join(f"{each:.2f}" for each in ends) + " |"
        )


def latency_table(dimension: int = 50, n: int = 20_000, n_arms: int = 20) -> Iterator[str]:
    """Milliseconds of `decide` while tasks open and finish, refreshed in the background."""
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((256, n_arms, dimension))
    w = rng.standard_normal(dimension) / np.sqrt(dimension)
    bandit = hs.MetaBandit(dimension=dimension, refresh="background")
    active, rounds = list(range(50)), np.zeros(50, dtype=np.int64)
    taken: dict[str, list[float]] = {"of known users": [], "the first of new users": []}
    for i in range(n + 1000):
        k, shown = int(rng.integers(50)), arms[i % 256]
        began = time.perf_counter()
        decision = bandit.decide(active[k], shown)
        took = time.perf_counter() - began
        if i >= 1000:  # by then everything is compiled and loaded
            taken["of known users" if rounds[k] else "the first of new users"].append(1e3 * took)
        x = shown[decision.arm_index]
        bandit.reward(decision.id, float(x @ w + rng.standard_normal()))
        rounds[k] += 1
        if rounds[k] == 20:
            bandit.finish(active[k])
            active[k], rounds[k] = max(active) + 1, 0
    taken["all"] = [each for values in taken.values() for each in values]
    yield f"| decisions, d={dimension}, K={n_arms} | n | p50 | p99 | p99.9 | ms at most |"
    yield "|---|---|---|---|---|---|"
    for name, values in taken.items():
        figures = [*np.quantile(values, [0.5, 0.99, 0.999]), max(values)]
        yield f"| {name} | {len(values)} | " + " | ".join(f"{each:.3f}" for each in figures) + " |"


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    tables: dict[str, Callable[[], Iterator[str]]]
    tables = {"stream": stream_table, "drift": drift_table, "latency": latency_table}
    parser.add_argument("table", choices=tables)
    for line in tables[parser.parse_args().table]():
        print(line, flush=True)


if __name__ == "__main__":
    main()
