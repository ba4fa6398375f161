"""Rewards count exactly once, whoever sends them, and the sums say so."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sqlalchemy import func, select
from tests.service.engine.setting import Clock, D, content, decided, largest_error, paid, shop

from headstart.service.engine.requests.sums import compact
from headstart.service.engine.service import Service
from headstart.service.engine.transaction import Transaction
from headstart.service.messages import (
    ObservationAnswer,
    ObservationRequest,
    RewardRequest,
    ServiceError,
)
from headstart.service.store import schema
from headstart.service.store.blocks import Blocks


def test_every_reward_has_one_outcome(store: str) -> None:
    with shop(store, reward_range=(0.0, 5.0)) as service:
        one, two = (each.id for each in decided(service, "ann", "bob"))
        assert paid(service, [one], 9.0) == ["out_of_range"]
        assert paid(service, [one, one, "none"], 1.0) == ["paid", "duplicate", "unknown"]
        assert paid(service, [one], 2.0) == ["conflict"]
        assert paid(service, [two], 5.0, weight=2.5) == ["paid"]
        assert largest_error(service) < 1e-12
        view = service.records.bandit("shop")
        assert (view.tasks, view.decisions, view.rewards) == (2, 2, 2)


def test_a_wrong_row_sinks_no_other(store: str) -> None:
    with shop(store) as service:
        one, two = (each.id for each in decided(service, "ann", "bob"))
        before = content(service)
        wrong = [(math.inf, 1.0), (1e60, 1.0), (1.0, 0.0), (1.0, -1.0), (1.0, math.nan)]
        requests = [RewardRequest(decision=one, value=v, weight=w) for v, w in wrong]
        answers = service.reward("shop", requests).result(30)
        assert all(isinstance(each, ServiceError) for each in answers)
        assert content(service) == before
        requests.append(RewardRequest(decision=two, value=1.0))
        assert not isinstance(service.reward("shop", requests).result(30)[-1], ServiceError)
        assert service.records.bandit("shop").rewards == 1


def test_decisions_expire_with_the_default_reward(store: str) -> None:
    clock = Clock()
    with shop(store, clock, deadline_seconds=60.0, default_reward=0.5) as service:
        early, late, timely = (each.id for each in decided(service, "ann", "bob", "eve"))
        assert paid(service, [early]) == ["paid"]
        clock.now += 61.0
        assert paid(service, [timely], time=clock.now - 30.0) == ["paid"]
        assert paid(service, [late]) == ["expired"]
        for _ in range(100):
            record = service.records.decision("shop", late)
            if record.status == "expired":
                break
            threading.Event().wait(0.05)
        assert (record.status, record.value, record.round) == ("expired", 0.5, 1)
        assert paid(service, [late]) == ["expired"]
        assert largest_error(service) < 1e-12


def test_observations_teach_once_per_key(store: str) -> None:
    with shop(store) as service:
        request = ObservationRequest(task="ann", arm="item1", value=1.0, idempotency_key="k")
        first, second = service.observe("shop", [request, request]).result(30)
        assert isinstance(first, ObservationAnswer)
        assert first == second
        wrong = [
            ObservationRequest(task="new", value=1.0),
            ObservationRequest(task="new", value=1.0, arm="none"),
            ObservationRequest(task="new", value=1.0, features=[1.0]),
        ]
        assert all(
            isinstance(each, ServiceError) for each in service.observe("shop", wrong).result(30)
        )
        assert service.records.bandit("shop").tasks == 1
        assert service.records.decision("shop", first.id).observed
        assert largest_error(service) < 1e-12


def test_two_processes_pay_each_reward_once(postgresql: str) -> None:
    with shop(postgresql) as one, shop(postgresql) as two, ThreadPoolExecutor(8) as pool:
        names = [f"user{i % 20}" for i in range(60)]
        ids = [
            answer.id
            for start in range(0, 60, 10)
            for answer in decided((one, two)[start % 20 // 10], *names[start : start + 10])
        ]
        calls = [(service, [each]) for each in ids for service in (one, two)]
        outcomes = [found for (found,) in pool.map(lambda call: paid(*call), calls)]
        assert sorted(outcomes) == ["duplicate"] * 60 + ["paid"] * 60
        assert largest_error(one) < 1e-12
        assert one.records.bandit("shop").rewards == 60
        assert two.records.task("shop", "user3").n_rewards == 3


def test_any_process_serves_any_task(postgresql: str) -> None:
    with shop(postgresql) as one, shop(postgresql) as two:
        for service, other in ((one, two), (two, one)) * 4:
            (answer,) = decided(service, "ann")
            assert paid(other, [answer.id]) == ["paid"]
        assert one.records.task("shop", "ann") == two.records.task("shop", "ann")
        assert largest_error(two) < 1e-12
        (first,), (second,) = (
            decided(one, "ann", arms=["item1"]),
            decided(two, "ann", arms=["item1"]),
        )
        assert first.arms[0].mean == second.arms[0].mean


def test_the_sums_are_those_of_the_decisions(store: str) -> None:
    rng = np.random.default_rng(1)
    with shop(store, control_share=0.5) as service:
        for _ in range(25):
            answers = decided(service, *(f"u{i}" for i in range(12)))
            for answer in answers:
                paid(service, [answer.id], float(rng.normal()))
        with service.database.reading() as connection:
            table, tasks = schema.decisions, schema.tasks
            joined = select(tasks.c.id, tasks.c.control, table.c.round, table.c.value).join_from(
                table, tasks, tasks.c.id == table.c.task
            )
            rows = connection.execute(joined).all()
            for control in (False, True):
                own = [row for row in rows if bool(row.control) == control]
                for number in (1, 7, 25):
                    values = [row.value for row in own if row.round == number]
                    found = _sums(connection, schema.rounds, control, round=number)
                    expected = [len(values), sum(values), sum(v * v for v in values)]
                    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
                means = [
                    np.mean([row.value for row in own if row.id == task and row.round <= 20])
                    for task in {row.id for row in own}
                ]
                found = _sums(connection, schema.gains, control)
                expected = [len(means), np.sum(means), np.sum(np.square(means))]
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def _sums(connection: object, table: object, control: bool, **keys: int) -> list[float]:
    columns = [column for column in table.c if not column.primary_key]  # type: ignore[attr-defined]
    query = select(*(func.sum(column) for column in columns))
    query = query.where(table.c.control == int(control))  # type: ignore[attr-defined]
    for name, value in keys.items():
        query = query.where(table.c[name] == value)  # type: ignore[attr-defined]
    return [float(each or 0) for each in connection.execute(query).one()]  # type: ignore[attr-defined]


def test_features_of_another_size_never_enter(store: str) -> None:
    with shop(store) as service:
        (answer,) = service.observe(
            "shop", [ObservationRequest(task="a", value=1.0, features=[1e30] * D)]
        ).result(30)
        assert isinstance(answer, ServiceError)
        assert service.records.bandit("shop").tasks == 0


def test_minutes_past_a_week_become_hours(store: str) -> None:
    clock = Clock()
    with shop(store, clock) as service:
        for _ in range(90):
            (answer,) = decided(service, "ann")
            paid(service, [answer.id])
            clock.now += 60.0
        before = counts(service)
        clock.now += 8 * 86_400.0
        with service.database.writing() as connection:
            compact(Transaction(connection, 0, clock.now, Blocks()), limit=1_000)
        with service.database.reading() as connection:
            minutes = [row.minute for row in connection.execute(select(schema.minutes.c.minute))]
        assert len(minutes) <= 3
        assert all(minute % 60 == 0 for minute in minutes)
        assert counts(service) == before == (1, 90, 90)


def counts(service: Service) -> tuple[int, int, int]:
    """What the sums per minute hold; the prior's version goes on by itself."""
    view = service.records.bandit("shop")
    return view.tasks, view.decisions, view.rewards
