"""Behind proxies: who calls, by which name, and links under a prefix."""

import asyncio
import re
import time
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.service.dashboard.conftest import logged_in
from tests.service.http.fake import FakeService
from tests.service.http.test_sessions import PAGES
from tests.service.shop import Shop
from typer.testing import CliRunner

from headstart.cli import app as command
from headstart.service.dashboard import application
from headstart.service.engine.service import Service
from headstart.service.http.app import Application
from headstart.service.http.proxy import WithPrefix, check_proxies, prefix
from headstart.service.http.server import server_of
from headstart.service.store.keys import create_key


def call(app: ASGIApp, path: str = "/", client: str = "10.0.0.1", **given: Any) -> httpx.Response:
    """One call that comes from an address."""

    async def answer() -> httpx.Response:
        transport = httpx.ASGITransport(app, client=(client, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://inside") as http:
            return await http.request(given.pop("method", "GET"), path, **given)

    return asyncio.run(answer())


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    seen = [scope["client"][0], scope["scheme"], scope["path"], prefix.get()]
    await JSONResponse(seen)(scope, receive, send)


def behind(app: ASGIApp, *proxies: str) -> ASGIApp:
    """An application as the server runs it."""
    config = server_of(app, proxies=proxies).config
    config.load()
    return cast(ASGIApp, config.loaded_app)


SAID = {"x-forwarded-for": "6.6.6.6, 203.0.113.9, 10.0.0.2", "x-forwarded-proto": "https"}


def test_what_a_trusted_proxy_says_counts_and_no_other() -> None:
    app = behind(echo, "10.0.0.0/8", "::1")
    # The last address that is not a proxy: those before it are what the caller says of itself.
    assert call(app, "/a", headers=SAID).json()[:2] == ["203.0.113.9", "https"]
    seen = call(app, "/a", client="203.0.113.9", headers=SAID).json()
    assert seen[:2] == ["203.0.113.9", "http"]
    assert call(behind(echo), headers=SAID).json()[:2] == ["10.0.0.1", "http"]


@pytest.mark.parametrize(
    ("path", "inside"),
    [("/bandits/a/b", "/a/b"), ("/bandits", "/"), ("/a", "/a"), ("/bandits2", "/bandits2")],
)
def test_a_prefix_may_come_with_the_path_or_not(path: str, inside: str) -> None:
    app = WithPrefix(echo, "/bandits/")
    assert call(app, path).json()[2:] == [inside, "/bandits"]


@pytest.mark.parametrize("wrong", ["proxy.local", "10.0.0.1/8", ""])
def test_proxies_are_addresses(wrong: str) -> None:
    with pytest.raises(ValueError, match="an address or a network"):
        check_proxies([wrong])


@pytest.mark.parametrize("wrong", ["bandits", "//other.site", "/a//b"])
def test_a_prefix_is_a_path(wrong: str) -> None:
    with pytest.raises(ValueError, match="root_path must be a path such as /bandits"):
        WithPrefix(echo, wrong)


def test_a_login_stays_under_the_prefix(fake: FakeService) -> None:
    inner = Application(cast(Service, fake), pages=PAGES, log_requests=False)
    key = create_key(fake.database, name="k", role="read", now=time.time())
    inner._security.keys.refresh()
    app = behind(WithPrefix(inner, "/bandits"), "10.0.0.1")
    said = {"origin": "https://shop.example", "host": "shop.example", "x-forwarded-proto": "https"}
    form = {"key": key, "next": "/tasks"}
    answer = call(app, "/bandits/login", method="POST", data=form, headers=said)
    assert (answer.status_code, answer.headers["location"]) == (303, "/bandits/tasks")
    assert "; Path=/bandits;" in answer.headers["set-cookie"]
    assert "; Secure" in answer.headers["set-cookie"]


def test_links_are_under_the_prefix(shared: Shop) -> None:
    pages = logged_in(application(shared.service, shared.jobs))
    app = WithPrefix(pages, "/bandits")
    for path in ("/", "/prior", "/tasks", "/decisions", "/items", "/none"):
        text = call(app, path, headers={"accept": "text/html"}).text
        links = [each for each in re.findall(r'(?:href|src|action)="([^"]*)"', text) if each]
        assert len(links) >= 5
        assert [link for link in links if not link.startswith(("/bandits/", "#"))] == []
        (style,) = [link for link in links if "dashboard.css" in link]
        assert call(app, style.replace("&amp;", "&")).status_code == 200


@pytest.mark.parametrize("path", ["/v1/bandits", "/"])
def test_without_a_key_nothing_is_answered_through_a_proxy(fake: FakeService, path: str) -> None:
    app = Application(cast(Service, fake), pages=PAGES, log_requests=False)
    headers = {"host": "127.0.0.1:8000"}
    assert call(app, path, "127.0.0.1", headers=headers).status_code == 200
    said = headers | {"x-forwarded-for": "203.0.113.9"}
    assert call(app, path, "127.0.0.1", headers=said).status_code == 403


@pytest.mark.parametrize("option", [("--proxy", "127.0.0.1"), ("--root-path", "/bandits")])
def test_serve_behind_a_proxy_needs_a_key(tmp_path: Path, option: tuple[str, str]) -> None:
    store = str(tmp_path / "store.db")
    found = CliRunner().invoke(command, ["serve", "--port", "0", "--store", store, *option])
    assert (found.exit_code, "key" in found.stderr) == (2, True)
