"""Behind proxies: who calls, by which name, and links under a prefix."""

import asyncio
import re
import time
from typing import Any, cast

import httpx
import pytest
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.service.dashboard.conftest import logged_in
from tests.service.http.fake import FakeService
from tests.service.http.test_sessions import PAGES
from tests.service.shop import Shop

from headstart.service.dashboard import application
from headstart.service.engine.service import Service
from headstart.service.http import sessions
from headstart.service.http.app import Application
from headstart.service.http.proxy import BehindProxies, networks, prefix
from headstart.service.store.keys import create_key


def call(app: ASGIApp, path: str = "/", client: str = "10.0.0.1", **given: Any) -> httpx.Response:
    """One call that comes from an address."""

    async def answer() -> httpx.Response:
        transport = httpx.ASGITransport(app, client=(client, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://inside") as http:
            return await http.request(given.pop("method", "GET"), path, **given)

    return asyncio.run(answer())


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    host = dict(scope["headers"])[b"host"].decode()
    seen = [scope["client"][0], scope["scheme"], host, scope["path"], prefix.get()]
    await JSONResponse(seen)(scope, receive, send)


SAID = {
    "x-forwarded-for": "6.6.6.6, 203.0.113.9, 10.0.0.2",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "shop.example",
}


def test_what_a_trusted_proxy_says_counts_and_no_other() -> None:
    app = BehindProxies(echo, trusted=networks(["10.0.0.0/8", "::1"]), root_path="")
    # The last address that is not a proxy: those before it are what the caller says of itself.
    seen = call(app, "/a", headers=SAID).json()
    assert seen == ["203.0.113.9", "https", "shop.example", "/a", ""]
    seen = call(app, "/a", client="203.0.113.9", headers=SAID).json()
    assert seen == ["203.0.113.9", "http", "inside", "/a", ""]


@pytest.mark.parametrize(
    ("path", "inside"),
    [("/bandits/a/b", "/a/b"), ("/bandits", "/"), ("/a", "/a"), ("/bandits2", "/bandits2")],
)
def test_a_prefix_may_come_with_the_path_or_not(path: str, inside: str) -> None:
    app = BehindProxies(echo, trusted=[], root_path="/bandits/")
    assert call(app, path).json()[3:] == [inside, "/bandits"]


@pytest.mark.parametrize("wrong", ["proxy.local", "10.0.0.1/8", ""])
def test_proxies_are_addresses(wrong: str) -> None:
    with pytest.raises(ValueError, match="an address or a network"):
        networks([wrong])


@pytest.mark.parametrize("wrong", ["bandits", "//other.site", "/a//b"])
def test_a_prefix_is_a_path(wrong: str) -> None:
    with pytest.raises(ValueError, match="root_path must be a path such as /bandits"):
        BehindProxies(echo, trusted=[], root_path=wrong)


def test_failed_logins_of_one_lock_out_no_other(fake: FakeService) -> None:
    inner = Application(cast(Service, fake), pages=PAGES, log_requests=False)
    key = create_key(fake.database, name="k", role="read", now=time.time())
    inner._security.keys.refresh()
    app = BehindProxies(inner, trusted=networks(["10.0.0.1"]), root_path="/bandits")

    def log_in(address: str, key: str) -> httpx.Response:
        headers = {"origin": "https://shop.example", "x-forwarded-for": address}
        headers |= {"x-forwarded-host": "shop.example"}
        form = {"key": key, "next": "/tasks"}
        return call(app, "/bandits/login", method="POST", data=form, headers=headers)

    for _ in range(sessions.MOST_FAILURES):
        assert log_in("203.0.113.9", "hs_wrong").status_code == 401
    assert log_in("203.0.113.9", key).status_code == 429
    answer = log_in("203.0.113.10", key)
    assert (answer.status_code, answer.headers["location"]) == (303, "/bandits/tasks")


def test_links_are_under_the_prefix(shared: Shop) -> None:
    pages = logged_in(application(shared.service, shared.jobs))
    app = BehindProxies(pages, trusted=[], root_path="/bandits")
    for path in ("/", "/prior", "/tasks", "/decisions", "/items", "/jobs", "/health", "/none"):
        text = call(app, path, headers={"accept": "text/html"}).text
        links = [each for each in re.findall(r'(?:href|src|action)="([^"]*)"', text) if each]
        assert len(links) >= 5
        assert [link for link in links if not link.startswith(("/bandits/", "#"))] == []
        (style,) = [link for link in links if "dashboard.css" in link]
        assert call(app, style.replace("&amp;", "&")).status_code == 200
