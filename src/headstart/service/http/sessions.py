"""Sessions: who is logged in to the dashboard, and the guard before its pages.

A session is a signed cookie with the id of a key: it ends after some hours, or with its key. The
cookie is SameSite=Strict, and a form must come from a page of the service, as its `Origin` says.
"""

from collections.abc import MutableMapping
from typing import Any
from urllib.parse import parse_qsl, quote

from itsdangerous import BadSignature, TimestampSigner
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp

from headstart.service.http.problems import no_path
from headstart.service.http.proxy import prefix
from headstart.service.http.security import NO_KEY_NEEDED, Security, check_origin
from headstart.service.messages import ServiceError
from headstart.service.store.keys import Key

COOKIE = "headstart_session"
SESSION_SECONDS = 4 * 3600
LOGIN, LOGOUT, STATIC = "/login", "/logout", "/static/"
_LARGEST_FORM = 64 * 1024
_KEY_IN_SCOPE, _LOGIN_IN_SCOPE = "headstart.key", "headstart.login"

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


def key_of(request: HTTPConnection) -> Key | None:
    """The key of a request; None only on the login page and for static files."""
    return request.scope.get(_KEY_IN_SCOPE)


def attach(scope: MutableMapping[str, Any], key: Key) -> None:
    """Make `key_of` find a key."""
    scope[_KEY_IN_SCOPE] = key


def login_of(request: HTTPConnection) -> dict[str, Any]:
    """What the login page shows: why a login was refused, and the page that follows."""
    return {"refusal": "", "next": "/", **request.scope.get(_LOGIN_IN_SCOPE, {})}


class Pages(BaseHTTPMiddleware):
    """An application of pages, called only for those who may see them.

    Without a session the login page answers, with status 401, at any address. A form that changes
    something needs the role admin.
    """

    def __init__(self, app: ASGIApp, security: Security) -> None:
        super().__init__(app)
        self._security = security
        self._signer = TimestampSigner(security.keys.secret)

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Answer one request for a page."""
        if request.method not in ("GET", "HEAD", "POST"):
            detail = f"a page answers GET and POST, got {request.method[:20]}"
            raise ServiceError(405, "Method not allowed", detail)
        is_form = request.method == "POST"
        headers = dict(request.scope["headers"])
        self._security.check_browser(headers, changes=is_form)
        is_static = request.scope["path"].startswith(STATIC)
        if is_form:
            _check_form(request)
            check_origin(headers, needed=True)
        act = call_next(request) if is_static else self._page(request, call_next, is_form=is_form)
        answer = await act
        answer.headers.update(PAGE_HEADERS)
        if not is_static:
            answer.headers["cache-control"] = "no-store"
        return answer

    async def _page(
        self, request: Request, call_next: RequestResponseEndpoint, *, is_form: bool
    ) -> Response:
        path = request.scope["path"]
        key = self._find(request.cookies.get(COOKIE))
        if key is not None:
            attach(request.scope, key)
        if path == LOGIN and is_form:
            return await self._log_in(request, call_next)
        if key is None:
            following = quote(path) + (f"?{request.url.query}" if request.url.query else "")
            is_asked = path == LOGIN and not is_form
            following = "/" if is_form or path == LOGIN else _local(following)
            return await _login(request, call_next, 200 if is_asked else 401, next=following)
        if path == LOGIN:
            return RedirectResponse(prefix.get() + "/", 303)
        if path == LOGOUT and is_form:
            answer = RedirectResponse(prefix.get() + LOGIN, 303)
            answer.delete_cookie(COOKIE, path=prefix.get() or "/")
            return answer
        if is_form and key.role != "admin":
            raise ServiceError(403, "Forbidden", "the key must have the role admin, got read")
        return await call_next(request)

    def _find(self, cookie: str | None) -> Key | None:
        """The key of a cookie; None if it has expired, or the key was revoked."""
        keys = self._security.keys
        if not keys.needed:
            return NO_KEY_NEEDED
        try:
            identity = self._signer.unsign(cookie or "", max_age=SESSION_SECONDS)
        except BadSignature:
            return None
        key = keys.by_id(identity.decode())
        return key if key is not None and key.may("read") else None

    async def _log_in(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        fields = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        following = _local(fields.get("next", "/"))
        key = self._security.keys.find(fields.get("key", "").strip())
        if key is None or not key.may("read"):
            refusal = "This key is not one of the service, or was revoked."
            if key is not None:
                refusal = "This key has the role decide: the dashboard needs read or admin."
            return await _login(request, call_next, 401, refusal=refusal, next=following)
        response = RedirectResponse(prefix.get() + following, 303)
        response.set_cookie(
            COOKIE,
            self._signer.sign(key.id).decode(),
            max_age=SESSION_SECONDS,
            path=prefix.get() or "/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return response


async def _login(
    request: Request, call_next: RequestResponseEndpoint, status: int, **shown: str
) -> Response:
    """The login page, whatever the address."""
    address = {"path": LOGIN, "raw_path": LOGIN.encode(), "query_string": b"", "method": "GET"}
    request.scope.update(address, **{_LOGIN_IN_SCOPE: shown})
    answer = await call_next(request)
    answer.status_code = status
    return answer


def _local(path: str) -> str:
    """A path of this service, never another site."""
    plain = path.isprintable() and "\\" not in path and not path.startswith("//")
    return path if plain and path.startswith("/") else "/"


def _check_form(request: Request) -> None:
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == "application/json":  # a call of the interface at a wrong path
        raise no_path(request.scope["path"])
    if kind != "application/x-www-form-urlencoded":
        raise ServiceError(
            415,
            "Unsupported media type",
            f"a form must be application/x-www-form-urlencoded, got {kind[:100]!r}",
        )
    size = request.headers.get("content-length", "")
    if not size.isdigit() or int(size) > _LARGEST_FORM:
        raise ServiceError(
            413, "Content too large", f"a form must have at most {_LARGEST_FORM} bytes"
        )
