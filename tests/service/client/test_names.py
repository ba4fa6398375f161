"""The name of a task is one part of a path, whatever it is."""

import httpx
import pytest

from headstart.service.client import calls


@pytest.mark.parametrize("name", [".", "..", "a/b", "%2E%2E", "?x=1", "#", "ä\n", "..."])
def test_a_name_stays_one_part_of_the_path(name: str) -> None:
    call = calls.erase("shop", name)
    sent = httpx.URL("http://127.0.0.1").join(call.path).raw_path.decode()
    assert sent.startswith("/v1/bandits/shop/tasks/")
    assert "/" not in sent.removeprefix("/v1/bandits/shop/tasks/")
    assert httpx.URL(f"http://127.0.0.1{call.path}").raw_path.decode() == sent
