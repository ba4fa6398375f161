"""Personalizer: what its own client gets with our address, and where the calls go."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from azure.ai.personalizer import PersonalizerClient
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceNotFoundError,
)
from tests.service.adapters.setting import BANDIT, Served

from headstart.service.messages import BanditConfiguration, Item

ACTIONS = [
    {"id": "pasta", "features": [{"price": 8, "brand": "acme"}, {"genres": ["hot"], "spice": 2}]},
    {"id": "soup", "features": [{"price": 4}]},
    {"id": "cake", "features": [{"price": 5, "brand": "zeta"}]},
]
CONTEXT = [{"device": "desktop", "weekday": "monday"}, {"user": {"age": 28}}, {"rain": True}]


def client_of(
    served: Served, key: str, bandit: str = BANDIT
) -> Any:  # its methods are made when it is imported
    return PersonalizerClient(
        f"{served.address}/personalizer/{bandit}", AzureKeyCredential(key), retry_total=0
    )


@pytest.fixture
def client(served: Served) -> Iterator[Any]:
    with client_of(served, served.key) as found:
        yield found


def refused(call: Any, *given: Any, **named: Any) -> tuple[int | None, str]:
    with pytest.raises(HttpResponseError) as caught:
        call(*given, **named)
    assert caught.value.error is not None
    return caught.value.status_code, str(caught.value.error.code)


def test_rank_reward_and_activate(served: Served, client: Any) -> None:
    request = {
        "actions": ACTIONS,
        "contextFeatures": [*CONTEXT, {"task": "ben"}],
        "excludedActions": ["cake"],
        "eventId": "event/1",
        "deferActivation": True,
    }
    ranked = client.rank(request)
    assert ranked["eventId"] == "event/1"
    chosen = ranked["rewardActionId"]
    assert chosen in ("pasta", "soup")
    by_action = {each["id"]: each["probability"] for each in ranked["ranking"]}
    assert set(by_action) == {"pasta", "soup", "cake"}
    assert ranked["ranking"][0] == {"id": chosen, "probability": by_action[chosen]}
    assert by_action["cake"] == 0.0
    assert client.rank(request) == ranked  # an event is one decision
    client.activate("event/1")
    client.reward("event/1", {"value": 0.75})
    decision = served.service.decision_of_key(BANDIT, "event/1")
    assert decision is not None
    record = served.record(decision)
    assert (record.task, record.arm, record.value) == ("ben", chosen, 0.75)
    assert record.propensity == by_action[chosen]
    known = served.features(decision)
    assert (known["device=desktop"], known["rain"]) == (1.0, 1.0)
    assert served.service.task(BANDIT, "ben").side == [-1.0]
    client.reward("event/1", {"value": 0.75})  # again: counted once
    assert served.service.task(BANDIT, "ben").n_rewards == 1


def test_without_an_event_and_a_task_there_is_one_of_each(served: Served, client: Any) -> None:
    ranked = client.rank({"actions": [{"id": "tea", "features": []}, {"id": "mug"}]})
    record = served.record(ranked["eventId"])
    assert (record.task, record.arm) == ("everyone", ranked["rewardActionId"])
    assert record.item_effect is not None  # actions without features are items of the catalogue
    client.reward(ranked["eventId"], {"value": 1.0})
    assert served.record(ranked["eventId"]).value == 1.0


def test_errors_are_those_that_the_client_knows(served: Served, client: Any) -> None:
    assert refused(client.rank, {"actions": []}) == (400, "BadRequest")
    twice = {"actions": [ACTIONS[0], ACTIONS[0]]}
    assert refused(client.rank, twice) == (400, "BadRequest")
    bad = {"actions": [{"id": "a", "features": [{"price": "cheap"}]}]}
    assert refused(client.rank, bad) == (400, "BadRequest")
    with pytest.raises(ResourceNotFoundError):
        client.reward("no such event", {"value": 1.0})
    with pytest.raises(ResourceNotFoundError):
        client.activate("no such event")
    ranked = client.rank({"actions": ACTIONS})
    assert refused(client.reward, ranked["eventId"], {"value": 7.0}) == (400, "BadRequest")
    slots = {"actions": ACTIONS, "slots": [{"id": "top", "baselineAction": "pasta"}]}
    assert refused(client.rank_multi_slot, slots) == (400, "BadRequest")
    rewards = {"reward": [{"slotId": "top", "value": 1.0}]}
    assert refused(client.reward_multi_slot, "event", rewards) == (400, "BadRequest")
    with client_of(served, "hs_wrong_key") as other, pytest.raises(ClientAuthenticationError):
        other.rank({"actions": ACTIONS})
    with client_of(served, served.key, "none") as other, pytest.raises(ResourceNotFoundError):
        other.rank({"actions": ACTIONS})


def test_a_default_reward_counts_where_none_comes_and_cannot_be_deferred(served: Served) -> None:
    configuration = BanditConfiguration(dimension=1, deadline_seconds=600.0, default_reward=0.0)
    served.service.put_bandit("defaults", configuration)
    served.service.put_items("defaults", [Item(id="a", features=[1.0])])
    with client_of(served, served.key, "defaults") as client:
        assert refused(client.rank, {"actions": ACTIONS}) == (400, "BadRequest")  # no schema
        deferred = {"actions": [{"id": "a"}], "deferActivation": True}
        assert refused(client.rank, deferred) == (400, "BadRequest")
        ranked = client.rank({"actions": [{"id": "a"}]})
        task = served.service.task("defaults", "everyone")
        assert (task.n_rewards, task.reward_sum) == (1, 0.0)
        client.reward(ranked["eventId"], {"value": 1.0})
        task = served.service.task("defaults", "everyone")
        assert (task.n_rewards, task.reward_sum) == (1, 1.0)
    served.service.delete_bandit("defaults")


def test_the_first_action_is_served_in_shadow_mode(served: Served) -> None:
    configuration = BanditConfiguration(dimension=2, shadow=True, item_effects=False)
    served.service.put_bandit("quiet", configuration)
    items = [Item(id="a", features=[1.0, 0.0]), Item(id="b", features=[0.0, 1.0])]
    served.service.put_items("quiet", items)
    with client_of(served, served.key, "quiet") as client:
        for order in ("ab", "ba"):
            actions = [{"id": each} for each in order]
            assert client.rank({"actions": actions})["rewardActionId"] == order[0]
    served.service.delete_bandit("quiet")


@pytest.mark.parametrize("version", ["v1.0", "v1.1-preview.3"])
def test_clients_with_a_version_in_their_path(served: Served, version: str) -> None:
    headers = {"Ocp-Apim-Subscription-Key": served.key}
    address = f"{served.address}/personalizer/{BANDIT}/personalizer/{version}"
    with httpx.Client(base_url=address, headers=headers) as http:
        ranked = http.post("/rank", json={"actions": ACTIONS})
        assert ranked.status_code == 201
        event = ranked.json()["eventId"]
        assert http.post(f"/events/{event}/activate").status_code == 204
        assert http.post(f"/events/{event}/reward", json={"value": 1}).status_code == 204
        slots = http.post("/multislot/rank", json={})
        assert (slots.status_code, slots.json()["error"]["code"]) == (400, "BadRequest")
