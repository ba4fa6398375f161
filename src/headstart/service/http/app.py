"""The application: every call from its first byte to its answer."""

import asyncio
import itertools
import re
import secrets
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from headstart.service.engine.service import Service
from headstart.service.http import problems
from headstart.service.http.decoding.bodies import DisconnectedError, check_content_type, read_body
from headstart.service.http.decoding.messages import decode, decode_query, decode_rows
from headstart.service.http.interface.openapi import describe
from headstart.service.http.interface.routing import Call, Raw, Route, RouteTable, Rows
from headstart.service.http.interface.table import BANDITS, HOT, ITEMS, PROBES, RECORDS
from headstart.service.http.keys import REFRESH_SECONDS
from headstart.service.http.logs import Log
from headstart.service.http.metrics import Metrics
from headstart.service.http.pages import Pages
from headstart.service.http.security import Security
from headstart.service.http.sessions import Sessions
from headstart.service.http.waiting import Completions
from headstart.service.messages import Problem, ServiceError

Header = tuple[bytes, bytes]
_JSON = b"application/json"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_REQUEST_ID = re.compile(rb"[A-Za-z0-9_.:-]{1,64}")
_PROBES = frozenset(route.path for route in PROBES)  # which come every second, and are not logged
# Longer bodies are decoded in a thread.
_LONG_BODY = 1 << 18
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one process takes: bytes per body, and requests that wait at once."""

    body_bytes: int = 16 << 20
    waiting: int = 2_000


class Application:
    """The service as an ASGI application.

    Calls of the interface go through one table of routes, without layers between: what a request
    costs is mostly here. All other paths are those of pages.
    """

    def __init__(
        self,
        service: Service,
        *,
        loopback: bool = True,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        log: Log | None = None,
        log_requests: bool = True,
        pages: ASGIApp | None = None,
    ) -> None:
        self._service = service
        self._limits = limits
        self._log = Log() if log is None else log
        self._log_requests = log_requests
        # Called when the service has started, or could not.
        self.on_start: Callable[[], None] = lambda: None
        self.on_failure: Callable[[], None] = lambda: None
        self._metrics = Metrics(service.status)
        self._security = Security(service.database, loopback=loopback)
        self._table = RouteTable(self._routes())
        self._description = _encode(describe(self._table.routes))
        self._pages: ASGIApp | None = None
        if pages is not None:
            table = Sessions(service.database, self._security.keys, service.clock)
            self._pages = Pages(pages, self._security, table, service.clock)
        prefix = secrets.token_hex(4)
        self._ids = (f"{prefix}-{n:x}" for n in itertools.count(1))
        self._completions = Completions()
        self._waiting = 0

    def _routes(self) -> list[Route]:
        def own(
            name: str, path: str, summary: str, read: Callable[[Call], Raw], **more: Any
        ) -> Route:
            return Route(method="GET", path=path, name=name, summary=summary, read=read, **more)

        return [
            *HOT,
            *BANDITS,
            *ITEMS,
            *RECORDS,
            *PROBES,
            own(
                "metrics",
                "/metrics",
                "Metrics for Prometheus.",
                lambda _: self._metrics.text(),
                role="read",
            ),
            own(
                "openapi",
                "/openapi.json",
                "This description.",
                lambda _: Raw(content=self._description, content_type=_JSON),
                role=None,
            ),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        else:
            raise ValueError(f"the service speaks http, got {scope['type']}")

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        given_id = headers.get(b"x-request-id")
        if given_id is not None and _REQUEST_ID.fullmatch(given_id):
            request_id = given_id.decode()
        else:
            request_id = next(self._ids)
        method, template = scope["method"], "other"
        raw_path = scope.get("raw_path") or scope["path"].encode()
        try:
            if self._pages is not None and not self._table.knows(raw_path):
                template = "pages"
                status = await self._page(scope, receive, send)
            else:
                route, names = self._table.find(method, raw_path)
                template = route.path
                status = route.status
                content, kind = await self._answer(route, names, scope, headers, receive)
                await _respond(send, status, content, [(b"content-type", kind)], request_id)
        except DisconnectedError:
            status = 499
        except Exception as error:  # every error becomes an answer
            status = await self._refuse(send, error, request_id)
        method = method if method in _METHODS else "other"
        seconds = time.perf_counter() - start
        self._metrics.count(template, method, status, seconds)
        if self._log_requests and template not in _PROBES:
            self._log.request(method, template, status, seconds, request_id)

    async def _answer(
        self,
        route: Route,
        names: dict[str, str],
        scope: Scope,
        headers: dict[bytes, bytes],
        receive: Receive,
    ) -> tuple[bytes, bytes]:
        """The content of an answer, and its type."""
        if route.role is not None:
            self._security.check(headers, route.role, changes=route.changes)
        body = b""
        if route.takes_body:
            check_content_type(headers)
            body = await read_body(receive, headers, self._limits.body_bytes)
        if self._waiting >= self._limits.waiting:
            raise problems.too_many()
        self._waiting += 1
        try:
            if route.rows is not None:
                return await self._rows(route.rows, names["bandit"], body), _JSON
            return await self._one(route, names, scope["query_string"], body)
        finally:
            self._waiting -= 1

    async def _rows(self, rows: Rows, bandit: str, body: bytes) -> bytes:
        """One request, or a list of them."""
        if len(body) > _LONG_BODY:
            given, many = await asyncio.to_thread(decode_rows, rows.one, rows.many, body)
        else:
            given, many = decode_rows(rows.one, rows.many, body)
        good = [row for row in given if not isinstance(row, ServiceError)] if many else given
        if good:
            answers = await self._completions.wait(rows.submit(self._service, bandit, good))
        else:
            await asyncio.to_thread(self._service.bandit, bandit)
            answers = []
        found = iter(answers)
        if not many:
            answer = next(found)
            if isinstance(answer, ServiceError):
                raise answer
            return _encode(answer)
        placed = [row if isinstance(row, ServiceError) else next(found) for row in given]
        return _encode([a.problem if isinstance(a, ServiceError) else a for a in placed])

    async def _one(
        self, route: Route, names: dict[str, str], query: bytes, body: bytes
    ) -> tuple[bytes, bytes]:
        call = Call(
            service=self._service,
            names=names,
            query=None if route.query is None else decode_query(route.query, query),
            body=await _decoded(route, body),
        )
        if route.submit is not None:
            found = await self._completions.wait(route.submit(call))
        else:
            assert route.read is not None
            found = await asyncio.to_thread(route.read, call)
        if isinstance(found, Raw):
            return found.content, found.content_type
        return (b"" if route.status == 204 else _encode(found)), _JSON

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> int:
        assert self._pages is not None
        status = 500

        async def seen(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        await self._pages(scope, receive, seen)
        return status

    async def _refuse(self, send: Send, error: Exception, request_id: str) -> int:
        """Answer with a problem; its status."""
        expected = problems.from_exception(error)
        if expected is None:
            self._log.event(
                "error",
                level="error",
                request_id=request_id,
                detail=type(error).__name__,
                traceback="".join(traceback.format_tb(error.__traceback__)),
            )
            expected = problems.internal(request_id)
        elif error.__cause__ is not None and expected.problem.status >= 500:
            self._log.event(
                "error",
                level="error",
                request_id=request_id,
                detail=f"{type(error.__cause__).__name__}",
            )
        problem: Problem = expected.problem
        headers = problems.headers_of(expected)
        if problem.status in (408, 413):
            headers.append((b"connection", b"close"))  # the rest of the body is not read
        await _respond(send, problem.status, problems.content_of(problem), headers, request_id)
        return problem.status

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        tasks = [asyncio.create_task(self._start()), asyncio.create_task(self._refresh_keys())]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in tasks:
            task.cancel()
        await asyncio.to_thread(self._service.stop)
        self._log.flush()
        await send({"type": "lifespan.shutdown.complete"})

    async def _start(self) -> None:
        try:
            await asyncio.to_thread(self._service.start)
            await asyncio.to_thread(self.on_start)
        except Exception:  # whatever it was, the process cannot serve
            self._log.event("failed to start", level="error", traceback=traceback.format_exc())
            self.on_failure()

    async def _refresh_keys(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                await asyncio.to_thread(self._security.keys.refresh)
            except Exception as error:  # the keys known so far stay
                self._log.event("keys not read", level="warning", detail=type(error).__name__)


async def _decoded(route: Route, body: bytes) -> Any:
    if route.decoder is None or (route.body_optional and not body):
        return None
    if len(body) > _LONG_BODY:
        return await asyncio.to_thread(decode, route.decoder, body)
    return decode(route.decoder, body)


async def _respond(
    send: Send, status: int, content: bytes, headers: list[Header], request_id: str
) -> None:
    headers.append((b"content-length", b"%d" % len(content)))
    headers.append((b"x-request-id", request_id.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
