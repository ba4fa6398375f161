"""Every route answers, as its description says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from tests.service.http.calling import Caller
from tests.service.http.fake import FakeService

from headstart.service.http.app import Application
from headstart.service.messages import BanditView

NEWS = "/v1/bandits/news"


def test_bandits(client: Caller, fake: FakeService) -> None:
    created = client.put("/v1/bandits/other", json={"dimension": 3, "control_share": 0.1})
    assert msgspec.convert(created.json(), BanditView).configuration.control_share == 0.1
    assert [each["name"] for each in client.get("/v1/bandits").json()] == ["news", "other"]
    answer = client.delete("/v1/bandits/other")
    assert (answer.status_code, answer.content) == (204, b"")
    assert list(fake.known) == ["news"]


def test_items_in_pages(client: Caller, fake: FakeService) -> None:
    items = [{"id": f"i{n}", "features": [n, 1], "tags": ["t"]} for n in range(5)]
    assert client.put(f"{NEWS}/items", json=items).json() == {"items": 5}
    found: list[str] = []
    after = ""
    while True:
        page = client.get(
            f"{NEWS}/items", params={"limit": 2, **({"after": after} if after else {})}
        )
        found += [item["id"] for item in page.json()["items"]]
        if (after := page.json()["next"]) is None:
            break
    assert found == [f"i{n}" for n in range(5)]
    assert client.patch(f"{NEWS}/items", json=[{"id": "i1", "tags": []}]).json() == {"items": 5}
    assert (fake.catalogue["i1"].features, fake.catalogue["i1"].tags) == ([1.0, 1.0], [])
    assert client.request("DELETE", f"{NEWS}/items", json=["i0", "i1"]).json() == {"items": 3}
    assert client.delete(f"{NEWS}/items").json() == {"items": 0}


def test_prior_and_tasks(client: Caller, fake: FakeService) -> None:
    assert client.get(f"{NEWS}/prior?history=3").json()["version"] == 3
    assert client.get(f"{NEWS}/tasks/u").status_code == 404
    assert client.delete(f"{NEWS}/tasks/u").json() == {"prior_version": 7}
    assert fake.seen == [("erase", "u")]


def test_readiness_follows_the_service(client: Caller, fake: FakeService) -> None:
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").json()["interfaces"] == ["v1"]
    fake.start()
    assert client.get("/readyz").json() == {"ready": True}


def test_head_is_answered_as_get(client: Caller) -> None:
    assert client.request("HEAD", "/healthz").status_code == 200


def test_metrics_count_by_template(client: Caller) -> None:
    for task in ("a", "b"):
        client.get(f"{NEWS}/tasks/{task}")
    client.request("BREW", "/v1/coffee")
    text = client.get("/metrics").text
    label = '{method="GET",route="/v1/bandits/{bandit}/tasks/{task}",status="404"}'
    assert f"headstart_requests_total{label} 2.0" in text
    other = '{method="other",route="other",status="404"}'
    assert f"headstart_requests_total{other} 1.0" in text
    assert "headstart_waiting_rows 0.0" in text
    assert 'headstart_pending{bandit="news"} 0.0' in text


def test_logs_name_no_task_and_no_value(client: Caller, app: Application, log_file: Path) -> None:
    client.post(f"{NEWS}/decisions", json={"task": "user17", "arms": {"a": [0.123456]}})
    client.get(f"{NEWS}/tasks/user17", headers={"x-request-id": "mine-1"})
    client.get("/healthz")
    app._log.flush()
    text = log_file.read_text()
    lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [
        ("POST", "/v1/bandits/{bandit}/decisions", 200),
        ("GET", "/v1/bandits/{bandit}/tasks/{task}", 404),
    ]
    assert lines[1]["request_id"] == "mine-1"
    assert all(line["seconds"] > 0 for line in lines)
    assert "user17" not in text
    assert "0.123456" not in text


def test_the_description_has_every_route_and_only_known_references(client: Caller) -> None:
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    routes = {(m.upper(), p) for p, methods in document["paths"].items() for m in methods}
    assert ("POST", "/v1/bandits/{bandit}/decisions") in routes
    assert len(routes) >= 18
    names = [o["operationId"] for methods in document["paths"].values() for o in methods.values()]
    assert len(set(names)) == len(names)
    text = json.dumps(document)
    for part in text.split('"#/components/schemas/')[1:]:
        assert part.split('"')[0] in document["components"]["schemas"]


def parts_of(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and all schemas in it."""
    if isinstance(schema, dict):
        yield schema
    for each in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(each, dict | list):
            yield from parts_of(each)


def test_generators_of_clients_take_the_description(client: Caller) -> None:
    """openapi-python-client refuses tuples; openapi-typescript requires what has a default."""
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    found = list(parts_of(schemas))
    assert len(found) > 300
    for schema in found:
        assert "prefixItems" not in schema
        assert isinstance(schema.get("items", {}), dict)
        if schema.keys() & {"type", "anyOf", "enum", "$ref"}:
            assert "default" not in schema
    configuration = schemas["BanditConfiguration"]
    bounds = configuration["properties"]["reward_range"]["anyOf"][0]
    assert bounds == {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "number"}}
    assert configuration["properties"]["exploration"]["description"] == "0.0 if it is left out"
