"""Decisions are durable, explained and refused without a trace."""

from pathlib import Path
from typing import Any

import pytest
from tests.service.engine.setting import (
    Clock,
    D,
    K,
    answer_of,
    content,
    decided,
    paid,
    shop,
)

from headstart.service.engine.service import Service
from headstart.service.messages import (
    BanditConfiguration,
    DecisionAnswer,
    DecisionRequest,
    Item,
    ItemChange,
    RewardRequest,
    ServiceError,
)


def test_a_decision_can_be_read_back_with_its_reasons(store: str) -> None:
    clock = Clock()
    with shop(store, clock) as service:
        (answer,) = decided(service, "ann")
        paid(service, [answer.id], 2.0)
        (again,) = decided(service, "ann")
        record = service.decision("shop", again.id)
        assert (record.task, record.arm, record.status) == ("ann", again.arms[0].arm, "pending")
        parts = sum(each.from_prior + each.from_rewards for each in record.contributions)
        assert parts == pytest.approx(record.mean, abs=1e-6)
        assert record.low == again.arms[0].low < record.mean < again.arms[0].high == record.high
        assert record.propensity == again.arms[0].propensity
        first = service.decision("shop", answer.id)
        assert (first.status, first.value, first.round) == ("paid", 2.0, 1)
        assert first.time == clock.now
        task = service.task("shop", "ann")
        assert (task.n_rewards, task.reward_sum) == (1, 2.0)


def test_the_best_n_are_decisions_of_their_own(store: str) -> None:
    with shop(store) as service:
        (answer,) = decided(service, "ann", n=3)
        assert len({each.arm for each in answer.arms}) == 3
        assert answer.id == answer.arms[0].id
        assert paid(service, [each.id for each in answer.arms]) == ["paid"] * 3
        assert [service.decision("shop", each.id).rank for each in answer.arms] == [0, 1, 2]


def test_arms_come_from_the_request_the_catalogue_or_a_tag(store: str) -> None:
    with shop(store) as service:
        given = {"left": [1.0, 0.0, 0.0], "right": [0.0, 1.0, 0.0]}
        assert decided(service, "ann", arms=given)[0].arms[0].arm in given
        assert decided(service, "ann", arms=["item2"])[0].arms[0].arm == "item2"
        assert decided(service, "ann", tag="sale", exclude=["item1"])[0].arms[0].arm == "item3"
        assert service.patch_items("shop", [ItemChange(id="item4", tags=["new"])]) == K
        assert decided(service, "ann", tag="new")[0].arms[0].arm == "item4"
        assert service.delete_items("shop", ["item4"]) == K - 1
        names = {decided(service, f"u{i}")[0].arms[0].arm for i in range(30)}
        assert names <= {f"item{k}" for k in range(K - 1)}


def test_integers_name_tasks_by_their_digits(store: str) -> None:
    with shop(store) as service:
        service.decide("shop", [DecisionRequest(task=7)]).result(120)
        assert service.task("shop", "7").task == "7"


REFUSED = [
    (DecisionRequest(task="new", arms={"a": [1.0]}), "must have shape"),
    (DecisionRequest(task="new", arms={"a": [float("nan")] * D}), "finite"),
    (DecisionRequest(task="new", arms={"a": [1e200] * D}), "outweigh"),
    (DecisionRequest(task="new", arms=["item99"]), "ids of the catalogue, got 'item99'"),
    (DecisionRequest(task="new", arms=["item1", "item1"]), "more than once"),
    (DecisionRequest(task="new", arms=[]), "at least one id"),
    (DecisionRequest(task="new", arms={}), "1 or more"),
    (DecisionRequest(task="new", tag="none"), "one of the catalogue's, got 'none'"),
    (DecisionRequest(task="new", n=K + 1), f"at most the {K} available arms"),
    (DecisionRequest(task="new", exclude=[f"item{k}" for k in range(K)]), "leave at least one"),
    (DecisionRequest(task="new", about=[1.0]), "about must be the 0 numbers"),
]


def test_a_refused_request_changes_nothing_and_sinks_no_other(store: str) -> None:
    with shop(store) as service:
        decided(service, "ann")
        before = content(service)
        for request, sentence in REFUSED:
            (answer,) = service.decide("shop", [request]).result(120)
            assert isinstance(answer, ServiceError)
            assert answer.problem.status == 422
            assert sentence in answer.problem.detail
        assert content(service) == before
        mixed = [request for request, _ in REFUSED] + [DecisionRequest(task="bob")]
        answers = service.decide("shop", mixed).result(120)
        assert [isinstance(each, DecisionAnswer) for each in answers] == [False] * len(REFUSED) + [
            True
        ]
        with pytest.raises(ServiceError, match="there is no bandit 'shed'"):
            service.decide("shed", [DecisionRequest(task="ann")]).result(120)


def test_the_same_key_gets_the_same_answer(store: str) -> None:
    with shop(store) as service:
        (first,) = decided(service, "ann", idempotency_key="k1")
        twice = decided(service, "ann", "ann", idempotency_key="k1")
        assert twice == [first, first]
        same = decided(service, "eve", "eve", idempotency_key="k2")
        assert same[0] == same[1]
        request = DecisionRequest(task="bob", idempotency_key="k1")
        (other,) = service.decide("shop", [request]).result(120)
        assert isinstance(other, ServiceError)
        assert other.problem.status == 409
        assert service.bandit("shop").decisions == 2
    with shop(store) as service:
        assert decided(service, "ann", idempotency_key="k1") == [first]


def test_a_configuration_keeps_what_the_tasks_need(store: str) -> None:
    with shop(store) as service:
        changed = service.put_bandit("shop", BanditConfiguration(dimension=D, exploration=0.5))
        assert changed.configuration.exploration == 0.5
        propensity = decided(service, "ann")[0].arms[0].propensity
        assert propensity is not None
        assert propensity >= 0.5 / K
        for wrong in (
            BanditConfiguration(dimension=D + 1),
            BanditConfiguration(dimension=D, discount=0.9),
            BanditConfiguration(dimension=D, prior={"class": "Pooled", "within_task": False}),
        ):
            with pytest.raises(ServiceError, match="create another bandit"):
                service.put_bandit("shop", wrong)
        for unknown in (
            BanditConfiguration(),
            BanditConfiguration(dimension=D, feature_names=["a"]),
            BanditConfiguration(dimension=D, policy={"class": "Nothing"}),
            BanditConfiguration(dimension=D, policy={"class": "os:system"}),
            BanditConfiguration(dimension=D, prior={"class": "Average", "regularization": 1.0}),
            BanditConfiguration(dimension=D, reward_range=(1.0, 0.0)),
        ):
            with pytest.raises(ServiceError) as error:
                service.put_bandit("other", unknown)
            assert error.value.problem.status == 422
        assert [each.name for each in service.bandits()] == ["shop"]


def test_a_deleted_bandit_leaves_nothing(store: str) -> None:
    with shop(store) as service:
        answers = decided(service, "ann", "bob", idempotency_key=None)
        paid(service, [each.id for each in answers])
        service.refresh("shop")
        service.delete_bandit("shop")
        left = content(service)
        assert {name for name, rows in left.items() if rows} == {"schema_version"}
        service.put_bandit("shop", BanditConfiguration(dimension=D))
        with pytest.raises(ServiceError, match="has no task 'ann'"):
            service.task("shop", "ann")


def test_items_are_checked(store: str) -> None:
    with shop(store) as service:
        before = content(service)
        for items in (
            [Item(id="a", features=[1.0])],
            [Item(id="a", features=[float("inf")] * D)],
            [Item(id="a", features=[1.0] * D), Item(id="a", features=[1.0] * D)],
        ):
            with pytest.raises(ServiceError):
                service.put_items("shop", items)
        with pytest.raises(ServiceError, match="features must be given for a new item"):
            service.patch_items("shop", [ItemChange(id="new", tags=["x"])])
        with pytest.raises(ServiceError, match="has no item 'none'"):
            service.delete_items("shop", ["item1", "none"])
        assert content(service) == before


def test_an_item_that_no_decision_could_read_is_refused(store: str) -> None:
    with shop(store) as service:
        items = [Item(id="tea", features=[1.0, -1e300, 0.0])]
        for change in (service.put_items, service.patch_items):
            with pytest.raises(
                ServiceError, match=r"of 'tea' must be at most 1e\+09 in size, got 1e"
            ):
                change("shop", items)
        assert len(service.items("shop")) == K
        decided(service, "ann")


def test_bandits_share_the_memory_for_tasks(tmp_path: Path) -> None:
    most = 2 << 20
    with Service.open(tmp_path / "store.sqlite", cache_bytes=most) as service:
        bandits = ["a", "b", "c", "d"]
        names = [f"task{i}" for i in range(60)]  # at d = 50, of 40 kB each
        arms: Any = {"x": [1.0] + 49 * [0.0], "y": 50 * [0.1]}
        for bandit in bandits:
            service.put_bandit(bandit, BanditConfiguration(dimension=50, control_share=0.5))
            requests = [DecisionRequest(task=name, arms=arms) for name in names]
            answers = service.decide(bandit, requests).result(120)
            rewards = [RewardRequest(decision=answer_of(a).id, value=1.0) for a in answers]
            service.reward(bandit, rewards).result(120)
        for bandit in bandits:  # so that all have seen how many they are
            service.decide(bandit, [DecisionRequest(task="task0", arms=arms)]).result(120)
        assert float(service.status()["task_bytes_in_memory"] or 0) <= 2 * most
        assert {service.task(b, name).n_rewards for b in bandits for name in names} == {1}


@pytest.mark.parametrize("name", [".", "..", "a\r\nb", "tab\t", "\x85"])
def test_names_that_no_address_can_hold_are_refused(tmp_path: Path, name: str) -> None:
    with shop(str(tmp_path / "store.sqlite")) as service:
        with pytest.raises(ServiceError, match="no control characters"):
            service.put_bandit(name, BanditConfiguration(dimension=D))
        with pytest.raises(ServiceError, match="no control characters"):
            service.patch_items("shop", [Item(id=name, features=[0.0] * D)])
        answers = service.decide("shop", [DecisionRequest(task=name), DecisionRequest(task="...")])
        refused, made = answers.result(120)
        assert isinstance(refused, ServiceError)
        assert isinstance(made, DecisionAnswer)
        assert service.bandit("shop").tasks == 1
