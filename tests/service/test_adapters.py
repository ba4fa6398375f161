"""The adapters: what the official clients of OFREP and Personalizer get, and where the calls go."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from azure.ai.personalizer import PersonalizerClient
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from tests.service.http.real import serving
from tests.waiting import running, until

from headstart.features import Category, Features, Flag, Number, Tags
from headstart.service.adapters import application
from headstart.service.engine.service import Service
from headstart.service.http.server import address_of, listen, server_of
from headstart.service.messages import BanditConfiguration, DecisionRecord, Item
from headstart.service.store.database import Database
from headstart.service.store.keys import create_key

SCHEMA = Features(
    item=[Number("price", mean=5.0, scale=2.0), Category("brand"), Tags("genres")],
    context=[Category("device", levels=["phone", "desktop"]), Flag("rain")],
    about=[Number("user.age", mean=40.0, scale=12.0)],
    cross=[("device", "brand")],
)
ITEMS = [
    Item(id="tea", attributes={"price": 3.5, "brand": "acme", "genres": ["hot"]}),
    Item(id="mug", attributes={"price": 12, "brand": "zeta"}),
]
ACTIONS = [
    {"id": "pasta", "features": [{"price": 8, "brand": "acme"}, {"genres": ["hot"], "spice": 2}]},
    {"id": "soup", "features": [{"price": 4}]},
    {"id": "cake", "features": [{"price": 5, "brand": "zeta"}]},
]


@dataclass(frozen=True, kw_only=True)
class Served:
    """Where the adapters are, the key that may decide, and the service behind them."""

    address: str
    key: str
    service: Service

    def record(self, decision: str) -> DecisionRecord:
        return self.service.decision("shop", decision)

    def features(self, decision: str) -> dict[str, float]:
        parts = self.record(decision).contributions
        return {part.feature: part.value for part in parts if part.value != 0.0}


@contextmanager
def _running(app: Any) -> Iterator[str]:
    listener = listen("127.0.0.1", 0)
    server = server_of(app)

    def stop() -> None:
        server.should_exit = True

    with running(lambda: server.run([listener]), stop) as thread:
        until(lambda: server.started, by=thread)
        yield address_of(listener)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("adapters")
    database = Database.open(folder / "store.sqlite")
    key, read_key = (
        create_key(database, name=role, role=role, now=1.0) for role in ("decide", "read")
    )
    database.close()
    with (
        serving(folder / "store.sqlite", folder) as (address, service),
        _running(application(address, read_key=read_key)) as adapters,
    ):
        service.put_bandit(
            "shop", BanditConfiguration(features=SCHEMA.plain(), reward_range=(0.0, 1.0))
        )
        service.put_items("shop", ITEMS)
        numbers = BanditConfiguration(
            dimension=1, deadline_seconds=600.0, default_reward=0.0, about_names=["age"]
        )
        service.put_bandit("numbers", numbers)
        service.put_items("numbers", [Item(id="a", features=[1.0])])
        yield Served(address=adapters, key=key, service=service)


@pytest.fixture
def flags(served: Served) -> Iterator[OpenFeatureClient]:
    headers = {"X-API-Key": served.key}
    api.set_provider(OFREPProvider(served.address, headers_factory=lambda: headers, timeout=60))
    yield api.get_client()
    api.clear_providers()


@pytest.fixture
def ranker(served: Served) -> Iterator[Any]:  # its methods are made when it is imported
    with ranker_of(served, "shop") as found:
        yield found


def ranker_of(served: Served, bandit: str) -> Any:
    address = f"{served.address}/personalizer/{bandit}"
    return PersonalizerClient(address, AzureKeyCredential(served.key), retry_total=0)


def context(task: str, **known: Any) -> EvaluationContext:
    return EvaluationContext(targeting_key=task, attributes=known)


def status_of(call: Any, *given: Any) -> int | None:
    with pytest.raises(HttpResponseError) as caught:
        call(*given)
    return caught.value.status_code


def test_an_evaluation_is_a_decision(served: Served, flags: OpenFeatureClient) -> None:
    known = context("ann", device="phone", user={"age": 52}, plan="gold")
    found = flags.get_string_details("shop", "none", known)
    decision = str(found.flag_metadata["decision"])
    record = served.record(decision)
    assert (found.value, found.variant, record.task) == (record.arm, record.arm, "ann")
    assert found.flag_metadata["propensity"] == record.propensity
    # The context's attributes are those of the schema's parts; what it does not have is left out.
    assert served.features(decision)["device=phone"] == 1.0
    assert served.service.task("shop", "ann").about == [1.0]


def test_evaluations_with_one_key_are_one_decision(flags: OpenFeatureClient) -> None:
    def decision(**known: Any) -> object:
        return flags.get_string_details("shop", "", context("bob", **known)).flag_metadata

    assert decision() != decision()
    assert decision(idempotency_key="view-1") == decision(idempotency_key="view-1")


def test_errors_of_flags(flags: OpenFeatureClient) -> None:
    ann = context("ann")
    assert flags.get_string_details("none", "", ann).error_code is ErrorCode.FLAG_NOT_FOUND
    assert flags.get_string_details("shop", "").error_code is ErrorCode.TARGETING_KEY_MISSING
    wrong = flags.get_string_details("shop", "mine", context("ann", rain="maybe"))
    assert (wrong.error_code, wrong.value) == (ErrorCode.INVALID_CONTEXT, "mine")
    assert flags.get_string_details("numbers", "", ann).error_code is ErrorCode.INVALID_CONTEXT


def test_nothing_is_decided_for_flags_that_were_not_asked_for(served: Served) -> None:
    before = [bandit.decisions for bandit in served.service.bandits()]
    given = {"context": {"targetingKey": "eve", "age": 0.5}}
    found = httpx.post(f"{served.address}/ofrep/v1/evaluate/flags", json=given)
    assert found.status_code == 404
    assert [bandit.decisions for bandit in served.service.bandits()] == before
    assert httpx.post(f"{found.url}/numbers", json=given).status_code == 401  # no key


def test_rank_reward_and_activate(served: Served, ranker: Any) -> None:
    request = {
        "actions": ACTIONS,
        "contextFeatures": [
            {"device": "desktop", "weekday": "monday"},
            {"user": {"age": 28}},
            {"rain": True, "task": "ben"},
        ],
        "excludedActions": ["cake"],
        "eventId": "event/1",
        "deferActivation": True,
    }
    ranked = ranker.rank(request)
    by_action = {each["id"]: each["probability"] for each in ranked["ranking"]}
    assert set(by_action) == {"pasta", "soup", "cake"}
    assert (ranked["eventId"], by_action["cake"]) == ("event/1", 0.0)
    assert ranker.rank(request) == ranked  # an event is one decision
    ranker.activate("event/1")
    ranker.reward("event/1", {"value": 0.75})
    ranker.reward("event/1", {"value": 0.75})  # again: counted once
    task = served.service.task("shop", "ben")
    assert (task.n_rewards, task.reward_sum, task.about) == (1, 0.75, [-1.0])


def test_without_an_event_and_a_task_there_is_one_of_each(served: Served, ranker: Any) -> None:
    ranked = ranker.rank({"actions": [{"id": "tea", "features": []}, {"id": "mug"}]})
    record = served.record(ranked["eventId"])
    assert (record.task, record.arm) == ("everyone", ranked["rewardActionId"])
    ranker.reward(ranked["eventId"], {"value": 1.0})
    assert served.record(ranked["eventId"]).value == 1.0


def test_errors_of_ranks(served: Served, ranker: Any) -> None:
    assert status_of(ranker.rank, {"actions": []}) == 400
    assert status_of(ranker.rank, {"actions": [ACTIONS[0], ACTIONS[0]]}) == 400
    bad = {"actions": [{"id": "a", "features": [{"price": "cheap"}]}]}
    assert status_of(ranker.rank, bad) == 400
    assert status_of(ranker.reward, "no such event", {"value": 1.0}) == 404
    ranked = ranker.rank({"actions": ACTIONS})
    assert status_of(ranker.reward, ranked["eventId"], {"value": 7.0}) == 400
    slots = {"actions": ACTIONS, "slots": [{"id": "top", "baselineAction": "pasta"}]}
    assert status_of(ranker.rank_multi_slot, slots) == 400
    with ranker_of(served, "numbers") as other:  # a default counts from the decision on
        deferred = {"actions": [{"id": "a"}], "deferActivation": True}
        assert status_of(other.rank, deferred) == 400
    with ranker_of(served, "none") as other:
        assert status_of(other.rank, {"actions": ACTIONS}) == 404
