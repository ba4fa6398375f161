"""The guard of the pages: login and logout, tokens of forms, and headers of safety."""

import asyncio
import secrets
from collections.abc import Callable
from urllib.parse import parse_qsl, quote

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headstart.service.http import sessions
from headstart.service.http.problems import no_path
from headstart.service.http.security import PAGE_HEADERS, Attempts, Security, check_origin
from headstart.service.http.sessions import Session, Sessions, Visit
from headstart.service.messages import ServiceError

LOGIN, LOGOUT, STATIC = "/login", "/logout", "/static/"
_LARGEST_FORM = 64 * 1024


class Pages:
    """An application of pages that is called only for those who may see them.

    Without a session the login page answers, with status 401, at any address. A form must carry
    the session's token; one that changes something needs the role admin.
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
        request = Request(scope, receive)
        headers = dict(scope["headers"])
        changes = scope["method"] not in ("GET", "HEAD", "OPTIONS")
        self._security.check_browser(headers, changes=changes)
        if scope["path"].startswith(STATIC):
            await self._app(scope, receive, _with_headers(send, static=True))
            return
        if changes:
            check_origin(headers)
        send = _with_headers(send)
        cookie = request.cookies.get(sessions.COOKIE)
        session = await asyncio.to_thread(self._sessions.find, cookie)
        if session is not None:
            sessions.attach(scope, session)
        if changes:
            await self._form(request, session, send)
        elif scope["path"] == LOGIN and session is not None:
            await RedirectResponse("/", 303)(scope, receive, send)
        elif session is None:
            await self._login_page(request, send, 200 if scope["path"] == LOGIN else 401)
        else:
            await self._app(scope, receive, send)

    async def _form(self, request: Request, session: Session | None, send: Send) -> None:
        """A form that was sent: its token first, then what it is for."""
        body = await _body(request)
        fields = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
        path = request.scope["path"]
        if session is None and path != LOGIN:
            await self._login_page(request, send, 401, "Log in to go on.", next_path="/")
            return
        self._check_token(request, session, fields.get("csrf", ""))
        if path == LOGIN:
            await self._login(request, fields, send)
        elif path == LOGOUT:
            await self._logout(request, send)
        elif session is not None and not session.may_change:
            raise ServiceError(403, "Forbidden", "the key must have the role admin, got read")
        else:
            await self._app(request.scope, _replay(body), send)

    def _check_token(self, request: Request, session: Session | None, given: str) -> None:
        if session is not None:
            expected = session.csrf
        else:
            cookie = request.cookies.get(sessions.LOGIN_COOKIE, "")
            expected = sessions.login_token(cookie) if cookie else ""
        if not expected or not sessions.same(given, expected):
            raise ServiceError(
                403, "Forbidden", "the form must be one of a page of this session: load it again"
            )

    async def _login(self, request: Request, fields: dict[str, str], send: Send) -> None:
        address = request.client.host if request.client else ""
        try:
            self._attempts.check(address)
        except ServiceError as error:
            await self._login_page(request, send, 429, _sentence(error))
            return
        key = self._security.keys.find(fields.get("key", "").strip())
        if key is None or not key.may("read"):
            self._attempts.failed(address)
            notice = "This key is not one of the service, or was revoked."
            if key is not None:
                notice = "This key has the role decide: the dashboard needs read or admin."
            await self._login_page(
                request, send, 401, notice, next_path=_local(fields.get("next", "/"))
            )
            return
        content = await asyncio.to_thread(self._sessions.begin, key)
        response = RedirectResponse(_local(fields.get("next", "/")), 303)
        _set_cookie(request, response, sessions.COOKIE, content, int(sessions.SESSION_SECONDS))
        response.delete_cookie(sessions.LOGIN_COOKIE)
        await response(request.scope, request.receive, send)

    async def _logout(self, request: Request, send: Send) -> None:
        await asyncio.to_thread(self._sessions.end, request.cookies.get(sessions.COOKIE))
        response = RedirectResponse(LOGIN, 303)
        response.delete_cookie(sessions.COOKIE)
        await response(request.scope, request.receive, send)

    async def _login_page(
        self,
        request: Request,
        send: Send,
        status: int,
        notice: str = "",
        next_path: str | None = None,
    ) -> None:
        """The page of the login, whatever the address."""
        cookie = request.cookies.get(sessions.LOGIN_COOKIE) or secrets.token_urlsafe(32)
        if next_path is None:
            asked = request.scope["path"]
            query = request.scope.get("query_string", b"").decode("latin-1")
            next_path = "/" if asked == LOGIN else quote(asked) + (f"?{query}" if query else "")
        carrier = Response()
        _set_cookie(request, carrier, sessions.LOGIN_COOKIE, cookie, 3600)
        scope = {**request.scope, "path": LOGIN, "raw_path": LOGIN.encode(), "method": "GET"}
        scope["query_string"] = b""
        sessions.attach(
            scope, Visit(csrf=sessions.login_token(cookie), notice=notice, next=_local(next_path))
        )

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["status"] = status if message["status"] == 200 else message["status"]
                message["headers"] = [
                    *message["headers"],
                    (b"set-cookie", carrier.headers["set-cookie"].encode()),
                ]
            await send(message)

        await self._app(scope, _replay(b""), answer)


def _sentence(error: ServiceError) -> str:
    detail = error.problem.detail
    return f"{detail[:1].upper()}{detail[1:]}."


def _local(path: str) -> str:
    """A path of this service, never another site."""
    plain = path.isprintable() and "\\" not in path and not path.startswith("//")
    return path if plain and path.startswith("/") else "/"


def _set_cookie(request: Request, response: Response, name: str, content: str, age: int) -> None:
    forwarded = request.headers.get("x-forwarded-proto", "")
    secure = "https" in (request.url.scheme, forwarded.split(",")[0].strip())
    response.set_cookie(
        name, content, max_age=age, path="/", secure=secure, httponly=True, samesite="strict"
    )


def _with_headers(send: Send, *, static: bool = False) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message["headers"]))
            for name, content in PAGE_HEADERS:
                headers[name.decode()] = content.decode()
            if not static:
                headers["cache-control"] = "no-store"
            message["headers"] = headers.raw
        await send(message)

    return answer


async def _body(request: Request) -> bytes:
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == "application/json":  # a call of the interface at a wrong path
        raise no_path(request.scope["path"])
    if kind != "application/x-www-form-urlencoded":
        raise ServiceError(
            415,
            "Unsupported media type",
            f"a form must be application/x-www-form-urlencoded, got {kind[:100]!r}",
        )
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
