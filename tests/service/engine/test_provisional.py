"""What waits counts in the service: stored with its decision, replaced by its reward."""

import threading
from typing import Any

import numpy as np
import pytest
from sqlalchemy import func, select
from tests.service.engine.setting import Clock, D, decided, largest_error, paid, shop

from headstart.live.stored import statistics_of
from headstart.service.engine import maintenance
from headstart.service.engine.service import Service
from headstart.service.messages import ObservationAnswer, ObservationRequest
from headstart.service.store import schema

pytestmark = pytest.mark.slow

HOUR = {"deadline_seconds": 3_600.0}


def test_a_decision_counts_as_its_default_until_it_is_paid(store: str) -> None:
    with shop(store, deadline_seconds=60.0, default_reward=0.5) as service:
        one, two = (each.id for each in decided(service, "ann", "ann"))
        record = service.task("shop", "ann")
        assert (record.n_rewards, record.reward_sum) == (2, 1.0)
        waits = service.decision("shop", one)
        assert (waits.status, waits.value, waits.round) == ("pending", None, 1)
        assert service.bandit("shop").rewards == 0  # none has come
        assert largest_error(service) < 1e-12
        assert paid(service, [one], 3.0, weight=2.0) == ["paid"]
        assert paid(service, [two], 1.0, weight=0.25) == ["paid"]
        record = service.task("shop", "ann")
        assert (record.n_rewards, record.reward_sum) == (2, 4.0)
        assert service.bandit("shop").rewards == 2
        assert largest_error(service) < 1e-12


def test_a_default_may_be_corrected_within_the_deadline(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "_PAUSE_SECONDS", 3_600.0)
    clock = Clock()
    with shop(store, clock, deadline_seconds=60.0, default_reward=0.0) as service:
        (early,) = (each.id for each in decided(service, "ann"))
        assert paid(service, [early, early], 0.0) == ["paid", "duplicate"]
        assert paid(service, [early, early], 1.0) == ["paid", "duplicate"]
        assert paid(service, [early], 0.0) == ["conflict"]
        assert service.bandit("shop").rewards == 1
        assert service.task("shop", "ann").reward_sum == 1.0
        (late,) = (each.id for each in decided(service, "bob"))
        assert paid(service, [late], 0.0) == ["paid"]
        made = clock.now
        clock.now += 61.0
        assert paid(service, [late], 1.0) == ["conflict"]
        assert paid(service, [late], 1.0, time=made + 30.0) == ["paid"]
        observed = ObservationRequest(task="eve", arm="item1", value=0.0)
        (answer,) = service.observe("shop", [observed]).result(120)
        assert isinstance(answer, ObservationAnswer)
        assert paid(service, [answer.id], 1.0) == ["conflict"]  # no decision of this bandit
        assert largest_error(service) < 1e-12


@pytest.mark.parametrize("default", [None, 0.5])
def test_a_reward_that_happened_in_time_counts_after_its_decision_has_expired(
    store: str, default: float | None
) -> None:
    clock = Clock()
    with shop(store, clock, deadline_seconds=60.0, default_reward=default) as service:
        timely, late = (each.id for each in decided(service, "ann", "bob"))
        clock.now += 61.0
        for _ in range(200):
            if service.decision("shop", timely).status == "expired":
                break
            threading.Event().wait(0.05)
        assert service.decision("shop", timely).value == default
        before = service.task("shop", "ann").n_rewards
        assert before == (0 if default is None else 1)
        assert paid(service, [late]) == ["expired"]
        assert paid(service, [timely], 2.0, time=clock.now - 30.0) == ["paid"]
        assert service.task("shop", "ann").n_rewards == 1
        assert service.task("shop", "ann").reward_sum == 2.0
        assert paid(service, [timely], 1.0, time=clock.now - 30.0) == ["conflict"]
        assert largest_error(service) < 1e-12


def test_after_a_restart_a_decision_still_counts_as_its_default(store: str) -> None:
    settings: dict[str, Any] = {
        "deadline_seconds": 3_600.0,
        "default_reward": 0.0,
        "control_share": 0.5,
    }
    with shop(store, **settings) as service:
        ids = [each.id for each in decided(service, *(f"u{i % 4}" for i in range(12)))]
        paid(service, ids[:3], 1.0)
        service.refresh("shop")
    with shop(store) as service:
        assert largest_error(service) < 1e-12
        assert paid(service, ids[2:5], 1.0) == ["duplicate", "paid", "paid"]
        service.refresh("shop")
        assert largest_error(service) < 1e-12
        assert sum(service.task("shop", f"u{i}").reward_sum for i in range(4)) == 5.0
        assert service.prior("shop").n_tasks == 4


def test_a_prior_that_was_refreshed_counts_every_task_once(store: str) -> None:
    """Its sums are those of the decisions, whatever was paid between refreshes."""
    rng = np.random.default_rng(0)
    settings: dict[str, Any] = {**HOUR, "default_reward": 0.0, "scales": None}
    with shop(store, **settings) as service:
        waits: list[str] = []
        for _ in range(6):
            waits += [each.id for each in decided(service, *(f"u{i}" for i in range(8)))]
            service.refresh("shop")
            for _ in range(5):
                paid(service, [waits.pop(int(rng.integers(len(waits))))], float(rng.normal()))
            service.refresh("shop")
        assert service.prior("shop").n_tasks == 8
        with service.database.reading() as connection:
            table = schema.contributions
            contents = connection.execute(select(table.c.task, table.c.content)).all()
            states = dict(connection.execute(select(schema.tasks.c.id, schema.tasks.c.state)).all())
        for task, content in contents:
            numbers, found = np.frombuffer(content, count=3 + D), statistics_of(states[task], D)
            np.testing.assert_allclose(numbers[1:3], [found.count, found.sum_of_squares])
            np.testing.assert_allclose(numbers[3 : 3 + D], found.moment)
        assert largest_error(service) < 1e-12


@pytest.mark.parametrize("default", [None, 0.0])
def test_the_sums_are_those_of_the_decisions(store: str, default: float | None) -> None:
    """With a default also of those that wait, so that early clicks alone are no rate of 1."""
    rng = np.random.default_rng(1)
    settings: dict[str, Any] = {**HOUR, "default_reward": default, "control_share": 0.5}
    with shop(store, **settings) as service:
        decided(service, "before")  # opened without a prior: it is not compared
        service.refresh("shop")
        waits: list[str] = []
        for _ in range(24):
            waits += [each.id for each in decided(service, *(f"u{i}" for i in range(10)))]
            for _ in range(3):
                value = float(rng.normal()) if default is None else 1.0
                paid(service, [waits.pop(int(rng.integers(len(waits))))], value)
            paid(service, [waits[0]], 0.0)
        check_sums(service)
        if default is not None:
            with service.database.reading() as connection:
                rate = select(func.sum(schema.rounds.c.sum) / func.sum(schema.rounds.c.n))
                assert connection.execute(rate).scalar_one() == pytest.approx(72 / 240)


def check_sums(service: Service) -> None:
    """The sums of rounds and of tasks, by group, are those of the decisions."""
    with service.database.reading() as connection:
        table, tasks = schema.decisions, schema.tasks
        joined = select(tasks.c.id, tasks.c.control, table.c.round, table.c.value).join_from(
            table, tasks, tasks.c.id == table.c.task
        )
        rows = connection.execute(joined.where(tasks.c.name != "before")).all()
        for control in (False, True):
            own = [row for row in rows if row.round and bool(row.control) == control]
            for number in (1, 7, 24):
                values = [row.value for row in own if row.round == number]
                c = schema.rounds.c
                query = select(func.sum(c.n), func.sum(c.sum), func.sum(c.squares))
                query = query.where(c.control == int(control), c.round == number)
                found = [float(each or 0) for each in connection.execute(query).one()]
                expected = [len(values), sum(values), sum(v * v for v in values)]
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
            means = [
                np.mean([row.value for row in own if row.id == task and row.round <= 20])
                for task in {row.id for row in own}
            ]
            columns = [func.sum(each) for each in schema.gains.c if not each.primary_key]
            sums = select(*columns).where(schema.gains.c.control == int(control))
            n = len(means)
            expected = [n, float(np.sum(means)), float(np.sum(np.square(means))), n * np.log(0.5)]
            found = [float(each or 0) for each in connection.execute(sums).one()]
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_two_processes_count_each_decision_once(postgresql: str) -> None:
    settings: dict[str, Any] = {**HOUR, "default_reward": 0.25}
    with shop(postgresql, **settings) as one, shop(postgresql) as two:
        waits: list[str] = []
        for t in range(10):
            service, other = ((one, two), (two, one))[t % 2]
            waits += [each.id for each in decided(service, "ann", "bob", "cid")]
            assert paid(other, [waits.pop(0)], float(t)) == ["paid"]
        assert largest_error(one) < 1e-12
        assert one.task("shop", "ann") == two.task("shop", "ann")
        assert sum(one.task("shop", name).n_rewards for name in ("ann", "bob", "cid")) == 30
