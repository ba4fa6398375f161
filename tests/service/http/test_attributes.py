"""Raw attributes over HTTP: the features of the library, bad input, and what tasks are known by."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.features.schemas import WIDE
from tests.service.http.real import digest, serving

import headstart as hs
from headstart.service.engine.service import Service
from headstart_client import BanditConfiguration, Client, ObservationRequest

# Rows of the schema in which nearly everything is given, everything is missing, and levels are new.
ROWS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (
        {"price": 7.5, "weight": 2, "age": 2.5, "brand": "acme", "maker": {"country": "NL"},
         "genres": ["Action", "new"], "words": "a|b|a", "embedding": [0.5, -1, 2], "new": True},
        {"device": "phone", "hour": 21.5, "at": "2024-05-01T21:30:00.25+02:00"},
        {"country": "NL", "income": 28},
    ),
    ({}, {}, {}),
    ({"brand": "unknown", "age": 100, "genres": []}, {"device": 3, "at": 0}, {"country": "XX"}),
]  # fmt: skip
SHOP = hs.Features(
    item=[
        hs.Number("price", mean=12.0, scale=9.0),
        hs.Category("brand"),
        hs.Tags("genres", buckets=4),
    ],
    context=[hs.Category("user.device", levels=["phone", "desktop"])],
    about=[hs.Category("country", levels=["de", "fr"])],
    cross=[("country", "price")],
)
ITEMS: dict[str, dict[str, Any]] = {
    "tea": {"price": 3, "brand": "acme", "genres": ["hot"]},
    "rum": {"price": 21, "brand": None},
    "milk": {},
}
PATH = "/v1/bandits/shop"


@pytest.fixture
def real(tmp_path: Path) -> Iterator[tuple[httpx.Client, Service]]:
    with (
        serving(tmp_path / "store.db", tmp_path) as (address, service),
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        client.put(PATH, json={"features": SHOP.plain()}).raise_for_status()
        yield client, service


def put_items(client: httpx.Client, items: dict[str, dict[str, Any]] = ITEMS) -> httpx.Response:
    rows = [{"id": name, "attributes": attributes} for name, attributes in items.items()]
    return client.put(f"{PATH}/items", json=rows)


def features_of(client: httpx.Client, decision: str, bandit: str = "shop") -> list[float]:
    record = client.get(f"/v1/bandits/{bandit}/decisions/{decision}").raise_for_status().json()
    return [part["value"] for part in record["contributions"]]


@pytest.mark.parametrize("from_catalogue", [True, False])
def test_features_are_those_of_the_library(
    real: tuple[httpx.Client, Service], from_catalogue: bool
) -> None:
    client, _ = real
    path = "/v1/bandits/wide"
    prior = {"class": "Hierarchical", "covariance": "isotropic"}
    body = {"features": WIDE.plain(), "prior": prior}
    view = client.put(path, json=body).raise_for_status().json()
    assert view["feature_names"] == list(WIDE.columns)
    rows = [{"id": f"{i}", "attributes": item} for i, (item, _, _) in enumerate(ROWS)]
    client.put(f"{path}/items", json=rows).raise_for_status()
    for i, (item, context, about) in enumerate(ROWS):
        told = {"context": context, "about": about}
        x = pytest.approx(WIDE.encode(item, context, about).tolist(), abs=1e-12)
        arms = [f"{i}"] if from_catalogue else {f"{i}": item}
        decided = {"task": f"u{i}", "arms": arms, **told}
        made = client.post(f"{path}/decisions", json=[decided]).raise_for_status().json()
        assert features_of(client, made[0]["id"], "wide") == x
        known = client.get(f"{path}/tasks/u{i}").raise_for_status().json()["about"]
        if about:
            assert known == pytest.approx(WIDE.encode_about(about).tolist(), abs=1e-12)
        seen = {"task": f"v{i}", "value": 1.0, "item": item, **told}
        seen = seen if not from_catalogue else {**seen, "item": None, "arm": f"{i}"}
        found = client.post(f"{path}/observations", json=seen).raise_for_status().json()
        assert features_of(client, found["id"], "wide") == x


def test_numbers_without_a_mean_are_refused(real: tuple[httpx.Client, Service]) -> None:
    client, _ = real
    for side in ("item", "context", "about"):
        schema = {side: [{"type": "number", "name": "price"}]}
        answer = client.put("/v1/bandits/other", json={"features": schema})
        assert answer.status_code == 422
        assert "headstart features infer" in answer.json()["detail"]


def test_items_are_shown_as_they_were_given(real: tuple[httpx.Client, Service]) -> None:
    client, _ = real
    put_items(client)
    change = [{"id": "tea", "tags": ["sale"]}, {"id": "rum", "attributes": {"price": 5}}]
    client.patch(f"{PATH}/items", json=change).raise_for_status()
    shown = {item["id"]: item for item in client.get(f"{PATH}/items").json()["items"]}
    assert shown["tea"]["attributes"] == ITEMS["tea"]
    assert shown["tea"]["tags"] == ["sale"]
    assert shown["rum"]["attributes"] == {"price": 5}
    assert shown["rum"]["features"] is None


def test_what_is_first_told_of_a_task_counts_after_a_restart_too(tmp_path: Path) -> None:
    context = {"user": {"device": "phone"}}  # nested
    flat = {"user.device": "phone"}
    store = tmp_path / "store.db"
    asked: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
        ({}, None),
        ({"about": {"country": "fr"}}, {"country": "fr"}),
        ({"about": {"country": "de"}}, {"country": "fr"}),
        ({}, {"country": "fr"}),
    ]
    for opened in (True, False):
        with (
            serving(store, tmp_path) as (address, service),
            httpx.Client(base_url=address) as client,
        ):
            if opened:
                client.put(PATH, json={"features": SHOP.plain()}).raise_for_status()
                put_items(client)
            for told, known in asked if opened else asked[2:]:
                row = {"task": "u", "arms": ["rum"], "context": context, **told}
                made = client.post(f"{PATH}/decisions", json=row).raise_for_status().json()
                expected = SHOP.encode(ITEMS["rum"], flat, known)
                assert features_of(client, made["id"]) == pytest.approx(
                    expected.tolist(), abs=1e-12
                )
                reward = {"decision": made["id"], "value": 1.0}
                client.post(f"{PATH}/rewards", json=reward).raise_for_status()
            service.refresh("shop")
            about = client.get(f"{PATH}/tasks/u").json()["about"]
            assert about == SHOP.encode_about({"country": "fr"}).tolist()


DEEP: dict[str, Any] = {"price": 1}
for _ in range(30):
    DEEP = {"a": DEEP}
BAD_ITEMS = [
    ({"prize": 3}, "prize"),
    ({"price": "cheap"}, "cheap"),
    ({"price": True}, "price"),
    ({"price": 1e300}, "price"),
    ({"brand": ["a"]}, "brand"),
    ({"brand": "x" * 1_000_000}, "brand"),
    ({"genres": [str(i) for i in range(200)]}, "genres"),
    ({"brand": {"of": "acme"}}, "brand.of"),
    (DEEP, ""),
]


@pytest.mark.parametrize(("attributes", "named"), BAD_ITEMS)
def test_bad_attributes_change_nothing(
    real: tuple[httpx.Client, Service], attributes: dict[str, Any], named: str
) -> None:
    client, service = real
    put_items(client)
    before = digest(service.database)
    answers = [
        put_items(client, {"new": attributes}),
        client.patch(f"{PATH}/items", json=[{"id": "tea", "attributes": attributes}]),
        client.post(f"{PATH}/decisions", json={"task": "u", "arms": {"a": attributes}}),
        client.post(f"{PATH}/observations", json={"task": "u", "value": 1, "item": attributes}),
    ]
    for answer in answers:
        assert answer.status_code == 422, answer.text
        assert named in answer.json()["detail"]
        assert len(answer.json()["detail"]) < 500
    assert digest(service.database) == before


BAD_REQUESTS: list[dict[str, Any]] = [
    {"context": {"device": "phone"}},
    {"context": {"user.device": {"x": 1}}},
    {"context": {"price": 1}},
    {"about": {"country": ["de"]}},
    {"about": {"town": "x"}},
    {"about": [1.0, 0.0, 0.0]},
    {"arms": {"tea": [1.0, 2.0]}},
    {"arms": {}},
]


@pytest.mark.parametrize("given", BAD_REQUESTS)
def test_bad_requests_change_nothing(
    real: tuple[httpx.Client, Service], given: dict[str, Any]
) -> None:
    client, service = real
    put_items(client)
    before = digest(service.database)
    answer = client.post(f"{PATH}/decisions", json={"task": "u", **given})
    assert answer.status_code == 422, answer.text
    assert digest(service.database) == before


def test_text_that_utf_8_cannot_hold(real: tuple[httpx.Client, Service]) -> None:
    client, service = real
    put_items(client)
    before = digest(service.database)
    body = b'{"task": "u", "arms": {"a": {"brand": "\\ud800"}}}'
    headers = {"content-type": "application/json"}
    answer = client.post(f"{PATH}/decisions", content=body, headers=headers)
    assert answer.status_code in (400, 422)
    assert digest(service.database) == before


BAD_SCHEMAS: list[tuple[dict[str, Any], int]] = [
    ({"features": {}}, 422),
    ({"features": {"item": [{"type": "colour", "name": "c"}]}}, 422),
    ({"features": {"context": [{"type": "number", "name": "age"}]}}, 422),
    ({"features": {"item": [{"type": "vector", "name": "v", "size": 5_000}]}}, 422),
    ({"features": SHOP.plain(), "dimension": 3}, 422),
    ({"features": SHOP.plain(), "about_names": ["age"]}, 422),
]


@pytest.mark.filterwarnings("ignore:features have d")
@pytest.mark.parametrize(("body", "status"), BAD_SCHEMAS)
def test_schemas_that_are_refused(
    real: tuple[httpx.Client, Service], body: dict[str, Any], status: int
) -> None:
    client, service = real
    before = digest(service.database)
    answer = client.put("/v1/bandits/other", json=body)
    assert answer.status_code == status, answer.text
    assert digest(service.database) == before


def test_a_schema_stays_as_it_is(real: tuple[httpx.Client, Service]) -> None:
    client, service = real
    before = digest(service.database)
    more = {**SHOP.plain(), "context": [*SHOP.plain()["context"], {"type": "flag", "name": "new"}]}
    for body in ({"features": more}, {"dimension": SHOP.dimension}):
        answer = client.put(PATH, json=body)
        assert answer.status_code == 409, answer.text
    assert digest(service.database) == before
    numbers = client.put("/v1/bandits/numbers", json={"dimension": 2})
    assert numbers.json()["configuration"]["features"] is None
    row = {"task": "u", "arms": {"a": [1, 0]}, "context": {"device": "phone"}}
    assert client.post("/v1/bandits/numbers/decisions", json=row).status_code == 422


def test_the_client(real: tuple[httpx.Client, Service]) -> None:
    http, _ = real
    with Client(str(http.base_url)) as client:
        bandit = client.bandit("wine")
        bandit.put(BanditConfiguration(features=SHOP.plain()))
        assert bandit.items.put(ITEMS) == 3
        assert bandit.items.patch({"gin": {"price": 30, "brand": "acme"}}) == 4
        context: dict[str, object] = {"user.device": "phone"}
        about: dict[str, object] = {"country": "de"}
        decision = bandit.decide("ann", context=context, about=about)
        schema = hs.Features.from_plain(bandit.view().configuration.features or {})
        attributes = {**ITEMS, "gin": {"price": 30, "brand": "acme"}}[decision.arms[0].arm]
        x = [part.value for part in bandit.decision(decision.id).contributions]
        assert x == schema.encode(attributes, context, about).tolist()
        bandit.observe("ann", 1.0, item={"price": 3}, context=context)
        rows = [ObservationRequest(task="bob", value=0.0, arm="tea", about=about)]
        assert len(bandit.observe_many(rows)) == 1
        assert bandit.decide("bob", {"new": {"price": 4}}, context=context).arms[0].arm == "new"
