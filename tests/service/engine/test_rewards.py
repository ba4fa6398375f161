"""Rewards count exactly once, whoever sends them, and the sums say so."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select
from tests.service.engine.setting import Clock, D, content, decided, largest_error, paid, shop

from headstart.service.engine import maintenance
from headstart.service.engine.counters import compact
from headstart.service.engine.service import Service
from headstart.service.messages import (
    BanditConfiguration,
    ObservationAnswer,
    ObservationRequest,
    RewardRequest,
    ServiceError,
)
from headstart.service.store import schema

pytestmark = pytest.mark.slow


def test_every_reward_has_one_outcome(store: str) -> None:
    with shop(store, reward_range=(0.0, 5.0)) as service:
        one, two = (each.id for each in decided(service, "ann", "bob"))
        assert paid(service, [one], 9.0) == ["out_of_range"]
        assert paid(service, [one, one, "none"], 1.0) == ["paid", "duplicate", "unknown"]
        assert paid(service, [one], 2.0) == ["conflict"]
        assert paid(service, [two], 5.0, weight=2.5) == ["paid"]
        assert largest_error(service) < 1e-12
        view = service.bandit("shop")
        assert (view.tasks, view.decisions, view.rewards) == (2, 2, 2)


def test_a_wrong_row_sinks_no_other(store: str) -> None:
    with shop(store) as service:
        one, two = (each.id for each in decided(service, "ann", "bob"))
        before = content(service)
        wrong = [(math.inf, 1.0), (math.nan, 1.0), (1.0, 0.0), (1.0, -1.0), (1.0, math.nan)]
        requests = [RewardRequest(decision=one, value=v, weight=w) for v, w in wrong]
        answers = service.reward("shop", requests).result(120)
        assert all(isinstance(each, ServiceError) for each in answers)
        assert content(service) == before
        requests.append(RewardRequest(decision=two, value=1.0))
        assert not isinstance(service.reward("shop", requests).result(120)[-1], ServiceError)
        assert service.bandit("shop").rewards == 1


def test_decisions_expire_with_the_default_reward(store: str) -> None:
    clock = Clock()
    with shop(store, clock, deadline_seconds=60.0, default_reward=0.5) as service:
        early, late = (each.id for each in decided(service, "ann", "bob"))
        assert paid(service, [early]) == ["paid"]
        clock.now += 61.0
        assert paid(service, [late]) == ["expired"]
        for _ in range(100):
            record = service.decision("shop", late)
            if record.status == "expired":
                break
            threading.Event().wait(0.05)
        assert (record.status, record.value, record.round) == ("expired", 0.5, 1)
        assert paid(service, [late]) == ["expired"]
        assert largest_error(service) < 1e-12


def test_a_reward_that_happened_in_time_counts_until_its_decision_has_expired(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "_PAUSE_SECONDS", 3_600.0)  # so that none expires meanwhile
    clock = Clock()
    with shop(store, clock, deadline_seconds=60.0) as service:
        late, timely = (each.id for each in decided(service, "bob", "eve"))
        clock.now += 61.0
        assert paid(service, [timely], time=clock.now - 30.0) == ["paid"]
        assert paid(service, [late]) == ["expired"]


def test_observations_teach_once_per_key(store: str) -> None:
    with shop(store) as service:
        request = ObservationRequest(task="ann", arm="item1", value=1.0, idempotency_key="k")
        first, second = service.observe("shop", [request, request]).result(120)
        assert isinstance(first, ObservationAnswer)
        assert first == second
        wrong = [
            ObservationRequest(task="new", value=1.0),
            ObservationRequest(task="new", value=1.0, arm="none"),
            ObservationRequest(task="new", value=1.0, features=[1.0]),
        ]
        assert all(
            isinstance(each, ServiceError) for each in service.observe("shop", wrong).result(120)
        )
        assert service.bandit("shop").tasks == 1
        assert service.decision("shop", first.id).observed
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
        assert one.bandit("shop").rewards == 60
        assert two.task("shop", "user3").n_rewards == 3


def test_any_process_serves_any_task(postgresql: str) -> None:
    with shop(postgresql) as one, shop(postgresql) as two:
        for service, other in ((one, two), (two, one)) * 4:
            (answer,) = decided(service, "ann")
            assert paid(other, [answer.id]) == ["paid"]
        assert one.task("shop", "ann") == two.task("shop", "ann")
        assert largest_error(two) < 1e-12
        (first,), (second,) = (
            decided(one, "ann", arms=["item1"]),
            decided(two, "ann", arms=["item1"]),
        )
        assert first.arms[0].mean == second.arms[0].mean


def test_features_of_another_size_never_enter(store: str) -> None:
    with shop(store) as service:
        (answer,) = service.observe(
            "shop", [ObservationRequest(task="a", value=1.0, features=[1e30] * D)]
        ).result(120)
        assert isinstance(answer, ServiceError)
        assert service.bandit("shop").tasks == 0


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
            compact(connection, clock.now, limit=1_000)
        with service.database.reading() as connection:
            minutes = [row.minute for row in connection.execute(select(schema.minutes.c.minute))]
        assert len(minutes) <= 3
        assert all(minute % 60 == 0 for minute in minutes)
        assert counts(service) == before == (1, 90, 90)


def counts(service: Service) -> tuple[int, int, int]:
    """What the sums per minute hold; the prior's version goes on by itself."""
    view = service.bandit("shop")
    return view.tasks, view.decisions, view.rewards


def test_without_a_range_a_reward_beyond_1e9_spoils_no_sum(store: str) -> None:
    with shop(store, control_share=0.5) as service:
        service.refresh("shop")
        one, two = (each.id for each in decided(service, "ann", "bob"))
        assert paid(service, [one], 1e300) == ["out_of_range"]
        assert paid(service, [one], -1.1e9) == ["out_of_range"]
        assert paid(service, [one, two], 1.0) == ["paid", "paid"]
        answer = service.observe(
            "shop", [ObservationRequest(task="eve", arm="item1", value=1e300)]
        ).result(120)[0]
        assert isinstance(answer, ObservationAnswer)
        assert answer.outcome == "out_of_range"
        with service.database.reading() as connection:
            minutes, rounds, gains = schema.minutes.c, schema.rounds.c, schema.gains.c
            for column in (minutes.rewards, rounds.sum, rounds.squares, gains.squares):
                assert connection.execute(select(func.sum(column))).scalar_one() == 2.0
            assert connection.execute(select(func.sum(minutes.out_of_range))).scalar_one() == 3
    with shop(f"{store}-wide" if "://" not in store else store) as service:
        with pytest.raises(ServiceError, match="default_reward must be within reward_range"):
            service.put_bandit(
                "other",
                BanditConfiguration(dimension=D, deadline_seconds=1.0, default_reward=1e49),
            )
        wide = BanditConfiguration(dimension=D, reward_range=(0.0, 1e12))
        service.put_bandit("shop", wide)
        (three,) = (each.id for each in decided(service, "zoe"))
        assert paid(service, [three], 1e12) == ["paid"]


def test_a_wrong_clock_of_a_client_moves_no_reward_out_of_its_time(store: str) -> None:
    clock = Clock()
    with shop(store, clock, deadline_seconds=60.0) as service:
        slow, fast = (each.id for each in decided(service, "ann", "bob"))
        made = clock.now
        clock.now += 10.0
        assert paid(service, [slow], time=0.0) == ["paid"]
        assert paid(service, [fast], time=1e11) == ["paid"]  # not expired: it came in time
        assert service.decision("shop", slow).paid_time == made
        assert service.decision("shop", fast).paid_time == clock.now
        observed = ObservationRequest(task="eve", arm="item1", value=1.0, time=1e11)
        (answer,) = service.observe("shop", [observed]).result(120)
        assert isinstance(answer, ObservationAnswer)
        assert service.decision("shop", answer.id).paid_time == clock.now


def test_a_key_of_a_decision_is_not_one_of_an_observation(store: str) -> None:
    with shop(store) as service:
        decided(service, "ann", idempotency_key="k")
        request = ObservationRequest(task="ann", arm="item1", value=1.0, idempotency_key="k")
        other = ObservationRequest(task="bob", arm="item1", value=1.0)
        refused, learned = service.observe("shop", [request, other]).result(120)
        assert isinstance(refused, ServiceError)
        assert refused.problem.status == 409
        assert "idempotency_key 'k' was used for another request" in str(refused)
        assert isinstance(learned, ObservationAnswer)
