"""Sums by item: what the store adds up as it goes equals a count of the decisions."""

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest
from sqlalchemy import func, select
from tests.service.engine.setting import Clock, decided, largest_error, paid, shop
from tests.waiting import until

from headstart.intervals import Moments, rate
from headstart.service.engine import maintenance, retention
from headstart.service.engine.service import Service
from headstart.service.messages import ObservationRequest, ServiceError
from headstart.service.store import schema, sums

DAY = 86_400.0


def shown(service: Service, **days: Any) -> dict[str, int]:
    return {one.item: one.shown for one in service.item_report("shop", **days).items if one.shown}


@pytest.mark.parametrize("default", [None, 0.25])
def test_sums_equal_a_count_of_the_decisions(
    store: str, default: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After rewards, corrections of defaults, expiry, given arms, observations and an erasure."""
    monkeypatch.setattr(maintenance, "_PAUSE_SECONDS", 0.02)
    clock, rng = Clock(), np.random.default_rng(0)
    with shop(store, clock, deadline_seconds=2 * DAY, default_reward=default) as service:
        ids: list[str] = []
        for _ in range(4):
            answers = decided(service, *(f"u{i}" for i in range(6)))
            answers += decided(service, "u1", n=3)
            answers += decided(service, "u2", arms={"given": [1.0, 0.0, 0.0]})
            ids += [arm.id for answer in answers for arm in answer.arms]
            for decision in rng.choice(ids, 6).tolist():
                paid(service, [decision], float(rng.integers(0, 2)))
            observed = ObservationRequest(task="u3", arm="item1", value=1.0)
            service.observe("shop", [observed]).result(120)
            clock.now += 0.7 * DAY
        first = ids[:10]  # those of the first day expire
        until(lambda: all(service.decision("shop", each).status != "pending" for each in first))
        assert largest_error(service) < 1e-9
        before = sum(shown(service).values())
        assert before == len(ids)
        service.erase("shop", "u1")
        assert largest_error(service) < 1e-9
        assert sum(shown(service).values()) == before - 4 * 4
        assert "given" in shown(service)


def test_rewards_belong_to_the_day_of_their_decision(store: str) -> None:
    clock = Clock()
    first = datetime.fromtimestamp(clock.now, UTC).date()
    with shop(store, clock) as service:
        (answer,) = decided(service, "ann")
        clock.now += 3 * DAY
        decided(service, "bob", "eve")
        paid(service, [answer.id], 2.0)
        report = service.item_report("shop", since=first, until=first)
        (one,) = (each for each in report.items if each.shown)
        assert (one.item, one.share, one.rewards, one.reward_sum) == (
            answer.arms[0].arm,
            1.0,
            1,
            2.0,
        )
        assert (report.since, report.until, report.decisions) == (first, first, 1)
        assert len(report.items) == 5  # the whole catalogue
        week = service.item_report("shop")
        assert (week.until - week.since).days == 6
        assert week.decisions == 3
        with pytest.raises(ServiceError, match="since must be no later than until"):
            service.item_report("shop", since=date(2023, 11, 16), until=date(2023, 11, 15))


def test_the_top_item_is_that_of_today_and_yesterday(store: str) -> None:
    clock = Clock()
    with shop(store, clock) as service:
        decided(service, *(f"u{i}" for i in range(30)), arms=["item4"])
        clock.now += 2 * DAY
        decided(service, "ann", "bob", "eve", arms=["item2"])
        decided(service, "joe", arms=["item3"])
        with service.database.reading() as connection:
            assert sums.top_share(connection, 1, clock.now) == 0.75
            assert sums.top_share(connection, 1, clock.now + 2 * DAY) is None


def test_days_long_past_are_deleted(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "ROWS", 2)
    clock = Clock()
    with shop(store, clock) as service:
        for item in range(5):
            decided(service, "ann", arms=[f"item{item}"])
        clock.now += (retention.ITEM_DAYS + 1) * DAY
        decided(service, "ann", arms=["item1"])
        while service._do(lambda t: retention.delete_days(t, 1)):
            pass
        with service.database.reading() as connection:
            n = connection.execute(select(func.count()).select_from(schema.item_days)).scalar_one()
        assert n == 1
        assert shown(service) == {"item1": 1}


@pytest.mark.parametrize(
    ("values", "low", "high"),
    # By hand from Wilson's formula with z = 1.959964.
    [([0.0] * 10, 0.0, 0.277533), ([1.0] * 3 + [0.0] * 7, 0.107789, 0.603222)],
)
def test_a_rate_of_clicks_has_wilson_s_interval(
    values: list[float], low: float, high: float
) -> None:
    moments = Moments(n=len(values), total=sum(values), squares=sum(v * v for v in values))
    found = rate(moments)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-5)
    numbers = Moments(n=3, total=6.0, squares=14.0)
    assert rate(numbers) == numbers.interval
