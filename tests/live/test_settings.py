"""Settings are one list; the rules that live use and the service share."""

import dataclasses
import inspect
from typing import Any

import pytest

import headstart as hs
from headstart.live import Outcome, Settings
from headstart.live.outcomes import DecisionState, outcome_of
from headstart.live.settings import Change, names
from headstart.live.stored import Pace


def test_what_a_bandit_takes_are_the_settings() -> None:
    taken = [*inspect.signature(hs.MetaBandit).parameters]
    assert names() == tuple(taken[taken.index("clock") + 1 :])
    assert {*names()} | {"clock", "refresh_by_seed"} == {
        field.name for field in dataclasses.fields(Settings)
    }


def test_what_was_learned_with_a_setting_keeps_it() -> None:
    assert {*names()} - {*names(Change.ON_LOAD)} == {"discount", "scales"}
    assert {*names(Change.ON_LOAD)} - {*names(Change.ALWAYS)} == {"half_life_seconds"}
    assert {*names()} - {*names(stored=True)} == {
        "idle_seconds",
        "refresh",
    }


@pytest.mark.parametrize(
    ("state", "paid", "value", "in_time", "outcome"),
    [
        (None, None, 1.0, True, Outcome.UNKNOWN),
        (DecisionState.EXPIRED, None, 1.0, False, Outcome.EXPIRED),
        (DecisionState.EXPIRED, None, 1.0, True, Outcome.PAID),
        (DecisionState.PAID, 1.0, 1.0, False, Outcome.DUPLICATE),
        (DecisionState.PAID, 1.0, 0.5, True, Outcome.CONFLICT),
        (DecisionState.PAID, 0.0, 0.0, True, Outcome.DUPLICATE),
        (DecisionState.PAID, 0.0, 0.5, True, Outcome.PAID),
        (DecisionState.PAID, 0.0, 0.5, False, Outcome.CONFLICT),
        (DecisionState.PAID, 0.0, 3.0, True, Outcome.OUT_OF_RANGE),
        (DecisionState.PENDING, None, 1.0, True, Outcome.PAID),
        (DecisionState.PENDING, None, 1.0, False, Outcome.EXPIRED),
        (DecisionState.PENDING, None, 3.0, True, Outcome.OUT_OF_RANGE),
        (DecisionState.PENDING, None, 3.0, False, Outcome.EXPIRED),
    ],
)
def test_a_reward_has_one_outcome(
    state: int | None, paid: float | None, value: float, in_time: bool, outcome: Outcome
) -> None:
    settings = Settings(deadline_seconds=10.0, reward_range=(0.0, 2.0), default_reward=0.0)
    given: dict[str, Any] = {"paid": paid, "is_default": paid == 0.0, "in_time": in_time}
    assert outcome_of(state, value, settings, **given) is outcome


def test_a_deadline_has_passed_from_its_second_on() -> None:
    settings = Settings(deadline_seconds=10.0)
    assert not settings.has_expired(0.5, 10.0)
    assert settings.has_expired(0.5, 10.5)
    assert not Settings().has_expired(0.5, 1e9)


def test_refreshes_take_a_share_of_the_time() -> None:
    pace = Pace(share=0.25, most=5.0, seconds_per_byte=1e-6, seconds_per_root=0.1)
    assert pace.rest(1.0) == 3.0
    assert pace.rest(10.0) == 5.0
    assert pace.rest(1.0, n_bytes=4_000_000) == 4.0
    assert pace.rest(1.0, n_tasks=10_000) == 10.0
    assert pace.rest(1.0, n_tasks=10**9) == 30.0
    assert pace.rest(0.0) == pace.least
