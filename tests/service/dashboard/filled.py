"""A plausible store, filled straight through its tables: simulated rewards, no engine."""

from collections.abc import Callable
from typing import Literal

import msgspec
import numpy as np
from sqlalchemy import Connection, delete, insert, select

from headstart.arrays import Booleans, Floats
from headstart.service.messages import (
    BanditConfiguration,
    Contribution,
    DecisionRecord,
    TaskRecord,
    not_found,
)
from headstart.service.store import schema
from headstart.service.store.database import Database

NOW = 1_790_000_000.0
FEATURES = ["bitter", "milky", "sweet", "cold", "large", "price", "seasonal", "popular"]
ARMS = ["Espresso", "Flat white", "Cortado", "Iced latte", "Mocha", "Filter, Kenya", "Cold brew"]
Status = Literal["pending", "paid", "expired"]
_COLD_ROUNDS = 8.0  # how fast a task learns by itself


def configuration(control_share: float = 0.2) -> BanditConfiguration:
    return BanditConfiguration(
        feature_names=FEATURES,
        control_share=control_share,
        reward_range=(-5.0, 5.0),
        deadline_seconds=600.0,
    )


def add_bandit(
    connection: Connection, name: str, *, control_share: float = 0.2, created: float = NOW - 9e5
) -> int:
    row = {
        "name": name,
        "configuration": msgspec.json.encode(configuration(control_share)).decode(),
        "created": created,
        "changed": created,
        "catalogue_version": 1,
        "prior_version": 40,
    }
    connection.execute(insert(schema.bandits).values(row))
    query = select(schema.bandits.c.id).where(schema.bandits.c.name == name)
    return int(connection.execute(query).scalar_one())


def fill(database: Database, *, n_tasks: int = 120, name: str = "coffee", seed: int = 0) -> None:
    """A bandit with tasks of up to 30 rounds over the last hours; two processes wrote."""
    rng = np.random.default_rng(seed)
    with database.writing() as connection:
        bandit = add_bandit(connection, name)
        control = rng.random(n_tasks) < 0.2
        counts = rng.integers(21, 31, n_tasks)
        opened = np.sort(NOW - rng.uniform(300.0, 3300.0, n_tasks))
        rewards = [_rewards(rng, int(n), bool(c)) for n, c in zip(counts, control, strict=True)]
        connection.execute(
            insert(schema.tasks),
            [
                {
                    **_task(bandit, f"user-{i:04d}", bool(control[i]), float(opened[i])),
                    "last_used": float(opened[i] + 10.0 * counts[i]),
                    "n_rewards": int(counts[i]),
                    "reward_sum": float(rewards[i].sum()),
                    "early_rewards": schema.EARLY_ROUNDS,
                    "early_sum": float(rewards[i][: schema.EARLY_ROUNDS].sum()),
                }
                for i in range(n_tasks)
            ],
        )
        query = select(schema.tasks.c.id).where(schema.tasks.c.bandit == bandit)
        ids = list(connection.execute(query.order_by(schema.tasks.c.name)).scalars())
        _sums(connection, bandit, rewards, control)
        _minutes(connection, bandit, rng)
        _priors(connection, bandit, rng)
        _jobs(connection, bandit)
        rows = [
            row
            for i, task in enumerate(ids)
            for row in _decisions(rng, bandit, task, rewards[i], float(opened[i]), i)
        ]
        connection.execute(insert(schema.decisions), rows)


def _rewards(rng: np.random.Generator, n: int, control: bool) -> Floats:
    rounds = np.arange(n)
    start = np.exp(-rounds / _COLD_ROUNDS) if control else 0.12 * np.exp(-rounds / 4.0)
    mean = 0.9 - 0.75 * start + 0.1 * rng.standard_normal()
    return np.asarray(mean + 0.4 * rng.standard_normal(n))


def _task(bandit: int, name: str, control: bool, opened: float) -> dict[str, object]:
    return {
        "bandit": bandit,
        "name": name,
        "control": control,
        "status": schema.OPEN,
        "opened": opened,
        "version": 1,
        "changed": 0,
        "counted_in": 40,
        "moves": 0,
        "side": None,
        "state": b"\x00" * 64,
    }


def _sums(connection: Connection, bandit: int, rewards: list[Floats], control: Booleans) -> None:
    for group in (0, 1):
        chosen = [r for r, c in zip(rewards, control, strict=True) if int(c) == group]
        for process in (0, 1):
            own = chosen[process::2]
            early = np.array([r[: schema.EARLY_ROUNDS].mean() for r in own])
            key = {"bandit": bandit, "control": group, "process": process}
            connection.execute(
                insert(schema.gains).values(
                    **key, tasks=len(own), sum=float(early.sum()), squares=float((early**2).sum())
                )
            )
            for number in range(1, max((len(r) for r in own), default=0) + 1):
                values = np.array([r[number - 1] for r in own if len(r) >= number])
                connection.execute(
                    insert(schema.rounds).values(
                        **key,
                        round=number,
                        n=len(values),
                        sum=float(values.sum()),
                        squares=float((values**2).sum()),
                    )
                )


def _minutes(connection: Connection, bandit: int, rng: np.random.Generator, n: int = 1500) -> None:
    last = int(NOW // 60)
    rows = []
    for minute in range(last - n, last + 1):
        passed = 1.0 if minute < last else NOW % 60 / 60
        busy = 40 + 15 * np.sin(minute / 230.0)
        for process in (0, 1):
            for control, share in ((0, 0.8), (1, 0.2)):
                decided = int(rng.poisson(busy * 30 * share * passed))
                rewarded = int(rng.binomial(decided, 0.93))
                rows.append(
                    {
                        "bandit": bandit,
                        "minute": minute,
                        "process": process,
                        "control": control,
                        "opened": int(rng.poisson(decided / 25)),
                        "decisions": decided,
                        "rewards": rewarded,
                        "reward_sum": 0.8 * rewarded,
                        "duplicates": int(rng.poisson(2.0 * share)),
                        "conflicts": int(rng.random() < 0.02),
                        "unknown": int(rng.random() < 0.01),
                        "expired": int(rng.poisson(decided * 0.02)),
                        "late": int(rng.poisson(0.4 * share)),
                        "out_of_range": 0,
                    }
                )
    connection.execute(insert(schema.minutes), rows)


def _priors(connection: Connection, bandit: int, rng: np.random.Generator, n: int = 40) -> None:
    goal = np.array([0.55, 0.42, 0.31, -0.25, 0.12, -0.48, 0.05, 0.22])
    rows = []
    for version in range(1, n + 1):
        mean = goal * (1 - np.exp(-version / 6.0)) + 0.02 * rng.standard_normal(len(goal))
        rows.append(
            {
                "bandit": bandit,
                "version": version,
                "time": NOW - 3600.0 * (n - version) / 2 - 20.0,
                "source": "refresh",
                "memory": None,
                "fits": "[]",
                "n_tasks": 3 * version,
                "effective_tasks": 3.0 * version,
                "noise_scale": 0.41,
                "mean": mean.astype("<f8").tobytes(),
                "spread": np.linspace(0.12, 0.3, len(goal)).astype("<f8").tobytes(),
            }
        )
    connection.execute(insert(schema.priors), rows)
    fit = {
        "bandit": bandit,
        "job": "f1",
        "time": NOW - 4000,
        "status": "shadow",
        "memory": b"",
        "n_tasks": 812,
        "noise_scale": 0.4,
        "mean": (goal + 0.03).astype("<f8").tobytes(),
        "spread": np.full(len(goal), 0.2).astype("<f8").tobytes(),
        "report": "{}",
    }
    connection.execute(insert(schema.fits).values(fit))


def _jobs(connection: Connection, bandit: int) -> None:
    job = {
        "bandit": bandit,
        "started": NOW - 4060,
        "ended": None,
        "heartbeat": NOW - 1,
        "request": '{"content": {}}',
        "report": None,
        "error": None,
    }
    rows = [
        {
            **job,
            "id": "f1",
            "kind": "fit",
            "request": '{"content": {"files": ["clicks.parquet"], "dry_run": false}}',
            "status": "done",
            "created": NOW - 4061,
            "ended": NOW - 4000,
            "progress": 1.0,
            "step": "fitted from 812 tasks",
            "report": '{"rows": 20311, "bad_rows": 4}',
        },
        {
            **job,
            "id": "e1",
            "kind": "evaluate",
            "status": "running",
            "created": NOW - 62,
            "started": NOW - 60,
            "progress": 0.37,
            "step": "rows 7,500 of 20,311",
        },
        {
            **job,
            "id": "e0",
            "kind": "evaluate",
            "status": "failed",
            "created": NOW - 9000,
            "ended": NOW - 8990,
            "progress": 0.1,
            "step": "reading",
            "error": "the log has no column propensity",
        },
    ]
    connection.execute(insert(schema.jobs), rows)


def _decisions(
    rng: np.random.Generator, bandit: int, task: int, rewards: Floats, opened: float, i: int
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for number, value in enumerate(rewards, start=1):
        time = opened + 10.0 * number
        features = rng.standard_normal(len(FEATURES))
        features[5] *= 30.0
        parts = np.stack([0.1 * features, 0.05 * rng.standard_normal(len(FEATURES))])
        waits = i > 100 and number == len(rewards)
        rows.append(
            {
                "bandit": bandit,
                "id": decision_id(time, i, number),
                "block": int(time),
                "task": task,
                "slate": None,
                "rank": 0,
                "observed": 0,
                "arm": ARMS[int(rng.integers(len(ARMS)))],
                "features": features.astype("<f8").tobytes(),
                "parts": parts.astype("<f4").tobytes(),
                "propensity": float(rng.uniform(0.1, 0.9)),
                "mean": float(parts.sum()),
                "half": 1.96 / np.sqrt(4.0 + number),
                "prior_version": 40,
                "time": time,
                "status": schema.PENDING if waits else schema.PAID,
                "value": None if waits else float(value),
                "weight": None if waits else 1.0,
                "paid_time": None if waits else time + 3.0,
                "round": None if waits else number,
            }
        )
    return rows


def decision_id(time: float, task: int, number: int) -> str:
    """In the order of time, as those of the service."""
    return f"{int(time * 1e6):016x}{task:010x}{number:06x}"


class StoreService:
    """The part of the service that pages use, over tables without an engine."""

    def __init__(self, database: Database, clock: Callable[[], float] = lambda: NOW) -> None:
        self.database = database
        self.clock = clock

    def task(self, bandit: str, task: str) -> TaskRecord:
        with self.database.reading() as connection:
            table = schema.tasks
            owner = select(schema.bandits.c.id).where(schema.bandits.c.name == bandit)
            row = connection.execute(
                select(table).where(table.c.bandit == owner.scalar_subquery(), table.c.name == task)
            ).one_or_none()
        if row is None:
            raise not_found(f"there is no task {task!r}")
        rng = np.random.default_rng(len(task))
        return TaskRecord(
            task=task,
            control=bool(row.control),
            status="open",
            opened=row.opened,
            last_used=row.last_used,
            n_rewards=row.n_rewards,
            reward_sum=row.reward_sum,
            feature_names=FEATURES,
            parameter=rng.normal(0.2, 0.3, len(FEATURES)).tolist(),
            prior_mean=rng.normal(0.2, 0.3, len(FEATURES)).tolist(),
            spread=rng.uniform(0.05, 0.2, len(FEATURES)).tolist(),
            noise_scale=0.4,
            side=None,
        )

    def decision(self, bandit: str, decision: str) -> DecisionRecord:
        table = schema.decisions
        with self.database.reading() as connection:
            row = connection.execute(
                select(table, schema.tasks.c.name, schema.tasks.c.control)
                .join(schema.tasks, schema.tasks.c.id == table.c.task)
                .where(table.c.id == decision)
            ).one_or_none()
        if row is None:
            raise not_found(f"there is no decision {decision!r} in bandit {bandit!r}")
        features = np.frombuffer(row.features, "<f8")
        parts = np.frombuffer(row.parts, "<f4").reshape(2, -1)
        return DecisionRecord(
            id=row.id,
            bandit=bandit,
            task=row.name,
            arm=row.arm,
            rank=row.rank,
            observed=bool(row.observed),
            time=row.time,
            propensity=row.propensity,
            mean=row.mean,
            low=row.mean - row.half,
            high=row.mean + row.half,
            prior_version=row.prior_version,
            control=bool(row.control),
            contributions=[
                Contribution(
                    feature=FEATURES[i],
                    value=float(features[i]),
                    from_prior=float(parts[0, i]),
                    from_rewards=float(parts[1, i]),
                )
                for i in range(len(FEATURES))
            ],
            status=msgspec.convert(schema.DECISION_STATUS[row.status], Status),
            value=row.value,
            weight=row.weight,
            paid_time=row.paid_time,
            round=row.round,
        )

    def erase(self, bandit: str, task: str) -> int:
        with self.database.writing() as connection:
            connection.execute(delete(schema.tasks).where(schema.tasks.c.name == task))
        return 41

    def status(self) -> dict[str, float | int | bool | None]:
        return {
            "process": 0,
            "waiting_rows": 3,
            "transactions": 20_411,
            "rows": 812_004,
            "failed_transactions": 0,
            "last_transaction_rows": 41,
            "last_transaction_seconds": 0.0031,
            "transaction_seconds": 61.2,
            "store_reachable": True,
            "last_refresh": NOW - 4.0,
        }
