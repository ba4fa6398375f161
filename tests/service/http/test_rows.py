"""One request or a list: each row has its answer or its problem, in its place."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.service.http.calling import Caller
from tests.service.http.fake import FakeService

from headstart.service.messages import MOST_ROWS

DECISIONS = "/v1/bandits/news/decisions"
GOOD = {"task": "u", "arms": {"a": [1.0, 0.0]}}


def test_one_request_gets_one_answer(client: Caller) -> None:
    answer = client.post(DECISIONS, json=GOOD)
    assert answer.status_code == 200
    assert answer.json()["arms"][0]["arm"] == "a"
    assert answer.headers["content-type"] == "application/json"


def test_a_refused_row_is_a_problem_of_its_status(client: Caller) -> None:
    answer = client.post(DECISIONS, json={"task": "u", "tag": "unknown"})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert "'unknown'" in answer.json()["detail"]


rows = st.lists(
    st.sampled_from(
        [
            (GOOD, 200),
            ({"task": 7}, 200),
            ({"task": "u", "tag": "unknown"}, 422),
            ({"task": 1.5}, 422),
            ({"task": "\x00"}, 422),
            ({"task": "u", "colour": 1}, 422),
            ([], 422),
            (None, 422),
        ]
    ),
    max_size=12,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=rows)
def test_a_bad_row_never_sinks_the_rest(
    client: Caller, fake: FakeService, rows: list[tuple[Any, int]]
) -> None:
    fake.seen.clear()
    answer = client.post(DECISIONS, json=[row for row, _ in rows])
    assert answer.status_code == 200
    assert [each.get("status", 200) for each in answer.json()] == [status for _, status in rows]
    good = [each["task"] for each in answer.json() if "arms" in each]
    assert good == [str(row["task"]) for row, status in rows if status == 200]
    decodable = [row for row, status in rows if status == 200 or (row or {}).get("tag")]
    assert [request.task for _, request in fake.seen] == [row["task"] for row in decodable]


def test_an_empty_list_is_answered_with_one(client: Caller) -> None:
    assert client.post(DECISIONS, json=[]).json() == []
    assert client.post("/v1/bandits/nope/decisions", json=[]).status_code == 404


def test_a_batch_has_a_limit(client: Caller, fake: FakeService) -> None:
    answer = client.post("/v1/bandits/news/rewards", json=[{}] * (MOST_ROWS + 1))
    assert answer.status_code == 422
    assert answer.json()["detail"].endswith(f"got {MOST_ROWS + 1}")
    assert fake.seen == []


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("rewards", {"decision": "0" * 32, "value": 1.5}),
        ("observations", {"task": "u", "value": 1, "features": [1, 2]}),
    ],
)
def test_rewards_and_observations_are_paid(
    client: Caller, route: str, body: dict[str, Any]
) -> None:
    assert client.post(f"/v1/bandits/news/{route}", json=body).json()["outcome"] == "paid"
    many = client.post(f"/v1/bandits/news/{route}", json=[body, body]).json()
    assert [each["outcome"] for each in many] == ["paid", "paid"]


def test_a_weight_must_be_one_that_leaves_the_others_to_count(client: Caller) -> None:
    path = "/v1/bandits/news/rewards"
    for weight in (0.0, -1.0, 1e49):
        answer = client.post(path, json={"decision": "d", "value": 1.0, "weight": weight})
        assert answer.status_code == 422
        assert "$.weight" in answer.json()["detail"]


def test_side_information_must_leave_digits_for_that_of_others(client: Caller) -> None:
    answer = client.post(DECISIONS, json=GOOD | {"about": [0.5, 1e40]})
    assert answer.status_code == 422
    assert "$.about[1]" in answer.json()["detail"]


def test_a_batch_chooses_so_many_arms_at_most(client: Caller, fake: FakeService) -> None:
    rows = [GOOD | {"n": 1_000}] * 11
    answer = client.post(DECISIONS, json=rows)
    assert answer.status_code == 422
    assert answer.json()["detail"].endswith("got 11000")
    assert client.post(DECISIONS, json=[*rows, {"task": 1.5}]).status_code == 422
    assert fake.seen == []
    assert client.post(DECISIONS, json=rows[:10]).status_code == 200
