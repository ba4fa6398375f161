"""The name of a task is one part of a path, whatever it is."""

import httpx
import pytest

from headstart_client import Client


@pytest.mark.parametrize("name", [".", "..", "a/b", "%2E%2E", "?x=1", "#", "ä\n", "..."])
def test_a_name_stays_one_part_of_the_path(name: str) -> None:
    paths: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.raw_path.decode())
        return httpx.Response(200, json={"prior_version": 1})

    with Client("http://127.0.0.1", transport=httpx.MockTransport(answer)) as client:
        client.bandit("shop").erase(name)
    assert paths[0].startswith("/v1/bandits/shop/tasks/")
    assert "/" not in paths[0].removeprefix("/v1/bandits/shop/tasks/")
    assert httpx.URL(f"http://127.0.0.1{paths[0]}").raw_path.decode() == paths[0]
