"""Login, logout, forms and headers of the pages."""

import time
from typing import cast

import pytest
from itsdangerous import TimestampSigner
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route, Router
from tests.service.http.calling import Caller
from tests.service.http.fake import FakeService

from headstart.service.engine.service import Service
from headstart.service.http import sessions
from headstart.service.http.app import Application
from headstart.service.messages import Role
from headstart.service.store.keys import create_key, revoke_key


def login_page(request: Request) -> HTMLResponse:
    shown = sessions.login_of(request)
    return HTMLResponse(f"login {shown['refusal']} next={shown['next']}")


def overview(request: Request) -> PlainTextResponse:
    key = sessions.key_of(request)
    assert key is not None
    return PlainTextResponse(f"overview {key.role}")


async def change(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"changed {(await request.body()).decode()[:9]}")


FORM = {"content-type": "application/x-www-form-urlencoded"}
PAGES = Router(
    [
        Route("/", overview),
        Route("/login", login_page),
        Route("/change", change, methods=["POST"]),
        Route("/static/a.js", lambda _: PlainTextResponse("js")),
    ]
)


@pytest.fixture
def pages(fake: FakeService) -> Caller:
    app = Application(cast(Service, fake), pages=PAGES, log_requests=False)
    return Caller(app, origin="http://localhost")  # as a browser sends it with a form


def key_of(caller: Caller, fake: FakeService, role: Role) -> str:
    key = create_key(fake.database, name="k", role=role, now=time.time())
    caller.app._security.keys.refresh()
    return key


def log_in(caller: Caller, key: str, next_path: str = "/") -> int:
    return caller.post("/login", data={"key": key, "next": next_path}).status_code


def test_without_keys_pages_are_open_and_forms_must_come_from_one(pages: Caller) -> None:
    assert pages.get("/").text == "overview admin"
    assert pages.post("/change", data={"x": "1"}).text == "changed x=1"
    for origin in ("http://evil.example", "http://localhost:9", "null", ""):
        answer = pages.post("/change", data={"x": "1"}, headers={"origin": origin})
        assert answer.status_code == 403
    pages.headers = {}
    assert pages.post("/change", data={"x": "1"}).status_code == 403
    assert pages.get("/", headers={"host": "evil.example"}).status_code == 403


def test_with_keys_the_login_page_answers_everywhere(pages: Caller, fake: FakeService) -> None:
    key_of(pages, fake, "admin")
    answer = pages.get("/?x=1")
    assert answer.status_code == 401
    assert "next=/?x=1" in answer.text
    assert pages.get("/login").status_code == 200
    assert pages.get("/static/a.js").text == "js"
    assert pages.post("/change", data={"x": "1"}).status_code == 401


def test_login_and_logout(pages: Caller, fake: FakeService) -> None:
    key = key_of(pages, fake, "admin")
    assert log_in(pages, key) == 303
    assert pages.get("/").text == "overview admin"
    assert pages.post("/change", data={"x": "1"}).status_code == 200
    evil = {"origin": "http://evil.example"}
    assert pages.post("/logout", data={}, headers=FORM | evil).status_code == 403
    assert pages.get("/").status_code == 200
    assert pages.post("/logout", data={}, headers=FORM).status_code == 303
    assert pages.get("/").status_code == 401


def test_the_cookie_is_kept_from_scripts_and_other_sites(pages: Caller, fake: FakeService) -> None:
    fields = {"key": key_of(pages, fake, "read")}
    plain = pages.post("/login", data=fields).headers["set-cookie"].lower()
    assert "httponly" in plain
    assert "samesite=strict" in plain
    assert "secure" not in plain
    pages.cookies.clear()
    said = pages.post("/login", data=fields, headers={"x-forwarded-proto": "https"})
    assert "secure" not in said.headers["set-cookie"].lower()  # anybody may say so


def test_a_key_with_read_changes_nothing(pages: Caller, fake: FakeService) -> None:
    assert log_in(pages, key_of(pages, fake, "read")) == 303
    assert pages.post("/change", data={"x": "1"}).status_code == 403


def test_a_key_with_decide_cannot_log_in(pages: Caller, fake: FakeService) -> None:
    assert log_in(pages, key_of(pages, fake, "decide")) == 401


def test_a_revoked_key_ends_its_sessions(pages: Caller, fake: FakeService) -> None:
    key = key_of(pages, fake, "admin")
    assert log_in(pages, key) == 303
    revoke_key(fake.database, key.split("_")[1], now=time.time())
    pages.app._security.keys.refresh()
    assert pages.get("/").status_code == 401


def test_a_session_expires(
    pages: Caller, fake: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert log_in(pages, key_of(pages, fake, "admin")) == 303
    monkeypatch.setattr(sessions, "SESSION_SECONDS", -1)
    assert pages.get("/").status_code == 401


def test_only_the_service_makes_cookies(pages: Caller, fake: FakeService) -> None:
    key = key_of(pages, fake, "admin")
    for secret in ("", "guessed"):
        forged = TimestampSigner(secret or b"\x00").sign(key.split("_")[1]).decode()
        pages.cookies.set(sessions.COOKIE, forged)
        assert pages.get("/").status_code == 401


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:x", "/a\nb"]
)
def test_login_leads_to_no_other_site(pages: Caller, fake: FakeService, target: str) -> None:
    key = key_of(pages, fake, "admin")
    answer = pages.post("/login", data={"key": key, "next": target})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_another_site_logs_nobody_in(pages: Caller, fake: FakeService) -> None:
    fields = {"key": key_of(pages, fake, "admin")}
    answer = pages.post("/login", data=fields, headers={"origin": "http://evil.example"})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_every_page_has_headers_of_safety(pages: Caller) -> None:
    headers = pages.get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "referrer-policy" in headers


def test_a_form_has_a_limit_and_a_type(pages: Caller) -> None:
    large = pages.post("/change", data={"x": "y" * 70_000})
    assert large.status_code == 413
    text = {"content-type": "text/plain"}
    assert pages.post("/change", content="x=1", headers=text).status_code == 415
    call = pages.post("/bandit/decisions", json={"x": 1})  # one of the interface, misspelt
    assert call.status_code == 404
    assert "'/bandit/decisions'" in call.json()["detail"]


def test_an_unknown_page_is_404(pages: Caller) -> None:
    assert pages.get("/nothing").status_code == 404


@pytest.mark.parametrize("method", ["TRACE", "PUT", "OPTIONS"])
def test_pages_have_two_methods(pages: Caller, method: str) -> None:
    assert pages.request(method, "/").status_code == 405
