"""The caller's own choice: what control tasks are served, and shadow mode."""

import random
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.service.engine.setting import Clock, D, K, answer_of, decided, items, paid, shop

from headstart.service.engine.service import Service
from headstart.service.messages import (
    LEAST_PROPENSITY,
    BanditConfiguration,
    DecisionRequest,
    Guardrail,
    ServiceError,
)
from headstart.service.store.tasks import TaskEntry

ARMS = [f"item{k}" for k in range(K)]


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return str(tmp_path / "store.sqlite")


def refused(service: Service, **given: object) -> str:
    request = DecisionRequest(task="ann", **given)  # type: ignore[arg-type]
    (answer,) = service.decide("shop", [request]).result(60)
    assert isinstance(answer, ServiceError)
    assert answer.problem.status == 422
    return str(answer)


def change(service: Service, **settings: object) -> None:
    configuration = BanditConfiguration(dimension=D, **settings)  # type: ignore[arg-type]
    service.put_bandit("shop", configuration)


def everyone_control(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.0)


@pytest.mark.parametrize("told", [None, 0.25])
def test_in_shadow_mode_the_own_choice_is_served_and_learned(
    store: str, told: float | None
) -> None:
    with shop(store, shadow=True, control_share=0.5) as service:
        (one,) = decided(service, "ann", own="item3", own_propensity=told)
        assert (one.arms[0].arm, one.arms[0].propensity, one.control) == ("item3", told, False)
        assert one.shadow is not None
        assert one.shadow.arm in ARMS
        assert 0.0 < one.shadow.propensity <= 1.0
        assert paid(service, [one.id], 2.0) == ["paid"]
        record = service.decision("shop", one.id)
        assert record.shadow == one.shadow
        assert [part.value for part in record.contributions] == items()[3].features
        assert service.task("shop", "ann").reward_sum == 2.0
        view = service.shadow("shop")
        assert (view.on, view.decisions, view.agreed) == (True, 1, int(one.shadow.arm == "item3"))


def test_what_own_must_be(sqlite: str) -> None:
    with shop(sqlite, shadow=True) as service:
        assert "in shadow mode" in refused(service)
        assert "'tea'" in refused(service, own="tea")
        assert "'item1'" in refused(service, own="item1", exclude=["item1"])
        assert "'item2'" in refused(service, own="item2", tag="sale")
        assert "n must be 1" in refused(service, own="item2", n=2)
        change(service, control="own")
        assert "control" in refused(service)
        change(service)
        assert "alone" in refused(service, own_propensity=0.5)
        (answer,) = decided(service, "ann", own="item2", n=2)  # not served, and of no consequence
        assert len(answer.arms) == 2
        assert answer.shadow is None
        assert service.bandit("shop").tasks == 1


def test_the_least_propensity_leaves_numbers_that_can_be_divided_by() -> None:
    for wrong in (LEAST_PROPENSITY / 2, 0.0, 5e-324, 1.5):
        with pytest.raises(msgspec.ValidationError, match="own_propensity"):
            msgspec.convert({"task": "a", "own": "b", "own_propensity": wrong}, DecisionRequest)


def test_control_tasks_are_served_the_own_choice(
    sqlite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(sqlite, control="own", control_share=0.5) as service:
        answers = decided(service, *(f"user{i}" for i in range(40)), own="item0")
        control = [each for each in answers if each.control]
        assert {each.arms[0].arm for each in control} == {"item0"}
        assert {each.arms[0].propensity for each in control} == {None}
        assert {each.arms[0].arm for each in answers if not each.control} != {"item0"}
        everyone_control(monkeypatch)
        (told,) = decided(service, "eve", own="item0", own_propensity=0.5)
        assert told.arms[0].propensity == 0.5
        given = {"a": [1.0, 0.0, 0.0], "b": [0.0, 1.0, 0.0]}
        (answer,) = decided(service, "bob", arms=given, own="b")
        assert answer.arms[0].arm == "b"
        assert service.gain("shop").control == "own"


def test_the_gain_compares_with_what_the_control_is_served_now(
    sqlite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TaskEntry, "is_compared", property(lambda _: True))
    monkeypatch.setattr("headstart.service.engine.counters._log_chance", lambda _: 0.0)
    with shop(sqlite, control_share=0.5) as service:
        everyone_control(monkeypatch)
        for control, n in (("cold", 2), ("own", 4)):
            change(service, control=control, control_share=0.5)
            names = [f"{control}{i}" for i in range(n)]
            answers = decided(service, *names, own="item1")
            paid(service, [each.id for each in answers])
        for control, n in (("own", 4), ("cold", 2)):
            change(service, control=control, control_share=0.5)
            # Tasks that were opened before go on in their groups.
            answers = decided(service, *(f"cold{i}" for i in range(2)), own="item2")
            paid(service, [each.id for each in answers])
            gain = service.gain("shop")
            assert (gain.control, gain.control_tasks, gain.warm_tasks) == (control, n, 0)
            assert gain.control_mean == pytest.approx(1.0)


def test_a_switch_from_shadow_to_service_needs_one_call(sqlite: str) -> None:
    with shop(sqlite, Clock(), shadow=True) as service:
        for k in range(30):
            answers = decided(service, f"user{k}", own=ARMS[k % K], own_propensity=1 / K)
            paid(service, [each.id for each in answers], float(k % K == 2))
        service.refresh("shop")
        change(service, control_share=0.5)
        answers = [answer for k in range(20) for answer in decided(service, f"new{k}", own=ARMS[0])]
        warm = [each for each in answers if not each.control]
        assert {each.arms[0].arm for each in warm} == {"item2"}  # which others liked
        assert service.task("shop", "new0").start in ("warm", "control")
        assert all(each.shadow is None for each in answers)
        assert service.gain("shop").control_tasks + service.gain("shop").warm_tasks == 0


def test_what_is_served_in_shadow_mode_is_not_compared(
    sqlite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TaskEntry, "is_compared", property(lambda _: True))
    monkeypatch.setattr("headstart.service.engine.counters._log_chance", lambda _: 0.0)
    guardrails = [Guardrail(name="refund", worse="higher")]
    settings: Any = {"control_share": 0.5, "guardrails": guardrails, "deadline_seconds": 60.0}
    for default in (None, 0.0):
        with shop(f"{sqlite}{default}", default_reward=default, **settings) as service:
            names = [f"user{i}" for i in range(10)]
            before = [each.id for each in decided(service, *names)]
            change(service, shadow=True, default_reward=default, **settings)
            within = [each.id for each in decided(service, *names, own="item1")]
            paid(service, within, 5.0, metrics={"refund": 1.0})
            paid(service, within, 7.0, correction=True)
            assert service.task("shop", "user0").reward_sum == 7.0
            paid(service, before, 1.0)
            gain = service.gain("shop")
            assert {gain.warm_mean, gain.control_mean} == {1.0}
            (view,) = gain.guardrails
            assert (view.warm_tasks, view.control_tasks) == (0, 0)


def test_a_control_task_may_ask_for_several_arms_once_control_is_another(
    sqlite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(sqlite, control="own", control_share=0.5) as service:
        everyone_control(monkeypatch)
        decided(service, "ann", own="item0")
        change(service, control="cold", control_share=0.5)
        (answer,) = decided(service, "ann", own="item0", n=3)
        assert len(answer.arms) == 3


def test_switching_over_changes_nothing_else(sqlite: str) -> None:
    with shop(sqlite, shadow=True, control_share=0.25) as service:
        view = service.end_shadow("shop")
        assert (view.configuration.shadow, view.configuration.control_share) == (False, 0.25)


def test_agreement_is_that_of_the_decisions(sqlite: str) -> None:
    rng = np.random.default_rng(1)
    with shop(sqlite, exploration=0.5, shadow=True) as service:
        requests = [
            DecisionRequest(task=f"user{rng.integers(40)}", own=ARMS[rng.integers(K)])
            for _ in range(250)
        ]
        answers = [answer_of(a) for a in service.decide("shop", requests).result(60)]
        view = service.shadow("shop")
        same = [each.shadow is not None and each.shadow.arm == each.arms[0].arm for each in answers]
        assert (view.decisions, view.agreed) == (250, sum(same))
