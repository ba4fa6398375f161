"""The application: every call from its first byte to its answer."""

import itertools
import re
import secrets
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from headstart.service.engine.service import Service
from headstart.service.http import problems
from headstart.service.http.answering import JSON, Answering
from headstart.service.http.decoding.bodies import DisconnectedError
from headstart.service.http.interface.job_table import FITS, JOBS
from headstart.service.http.interface.openapi import describe
from headstart.service.http.interface.routing import Call, Raw, Route, RouteTable
from headstart.service.http.interface.table import BANDITS, HOT, ITEMS, PROBES, RECORDS
from headstart.service.http.lifespan import Lifespan, Part
from headstart.service.http.logs import Log
from headstart.service.http.metrics import Metrics
from headstart.service.http.pages import Pages
from headstart.service.http.security import Security
from headstart.service.http.sessions import Sessions
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import Problem

Header = tuple[bytes, bytes]
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_REQUEST_ID = re.compile(rb"[A-Za-z0-9_.:-]{1,64}")
_PROBES = frozenset(route.path for route in PROBES)  # which come every second, and are not logged
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
        jobs: Jobs | None = None,
        users: Part | None = None,
        loopback: bool = True,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        log: Log | None = None,
        log_requests: bool = True,
        pages: ASGIApp | None = None,
        metrics_folder: Path | None = None,
    ) -> None:
        self._log = Log() if log is None else log
        self._log_requests = log_requests
        self._metrics = Metrics(service.status, metrics_folder)
        self._security = Security(service.database, loopback=loopback)
        self._table = RouteTable(self._routes())
        self._description = _encode(describe(self._table.routes))
        self._pages: ASGIApp | None = None
        if pages is not None:
            table = Sessions(service.database, self._security.keys, service.clock)
            self._pages = Pages(pages, self._security, table, service.clock)
        prefix = secrets.token_hex(4)
        self._ids = (f"{prefix}-{n:x}" for n in itertools.count(1))
        self._answering = Answering(
            service, jobs, body_bytes=limits.body_bytes, waiting=limits.waiting
        )
        parts = [part for part in (self._metrics, service, jobs, users) if part is not None]
        self.lifespan = Lifespan(parts, self._security.keys, self._log)

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
            *JOBS,
            *FITS,
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
                lambda _: Raw(content=self._description, content_type=JSON),
                role=None,
            ),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self.lifespan.run(receive, send)
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
                status = await self._page(scope, receive, send, request_id)
            else:
                route, names = self._table.find(method, raw_path)
                template = route.path
                status = route.status
                if route.role is not None:
                    self._security.check(headers, route.role, changes=route.changes)
                content, kind = await self._answering.answer(
                    route, names, scope["query_string"], headers, receive
                )
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

    async def _page(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> int:
        """Have a page answer; its status."""
        assert self._pages is not None
        status = 0

        async def seen(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._pages(scope, receive, seen)
        except Exception as error:
            if not status:
                raise
            self._log_error(error, request_id)  # the answer has begun, and cannot be another
        return status

    async def _refuse(self, send: Send, error: Exception, request_id: str) -> int:
        """Answer with a problem; its status."""
        expected = problems.from_exception(error)
        if expected is None:
            self._log_error(error, request_id)
            expected = problems.internal(request_id)
        problem: Problem = expected.problem
        headers = problems.headers_of(expected)
        if problem.status in (408, 413):
            headers.append((b"connection", b"close"))  # the rest of the body is not read
        await _respond(send, problem.status, problems.content_of(problem), headers, request_id)
        return problem.status

    def _log_error(self, error: Exception, request_id: str) -> None:
        """An error of the service: where it happened, without the values that it may name."""
        self._log.event(
            "error",
            level="error",
            request_id=request_id,
            detail=type(error).__name__,
            traceback="".join(traceback.format_tb(error.__traceback__)),
        )


async def _respond(
    send: Send, status: int, content: bytes, headers: list[Header], request_id: str
) -> None:
    headers.append((b"content-length", b"%d" % len(content)))
    headers.append((b"x-request-id", request_id.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
