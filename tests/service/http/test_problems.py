"""Bad calls: a sentence that names the place and what was expected, and nothing changed."""

import json
import threading
from typing import Any

import pytest
from tests.service.http.calling import Caller
from tests.service.http.fake import FakeService
from tests.waiting import until

from headstart.service.messages import unavailable

DECISIONS = "/v1/bandits/news/decisions"
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("body", "status", "named"),
    [
        ('{"task":', 400, "truncated"),
        ("", 400, "truncated"),
        ('{"task": NaN}', 400, "invalid character"),
        ('{"task":"u","about":[Infinity]}', 400, "invalid character"),
        ('{"task":"u","about":[1e999]}', 422, "$.about[0]"),
        ('{"task":"u","arms":{"a":[1],"b":["x"]}}', 422, "$.arms[...][0]"),
        ('{"task":"u","arms":{"a":[]}}', 422, "$.arms[...]"),
        ('{"task":"u","arms":{"":[1]}}', 422, "`key` in `$.arms`"),
        ('{"task":"u","arms":7}', 422, "$.arms"),
        ('{"task":"u","time":1}', 422, "`time`"),
        (f'{{"task":{10**30}}}', 422, "$.task"),
        (
            '{"task":"u","arms":{' + ",".join(f'"{n}":[1]' for n in range(10_001)) + "}}",
            422,
            "<= 10000 - at `$.arms`",
        ),
        ('{"task":"u","n":0}', 422, ">= 1 - at `$.n`"),
        ('{"task":"u","n":"one"}', 422, "$.n"),
        ('{"task":""}', 422, "$.task"),
        ("{}", 422, "`task`"),
        ('{"task":"u","tusk":1}', 422, "`tusk`"),
        ('{"task":"u\\u0000"}', 422, "U+0000"),
        ('"u"', 422, "`object`, got `str`"),
        (b'{"task":"\xff"}', 400, "UTF-8"),
        ('{"task":' + "[" * 5000 + "]" * 5000 + "}", 422, "$.task"),
        ('{"task":"u","exclude":' + "[" * 5000 + "]" * 5000 + "}", 422, "$.exclude[0]"),
    ],
)
def test_a_bad_body_is_named(
    client: Caller, fake: FakeService, body: str | bytes, status: int, named: str
) -> None:
    answer = client.post(DECISIONS, content=body, headers=JSON)
    problem = answer.json()
    assert answer.status_code == problem["status"] == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert named in problem["detail"]
    assert fake.seen == []


def test_deep_nesting_is_refused(client: Caller) -> None:
    body = '{"policy":{"a":' + "[" * 5000 + "]" * 5000 + "}}"
    answer = client.put("/v1/bandits/news", content=body, headers=JSON)
    assert answer.status_code == 400
    assert "nested" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "status", "named"),
    [
        ("GET", "/v2/bandits", 404, "/v1/"),
        ("GET", "/bandits", 404, "/v1/"),
        ("GET", "/v1/nothing", 404, "'/v1/nothing'"),
        ("GET", "/v1/bandits/", 404, "'/v1/bandits/"),
        ("GET", "/v1/bandits//prior", 404, "'/v1/bandits/"),
        ("GET", "/v1/bandits/nope", 404, "got 'nope'"),
        ("GET", "/v1/bandits/%ff", 422, "UTF-8"),
        ("GET", "/v1/bandits/%00", 422, "U+0000"),
        ("GET", f"/v1/bandits/{'x' * 201}", 422, "200"),
        ("DELETE", "/v1/bandits", 405, "got DELETE"),
        ("GET", "/v1/bandits/news/items?limit=0", 422, ">= 1 - at `$.limit`"),
        ("GET", "/v1/bandits/news/items?limit=x", 422, "$.limit"),
        ("GET", "/v1/bandits/news/items?lim=3", 422, "`lim`"),
        ("GET", "/v1/bandits/news/items?limit=1&limit=2", 422, "'limit'"),
    ],
)
def test_a_bad_path_is_named(
    client: Caller, method: str, path: str, status: int, named: str
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert named in answer.json()["detail"]


def test_405_says_which_methods_there_are(client: Caller) -> None:
    assert (
        client.post("/v1/bandits/news/items", json=[]).headers["allow"] == "GET, PUT, PATCH, DELETE"
    )


def test_a_name_in_a_path_may_hold_anything(client: Caller, fake: FakeService) -> None:
    answer = client.delete("/v1/bandits/news/tasks/a%2Fb%20%C3%A9")
    assert (answer.status_code, fake.seen) == (200, [("erase", "a/b é")])


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_too_large_is_refused(client: Caller, fake: FakeService, chunked: bool) -> None:
    body = b" " * (1 << 20) + b'{"task":"u"}'
    sent: dict[str, Any] = {"parts": [body[: 1 << 19], body[1 << 19 :]]}
    answer = client.post(DECISIONS, headers=JSON, **(sent if chunked else {"content": body}))
    assert answer.status_code == 413
    assert "1048576" in answer.json()["detail"]
    assert fake.seen == []


def test_a_body_must_be_named_to_be_json(client: Caller) -> None:
    answer = client.post(DECISIONS, data={"task": "u"})
    assert answer.status_code == 415
    assert "application/x-www-form-urlencoded" in answer.json()["detail"]
    answer = client.request("POST", DECISIONS, content=b'{"task":"u"}')
    assert (answer.status_code, answer.json()["detail"][-8:]) == (415, "got none")
    typed = {"content-type": "application/json; charset=utf-8"}
    assert client.post(DECISIONS, content='{"task":"u"}', headers=typed).status_code == 200


def test_an_unknown_bandit_is_404(client: Caller) -> None:
    answer = client.post("/v1/bandits/nope/decisions", json={"task": "u"})
    assert (answer.status_code, "nope" in answer.json()["detail"]) == (404, True)


def test_too_many_waiting_is_503_with_retry_after(client: Caller, fake: FakeService) -> None:
    fake.held.clear()
    statuses: list[int] = []

    def call() -> None:
        statuses.append(client.post(DECISIONS, json={"task": "u"}).status_code)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    until(lambda: len(fake.seen) == 3)
    answer = client.post(DECISIONS, json={"task": "u"})
    fake.held.set()
    for thread in threads:
        thread.join()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert statuses == [200, 200, 200]
    assert len(fake.seen) == 3


def test_an_error_inside_is_500_without_details(
    client: Caller, fake: FakeService, log_file: Any
) -> None:
    fake.fails = RuntimeError("secret of user 17")
    answer = client.put("/v1/bandits/other", json={"dimension": 2})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    request_id = answer.headers["x-request-id"]
    assert request_id in answer.json()["detail"]
    lines = [json.loads(line) for line in log_file.read_text().splitlines()]
    assert any(line["request_id"] == request_id and line.get("traceback") for line in lines)
    assert "secret" not in log_file.read_text()


def test_a_store_away_is_503(client: Caller, fake: FakeService) -> None:
    fake.fails = unavailable("the store cannot be written now")
    answer = client.post(DECISIONS, json={"task": "u"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
