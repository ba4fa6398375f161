"""Sessions: who is logged in to the dashboard, and the guard before its pages.

A session is a row of the store, so that it ends with a logout, or with its key. Its cookie is
SameSite=Strict, and a form must come from a page of the service, as its `Origin` says.
"""

import asyncio
import hashlib
import secrets
from collections import deque
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote

from sqlalchemy import delete, insert, select
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headstart.service.http.problems import no_path
from headstart.service.http.proxy import prefix
from headstart.service.http.security import Security, check_origin
from headstart.service.messages import Role, ServiceError
from headstart.service.store.database import Database
from headstart.service.store.keys import Key, Keys
from headstart.service.store.schema import sessions

COOKIE = "headstart_session"
SESSION_SECONDS = 12 * 3600.0
LOGIN, LOGOUT, STATIC = "/login", "/logout", "/static/"
# Failed logins per address and minute.
MOST_FAILURES = 10
_FAILURE_SECONDS = 60.0
_MOST_ADDRESSES = 10_000
_LARGEST_FORM = 64 * 1024
_SESSION_IN_SCOPE, _VISIT_IN_SCOPE = "headstart.session", "headstart.visit"

# For every page: nothing is loaded from elsewhere, and nothing is inline.
PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True, kw_only=True)
class Session:
    """One login. Without keys there is none, and every page is shown as for an admin."""

    key: str  # the id of its key, "" if none is needed
    name: str  # of the key
    role: Role  # read or admin

    @property
    def may_change(self) -> bool:
        """Whether forms that change something are answered."""
        return self.role == "admin"

    @property
    def can_log_out(self) -> bool:
        """Whether there was a login."""
        return bool(self.key)


@dataclass(frozen=True, kw_only=True)
class Visit:
    """What the login page shows: a sentence, and the page that follows."""

    notice: str = ""
    next: str = "/"


def current(request: HTTPConnection) -> Session | None:
    """The session of a request; None only on the login page and for static files."""
    session = request.scope.get(_SESSION_IN_SCOPE)
    return session if isinstance(session, Session) else None


def visit(request: HTTPConnection) -> Visit:
    """What the login page shows."""
    login = request.scope.get(_VISIT_IN_SCOPE)
    return login if isinstance(login, Visit) else Visit()


def attach(scope: MutableMapping[str, object], session: Session) -> None:
    """Make `current` find a session."""
    scope[_SESSION_IN_SCOPE] = session


class Sessions:
    """The table of sessions. A cookie holds 256 random bits, the table their hash."""

    def __init__(self, database: Database, keys: Keys, clock: Callable[[], float]) -> None:
        self._database = database
        self._keys = keys
        self._clock = clock

    def begin(self, key: Key) -> str:
        """Begin a session. Returns the content of its cookie."""
        cookie, now = secrets.token_urlsafe(32), self._clock()
        row = {
            "hash": _digest(cookie),
            "key": key.id,
            "created": now,
            "expires": now + SESSION_SECONDS,
        }
        with self._database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.expires < now))
            connection.execute(insert(sessions).values(row))
        return cookie

    def find(self, cookie: str | None) -> Session | None:
        """The session of a cookie; None if it ended, or its key was revoked."""
        if not self._keys.needed:
            return Session(key="", name="", role="admin")
        if not cookie:
            return None
        with self._database.reading() as connection:
            row = connection.execute(
                select(sessions).where(sessions.c.hash == _digest(cookie))
            ).first()
        if row is None or row.expires < self._clock():
            return None
        key = self._keys.by_id(row.key)
        if key is None or not key.may("read"):
            return None
        return Session(key=key.id, name=key.name, role=key.role)

    def end(self, cookie: str | None) -> None:
        """End a session: its cookie is refused from now on."""
        if cookie:
            with self._database.writing() as connection:
                connection.execute(delete(sessions).where(sessions.c.hash == _digest(cookie)))


def _digest(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).digest()


class Attempts:
    """Failed logins by address: past `MOST_FAILURES` in a minute, the next has to wait."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures: dict[str, deque[float]] = {}

    def too_many(self, address: str) -> bool:
        """Whether there were too many failures."""
        return len(self._recent(address)) >= MOST_FAILURES

    def failed(self, address: str) -> None:
        """Count a failure."""
        if len(self._failures) >= _MOST_ADDRESSES:
            for other in [a for a in self._failures if not self._recent(a)]:
                del self._failures[other]
        if len(self._failures) < _MOST_ADDRESSES or address in self._failures:
            self._failures.setdefault(address, deque()).append(self._clock())

    def _recent(self, address: str) -> deque[float]:
        times = self._failures.get(address, deque())
        while times and times[0] < self._clock() - _FAILURE_SECONDS:
            times.popleft()
        return times


class Pages:
    """An application of pages, called only for those who may see them.

    Without a session the login page answers, with status 401, at any address. A form that changes
    something needs the role admin.
    """

    def __init__(
        self, app: ASGIApp, security: Security, table: Sessions, clock: Callable[[], float]
    ) -> None:
        self._app = app
        self._security = security
        self._sessions = table
        self._attempts = Attempts(clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request for a page."""
        request, path = Request(scope, receive), scope["path"]
        is_form = scope["method"] not in ("GET", "HEAD", "OPTIONS")
        headers = dict(scope["headers"])
        self._security.check_browser(headers, changes=is_form)
        if path.startswith(STATIC):
            await self._app(scope, receive, _with_headers(send, static=True))
            return
        form = b""
        if is_form:
            _check_content_type(request)
            check_origin(headers, needed=True)
            form = await _form(request)
        send = _with_headers(send)
        session = await asyncio.to_thread(self._sessions.find, request.cookies.get(COOKIE))
        if session is not None:
            attach(scope, session)
        if path == LOGIN and is_form:
            await self._log_in(request, form, send)
        elif session is None:
            await self._login_page(request, send, is_form=is_form)
        elif path == LOGIN:
            await RedirectResponse(prefix.get() + "/", 303)(scope, receive, send)
        elif path == LOGOUT and is_form:
            await self._log_out(request, send)
        elif is_form and not session.may_change:
            raise ServiceError(403, "Forbidden", "the key must have the role admin, got read")
        else:
            await self._app(scope, _replay(form) if is_form else receive, send)

    async def _log_in(self, request: Request, form: bytes, send: Send) -> None:
        fields = dict(parse_qsl(form.decode("utf-8", "replace"), keep_blank_values=True))
        next_path = _local(fields.get("next", "/"))
        address = request.client.host if request.client else ""
        if self._attempts.too_many(address):
            notice = f"At most {MOST_FAILURES} failed logins per minute are answered: try later."
            await self._show_login(request, send, 429, Visit(notice=notice, next="/"))
            return
        key = self._security.keys.find(fields.get("key", "").strip())
        if key is None or not key.may("read"):
            self._attempts.failed(address)
            notice = "This key is not one of the service, or was revoked."
            if key is not None:
                notice = "This key has the role decide: the dashboard needs read or admin."
            await self._show_login(request, send, 401, Visit(notice=notice, next=next_path))
            return
        cookie = await asyncio.to_thread(self._sessions.begin, key)
        response = RedirectResponse(prefix.get() + next_path, 303)
        response.set_cookie(
            COOKIE,
            cookie,
            max_age=int(SESSION_SECONDS),
            path=prefix.get() or "/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        await response(request.scope, request.receive, send)

    async def _log_out(self, request: Request, send: Send) -> None:
        await asyncio.to_thread(self._sessions.end, request.cookies.get(COOKIE))
        response = RedirectResponse(prefix.get() + LOGIN, 303)
        response.delete_cookie(COOKIE, path=prefix.get() or "/")
        await response(request.scope, request.receive, send)

    async def _login_page(self, request: Request, send: Send, *, is_form: bool) -> None:
        """The login page instead of another, which follows after the login."""
        path, query = request.scope["path"], request.scope["query_string"].decode("latin-1")
        if is_form:
            await self._show_login(request, send, 401, Visit(notice="Log in to go on."))
        elif path == LOGIN:
            await self._show_login(request, send, 200, Visit())
        else:
            next_path = _local(quote(path) + (f"?{query}" if query else ""))
            await self._show_login(request, send, 401, Visit(next=next_path))

    async def _show_login(self, request: Request, send: Send, status: int, visit: Visit) -> None:
        """Show the login page, whatever the address."""
        scope = {**request.scope, "path": LOGIN, "raw_path": LOGIN.encode(), "method": "GET"}
        scope |= {"query_string": b"", _VISIT_IN_SCOPE: visit}

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                message["status"] = status
            await send(message)

        await self._app(scope, _replay(b""), answer)


def _local(path: str) -> str:
    """A path of this service, never another site."""
    plain = path.isprintable() and "\\" not in path and not path.startswith("//")
    return path if plain and path.startswith("/") else "/"


def _with_headers(send: Send, *, static: bool = False) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message["headers"]))
            headers.update(PAGE_HEADERS)
            if not static:
                headers["cache-control"] = "no-store"
            message["headers"] = headers.raw
        await send(message)

    return answer


def _check_content_type(request: Request) -> None:
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == "application/json":  # a call of the interface at a wrong path
        raise no_path(request.scope["path"])
    if kind != "application/x-www-form-urlencoded":
        raise ServiceError(
            415,
            "Unsupported media type",
            f"a form must be application/x-www-form-urlencoded, got {kind[:100]!r}",
        )


async def _form(request: Request) -> bytes:
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > _LARGEST_FORM:
            raise ServiceError(
                413, "Content too large", f"a form must have at most {_LARGEST_FORM} bytes"
            )
    return content


def _replay(body: bytes) -> Receive:
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return parts.pop() if parts else {"type": "http.disconnect"}

    return receive
