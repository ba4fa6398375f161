"""What the tests of the engine share: a shop, its visitors, and a replay of its store."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from headstart.arrays import Floats
from headstart.live.stored import items_of, statistics_of
from headstart.service.engine.service import Service
from headstart.service.messages import (
    BanditConfiguration,
    DecisionAnswer,
    DecisionRequest,
    Item,
    RewardAnswer,
    RewardRequest,
    ServiceError,
)
from headstart.service.store import schema

D, K = 3, 5


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def shop(store: str, clock: Clock | None = None, **settings: Any) -> Iterator[Service]:
    """A service with a bandit and a catalogue, unless the store has them already."""
    service = Service.open(store, clock=time.time if clock is None else clock)
    with service:
        if not service.bandits():
            service.put_bandit("shop", BanditConfiguration(dimension=D, **settings))
            service.put_items("shop", items())
        yield service


def items() -> list[Item]:
    rng = np.random.default_rng(0)
    tags = [["sale"] if k % 2 else [] for k in range(K)]
    return [
        Item(id=f"item{k}", features=rng.normal(size=D).tolist(), tags=tags[k]) for k in range(K)
    ]


def decided(service: Service, *names: str, **given: Any) -> list[DecisionAnswer]:
    requests = [DecisionRequest(task=name, **given) for name in names]
    return [answer_of(each) for each in service.decide("shop", requests).result(120)]


def answer_of(answer: DecisionAnswer | ServiceError) -> DecisionAnswer:
    assert isinstance(answer, DecisionAnswer), answer
    return answer


def paid(service: Service, decisions: Sequence[str], value: float = 1.0, **given: Any) -> list[str]:
    requests = [RewardRequest(decision=each, value=value, **given) for each in decisions]
    answers = service.reward("shop", requests).result(120)
    return [each.outcome if isinstance(each, RewardAnswer) else str(each) for each in answers]


def rows_of(connection: Connection) -> dict[str, list[Any]]:
    """Everything in the store, but for what is counted of refused requests."""
    found = {}
    for table in schema.metadata.sorted_tables:
        if table.name != "minutes":
            query = select(table).order_by(*table.primary_key)
            found[table.name] = [tuple(row) for row in connection.execute(query)]
    return found


def content(service: Service) -> dict[str, list[Any]]:
    with service.database.reading() as connection:
        return rows_of(connection)


def item_sums(connection: Connection) -> dict[tuple[int, str], list[float]]:
    """What `item_days` must hold, by day and item, as a count of the decisions has it."""
    found: dict[tuple[int, str], list[float]] = {}
    table = schema.decisions
    for row in connection.execute(select(table).where(table.c.observed == 0)):
        sums = found.setdefault((int(row.time // 86_400), row.arm), [0.0] * 4)
        counts = row.round is not None
        for i, value in enumerate((1, counts, *((row.value, row.value**2) if counts else ()))):
            sums[i] += float(value)
    return found


def largest_error(service: Service) -> float:
    """How far the tasks' statistics, by item too, are from a replay of what was paid.

    And the sums by item from a count of the decisions.
    """
    worst = 0.0
    with service.database.reading() as connection:
        expected_sums, c = item_sums(connection), schema.item_days.c
        columns = [func.sum(c[name]) for name in ("shown", "rewards", "sum", "squares")]
        query = select(c.day, c.item, *columns).group_by(c.day, c.item)
        for day, item, *numbers in connection.execute(query):
            stored = [float(each) for each in numbers]
            counted = expected_sums.pop((day, item), [0.0] * 4)
            assert stored[:2] == counted[:2]
            worst = max(worst, *np.abs(np.subtract(stored, counted)))
        assert not expected_sums
    with service.database.reading() as connection:
        tasks = {row.id: row for row in connection.execute(select(schema.tasks))}
        table = schema.decisions
        query = (
            select(table).where(table.c.round.is_not(None)).order_by(table.c.task, table.c.round)
        )
        sums: dict[int, Floats] = {task: np.zeros((D + 2, D + 2)) for task in tasks}
        by_item: dict[int, dict[str, Floats]] = {task: {} for task in tasks}
        rounds: dict[int, int] = dict.fromkeys(tasks, 0)
        for row in connection.execute(query):
            rounds[row.task] += 1
            assert row.round == rounds[row.task]
            x = np.frombuffer(row.features, dtype="<f8")
            z = np.concatenate([x, [row.value, 1.0]])
            sums[row.task] += row.weight * np.outer(z, z)
            if row.effect is not None:
                of_item = by_item[row.task].setdefault(row.arm, np.zeros(D + 2))
                of_item += row.weight * np.concatenate([[1.0, row.value], x])
    for number, row in tasks.items():
        task, total = statistics_of(row.state, D), sums[number]
        assert row.n_rewards == rounds[number]
        pairs = [
            (task.gram, total[:D, :D]),
            (task.moment, total[:D, D]),
            (task.sum_of_squares, total[D, D]),
            (task.count, total[D + 1, D + 1]),
        ]
        rows = items_of(task)
        assert set(rows) == set(by_item[number])
        pairs += [(rows[item], expected) for item, expected in by_item[number].items()]
        for found, expected in pairs:
            worst = max(worst, float(np.abs(found - expected).max()))
    return worst
