"""Requests made from the service's own description: no 5xx, and a refused call changes nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.service.http.real import digest, serving

from headstart.service.engine.service import Service

pytestmark = pytest.mark.slow

NEWS = "/v1/bandits/news"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, Service, Path]]:
    folder = tmp_path_factory.mktemp("fuzz")
    with (
        serving(folder / "store.db", folder) as (address, service),
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        prepare(client)
        yield client, service, folder


def prepare(client: httpx.Client) -> dict[str, str]:
    """A bandit with items, a task, a decision and a reward; how they are named."""
    client.put(NEWS, json={"dimension": 2, "reward_range": [0, 1]}).raise_for_status()
    items = [{"id": f"i{n}", "features": [n, 1], "tags": ["t"]} for n in range(3)]
    client.put(f"{NEWS}/items", json=items).raise_for_status()
    made = client.post(f"{NEWS}/decisions", json={"task": "u", "tag": "t"}).raise_for_status()
    reward = {"decision": made.json()["id"], "value": 1}
    client.post(f"{NEWS}/rewards", json=reward).raise_for_status()
    return {"bandit": "news", "task": "u", "decision": made.json()["id"]}


def operations(client: httpx.Client) -> list[Any]:
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    return [_found(each) for each in schema.get_all_operations()]


def _found(operation: Any) -> Any:
    """An operation that schemathesis could read, or its error."""
    return operation.ok()


@pytest.mark.parametrize("examples", [4, pytest.param(12, marks=pytest.mark.nightly)])
def test_every_route_with_requests_made_from_the_description(
    real: tuple[httpx.Client, Service, Path],
    examples: int,
) -> None:
    client, service, folder = real
    names = prepare(client)
    seen: dict[str, set[int]] = {}
    for operation in operations(client):

        @settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate,),
        )
        @given(case=operation.as_strategy(), known=st.integers(0, 4))
        def check(case: Any, known: int) -> None:
            for name in case.path_parameters or {}:
                if known and name in names:
                    case.path_parameters[name] = names[name]
            before = digest(service.database)
            answer = client.request(**_sent(case, client))
            named = f"{case.method} {answer.request.url} {answer.request.content!r}"
            assert answer.status_code < 500, f"{named}: {answer.text}"
            seen.setdefault(case.operation.label, set()).add(answer.status_code)
            if answer.status_code >= 400:
                assert answer.headers["content-type"] == "application/problem+json", named
                assert answer.json()["detail"], named
                assert digest(service.database) == before, named
            if case.method == "DELETE" and answer.status_code < 400:
                names.update(prepare(client))

        check()
    assert len(seen) >= 28
    assert any(200 in statuses for statuses in seen.values())
    assert service.ready
    assert '"level":"error"' not in (folder / "log").read_text()


def _sent(case: Any, client: httpx.Client) -> dict[str, Any]:
    given = case.as_transport_kwargs(base_url=str(client.base_url))
    given["headers"] = {"content-type": "application/json"}  # no key is needed
    return {
        name: value
        for name, value in given.items()
        if name in ("method", "url", "headers", "params", "json", "data", "content")
        and value is not None
    }


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    path=st.sampled_from(
        [NEWS, f"{NEWS}/decisions", f"{NEWS}/rewards", f"{NEWS}/items", f"{NEWS}/fit"]
    ),
    method=st.sampled_from(["PUT", "POST", "PATCH"]),
    body=st.one_of(
        st.binary(max_size=60),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        ["task", "arms", "n", "value", "decision", "id", "features", "policy", "x"]
                    ),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=8,
        ).map(
            lambda value: (
                repr(value).replace("'", '"').replace("None", "null").encode("utf-8", "replace")
            )
        ),
    ),
)
def test_bodies_of_any_kind_are_never_an_error_of_the_service(
    real: tuple[httpx.Client, Service, Path], path: str, method: str, body: bytes
) -> None:
    client, service, _ = real
    before = digest(service.database)
    answer = client.request(
        method, path, content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code < 500, (path, body, answer.text)
    if answer.status_code >= 400:
        assert digest(service.database) == before
