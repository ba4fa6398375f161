"""A store as the service fills it: customers of a coffee shop in its first hour, and three jobs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from tests.service.jobs.setting import InThread
from tests.waiting import until

from headstart.service.engine.service import Service
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import (
    BanditConfiguration,
    DecisionAnswer,
    DecisionRequest,
    EvaluateRequest,
    FitRequest,
    Item,
    LogColumns,
    RewardRequest,
)

NOW = 1_790_000_000.0
BANDIT = "coffee"
FEATURES = ["bitter", "milky", "sweet", "cold", "large", "price", "seasonal", "popular"]
ARMS = ["Espresso", "Flat white", "Cortado", "Iced latte", "Mocha", "Filter, Kenya", "Cold brew"]
TASTE = np.array([0.55, 0.42, 0.31, -0.25, 0.12, -0.48, 0.05, 0.22])
_MINUTES = 60
_LOG = "clicks.parquet"


class Clock:
    """A clock that stands where it was put."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def configuration(control_share: float = 0.4) -> BanditConfiguration:
    return BanditConfiguration(
        feature_names=FEATURES,
        control_share=control_share,
        reward_range=(-5.0, 5.0),
        deadline_seconds=600.0,
    )


def arms() -> list[Item]:
    rng = np.random.default_rng(1)
    return [Item(id=arm, features=rng.standard_normal(len(FEATURES)).tolist()) for arm in ARMS]


def decided(service: Service, bandit: str, names: Sequence[str]) -> list[DecisionAnswer]:
    """A decision of each task."""
    requests = [DecisionRequest(task=name) for name in names]
    answers = service.decide(bandit, requests).result(120)
    return [answer for answer in answers if isinstance(answer, DecisionAnswer)]


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A service, its jobs and its clock."""

    service: Service
    jobs: Jobs
    clock: Clock


def fill(shop: Shop, *, n_tasks: int = 120, seed: int = 0) -> None:
    """Tasks of 20 to 30 rounds, one per minute; half of the last decisions wait for a reward."""
    service, clock = shop.service, shop.clock
    rng = np.random.default_rng(seed)
    clock.now = NOW - 60.0 * _MINUTES
    service.put_bandit(BANDIT, configuration())
    items = arms()
    service.put_items(BANDIT, items)
    features = {item.id: np.array(item.features) for item in items}
    names = [f"user-{i:04d}" for i in range(n_tasks)]
    tastes = {name: TASTE + 0.03 * rng.standard_normal(len(TASTE)) for name in names}
    first = np.sort(rng.integers(0, _MINUTES - 20, n_tasks))
    rounds = rng.integers(20, 31, n_tasks)
    for minute in range(_MINUTES):
        clock.now = NOW - 60.0 * (_MINUTES - minute)
        here = [
            name
            for name, start, n in zip(names, first, rounds, strict=True)
            if start <= minute < start + n
        ]
        rewards = [
            RewardRequest(
                decision=answer.id,
                value=float(
                    features[answer.arms[0].arm] @ tastes[answer.task] + rng.normal(0.0, 0.1)
                ),
            )
            for answer in (decided(service, BANDIT, here) if here else [])
            if minute < _MINUTES - 1 or rng.random() < 0.5
        ]
        if rewards:
            service.reward(BANDIT, rewards).result(120)
        if minute % 3 == 2:
            service.refresh(BANDIT)
    clock.now = NOW


def add_jobs(jobs: Jobs, data: Path) -> None:
    """A dry run, a shadow fit, and an evaluation that fails; each to its end."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((240, len(FEATURES)))
    frame = pd.DataFrame(x, columns=FEATURES)
    frame["user"] = [f"log-{i // 8}" for i in range(len(x))]
    frame["reward"] = x @ TASTE + 0.4 * rng.standard_normal(len(x))
    frame.to_parquet(data / _LOG)
    columns = LogColumns(task="user", features=FEATURES)
    views = [
        jobs.start_fit(BANDIT, FitRequest(files=[_LOG], columns=columns)),
        jobs.start_fit(BANDIT, FitRequest(files=[_LOG], columns=columns, dry_run=False)),
        jobs.start_evaluate(BANDIT, EvaluateRequest(files=[_LOG])),
    ]
    until(lambda: all(jobs.job(BANDIT, view.id).ended is not None for view in views), seconds=300.0)


@contextmanager
def opened(store: str | Path, folder: Path) -> Iterator[Shop]:
    """A service on a store, at the end of the first hour, and its jobs."""
    clock, data = Clock(), folder / "data"
    data.mkdir(exist_ok=True)
    with Service.open(store, clock=clock) as service:
        jobs = Jobs(service, uploads=folder / "uploads", data=data, begin=InThread)
        jobs.start()
        yield Shop(service=service, jobs=jobs, clock=clock)
        jobs.stop()
