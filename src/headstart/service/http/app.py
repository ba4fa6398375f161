"""The application: every call from its first byte to its answer."""

import asyncio
import contextlib
import contextvars
import itertools
import re
import secrets
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol

import msgspec
from sqlalchemy.exc import SQLAlchemyError
from starlette.routing import Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headstart.service.engine.service import Service
from headstart.service.http import problems
from headstart.service.http.decoding import (
    DisconnectedError,
    Headers,
    check_content_type,
    decode,
    decode_query,
    decode_rows,
    is_json,
    read_body,
    read_parts,
)
from headstart.service.http.logs import Log
from headstart.service.http.metrics import Metrics
from headstart.service.http.openapi import describe
from headstart.service.http.routes import JSON, PROBES, ROUTES, Route, RouteTable, Stream, Text
from headstart.service.http.security import Security
from headstart.service.http.sessions import Pages
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import Message as ServiceMessage
from headstart.service.messages import ServiceError, unavailable
from headstart.service.store.database import reason_of
from headstart.service.store.keys import REFRESH_SECONDS

Header = tuple[bytes, bytes]
Answer = tuple[int, bytes | Iterator[bytes], list[Header]]
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_REQUEST_ID = re.compile(rb"[A-Za-z0-9_.:-]{1,64}")
_JSON_HEADER = (b"content-type", JSON.encode())
# Longer bodies are decoded in a thread.
_LONG_BODY = 1 << 18
_encode = msgspec.json.Encoder().encode
# Threads for calls that wait: those that change something may take long, and must keep neither
# probes nor readers from theirs.
_CHANGING, _READING, _PROBING = 8, 16, 2


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of one process: bytes per body, and requests that wait at once."""

    body_bytes: int = 16 << 20
    waiting: int = 2_000


class Completions:
    """Futures that end in other threads, awaited in an event loop.

    A group commit ends hundreds of futures at once. `asyncio.wrap_future` would wake the loop for
    each; here ended futures are collected, and the loop is woken once for all of them.
    """

    def __init__(self) -> None:
        self._ended: _Ended | None = None

    async def wait(self, future: Future[Any]) -> Any:
        """The result of a future, or its exception."""
        loop = asyncio.get_running_loop()
        ended = self._ended
        if ended is None or ended.loop is not loop:
            ended = self._ended = _Ended(loop)
        waiter: asyncio.Future[Any] = loop.create_future()
        future.add_done_callback(lambda done: ended.add(waiter, done))
        return await waiter


class _Ended:
    """Ended futures whose waiters in a loop do not know yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._pairs: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._called = False

    def add(self, waiter: asyncio.Future[Any], done: Future[Any]) -> None:
        # In any thread. The pair is added before the flag is read, and `_tell` lowers the flag
        # before it looks for pairs: so none is left over. A call too many finds nothing to do.
        self._pairs.append((waiter, done))
        if not self._called:
            self._called = True
            try:
                self.loop.call_soon_threadsafe(self._tell)
            except RuntimeError:
                self._pairs.clear()  # the loop is closed: no call waits any more

    def _tell(self) -> None:
        self._called = False
        while self._pairs:
            waiter, done = self._pairs.popleft()
            if waiter.done():
                continue  # the call was cancelled
            if done.cancelled():
                waiter.cancel()
            elif (error := done.exception()) is not None:
                waiter.set_exception(error)
            else:
                waiter.set_result(done.result())


class Part(Protocol):
    """Something that runs in the background."""

    def start(self) -> None:
        """Begin."""
        ...

    def stop(self) -> None:
        """End the current work."""
        ...


class UploadQuery(ServiceMessage):
    """The request itself, as JSON, if the body is a log."""

    request: str = "{}"


class Application:
    """The service as an ASGI application.

    Calls of the interface go through one table of routes, without layers in between, since most of
    a request's cost is here. All other paths are pages.
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
    ) -> None:
        self._service = service
        self._jobs = jobs
        self._limits = limits
        self._log = Log() if log is None else log
        self._log_requests = log_requests
        self._metrics = Metrics(service)
        self._security = Security(service.database, loopback=loopback)
        self._pages = None if pages is None else Pages(pages, self._security)
        self._completions = Completions()
        self._resources = {
            "service": service,
            "jobs": jobs,
            "metrics": self._metrics,
            "description": _described,
        }
        self._table = RouteTable(ROUTES)
        self._changing, self._reading, self._probing = (
            ThreadPoolExecutor(n, f"headstart-{name}")
            for n, name in ((_CHANGING, "change"), (_READING, "read"), (_PROBING, "probe"))
        )
        self._waiting = 0
        prefix = secrets.token_hex(4)
        self._ids = (f"{prefix}-{n:x}" for n in itertools.count(1))
        self._parts = [part for part in (service, jobs, users) if part is not None]
        self._lifespan = Router(lifespan=lambda _: self._running()).lifespan
        # Called when all parts have started, or one could not.
        self.on_start: Callable[[], None] = lambda: None
        self.on_failure: Callable[[], None] = lambda: None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
        else:
            raise ValueError(f"the service only speaks http, got {scope['type']}")

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        sent_id = headers.get(b"x-request-id")
        if sent_id is not None and _REQUEST_ID.fullmatch(sent_id):
            request_id = sent_id.decode()
        else:
            request_id = next(self._ids)
        method, template = scope["method"], "other"
        raw_path = scope.get("raw_path") or scope["path"].encode()
        path = raw_path.decode("latin-1")
        try:
            if self._pages is not None and not self._table.knows(path):
                template = "pages"
                status = await self._page(scope, receive, send, request_id)
            else:
                route, names = self._table.find(method, path)
                template = route.path
                if route.role is not None:
                    self._security.check(headers, route.role, changes=route.method != "GET")
                status, content, kinds = await self._answer(
                    route, names, scope["query_string"], headers, receive
                )
                if isinstance(content, bytes):
                    await _respond(send, status, content, kinds, request_id)
                else:
                    head = (status, kinds, request_id)
                    await self._stream(send, receive, content, head, whole=method != "HEAD")
        except DisconnectedError:
            status = 499
        except Exception as error:  # every error becomes an answer
            status = await self._refuse(send, error, request_id)
        method = method if method in _METHODS else "other"
        seconds = time.perf_counter() - start
        self._metrics.count(template, method, status, seconds)
        if self._log_requests and template not in PROBES:
            self._log.request(method, template, status, seconds, request_id)

    async def _stream(
        self,
        send: Send,
        receive: Receive,
        parts: Iterator[bytes],
        head: tuple[int, list[Header], str],
        *,
        whole: bool,
    ) -> None:
        """Send parts as they are made, until the client leaves; an error ends the connection."""
        status, headers, request_id = head
        part = await asyncio.to_thread(next, parts, None)
        headers.append((b"x-request-id", request_id.encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        gone = asyncio.create_task(_disconnected(receive))
        try:
            while part is not None and whole and not gone.done():
                await send({"type": "http.response.body", "body": part, "more_body": True})
                part = await asyncio.to_thread(next, parts, None)
        except Exception as error:  # the answer has begun, and is left incomplete
            self._log_error(error, request_id)
        else:
            await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()

    async def _answer(
        self, route: Route, names: dict[str, str], query: bytes, headers: Headers, receive: Receive
    ) -> Answer:
        """The status of an answer, its content and its headers."""
        if route.takes_upload and not is_json(headers):
            return await self._uploaded(route, names, query, headers, receive)
        body = b""
        if route.row is not None or route.body is not None:
            check_content_type(headers)
            body = await read_body(receive, headers, self._limits.body_bytes)
        if self._waiting >= self._limits.waiting:
            raise problems.too_many()
        self._waiting += 1
        try:
            if route.row is not None:
                return route.status, await self._rows(route, names["bandit"], body), [_JSON_HEADER]
            arguments: dict[str, Any] = dict(names)
            if route.query is not None:
                arguments["query"] = decode_query(route.query, query)
            if route.takes_upload:
                arguments["upload"] = None
            if route.body is not None and (body or not route.body_optional):
                arguments["body"] = await _off_loop_if_long(body, decode, route.decoder, body)
            return await self._called(route, arguments)
        finally:
            self._waiting -= 1

    async def _rows(self, route: Route, bandit: str, body: bytes) -> bytes:
        """One request, or a list of them."""
        rows, many = await _off_loop_if_long(
            body, decode_rows, route.decoder, route.rows_decoder, body
        )
        good = [row for row in rows if not isinstance(row, ServiceError)] if many else rows
        if good:
            answers = await self._completions.wait(route.function(self._service, bandit, good))
        else:
            await asyncio.to_thread(self._service.bandit, bandit)
            answers = []
        if not many:
            if isinstance(answers[0], ServiceError):
                raise answers[0]
            return _encode(answers[0])
        following = iter(answers)
        placed = [row if isinstance(row, ServiceError) else next(following) for row in rows]
        return _encode([a.problem if isinstance(a, ServiceError) else a for a in placed])

    async def _uploaded(
        self, route: Route, names: dict[str, str], query: bytes, headers: Headers, receive: Receive
    ) -> Answer:
        """Read a log from the body, and the request from the query."""
        if self._jobs is None:
            raise _no_jobs()
        request = decode_query(UploadQuery, query).request
        body = decode(route.decoder, request.encode())
        kind = headers.get(b"content-type", b"").decode("latin-1")
        upload = await asyncio.to_thread(self._jobs.receive, kind)
        with upload:
            async for part in read_parts(receive):
                await asyncio.to_thread(upload.write, part)
        return await self._called(route, {**names, "body": body, "upload": upload})

    async def _called(self, route: Route, arguments: dict[str, Any]) -> Answer:
        if "jobs" in route.resources and self._jobs is None:
            raise _no_jobs()
        resources = {name: self._resources[name] for name in route.resources}
        call = partial(route.function, **resources, **arguments)
        pool = self._reading if route.method == "GET" else self._changing
        pool = self._probing if route.path in PROBES else pool
        context = contextvars.copy_context()
        answer = await asyncio.get_running_loop().run_in_executor(pool, context.run, call)
        if isinstance(answer, Stream):
            return route.status, answer.parts, [(b"content-type", answer.content_type.encode())]
        if isinstance(answer, Text):
            return route.status, answer.content, [(b"content-type", answer.content_type.encode())]
        return route.status, b"" if route.status == 204 else _encode(answer), [_JSON_HEADER]

    async def _page(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> int:
        """Let a page answer. Returns its status."""
        assert self._pages is not None
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._pages(scope, receive, watched)
        except Exception as error:
            if not status:
                raise
            self._log_error(error, request_id)  # the answer has begun, and cannot be changed
        return status

    async def _refuse(self, send: Send, error: Exception, request_id: str) -> int:
        """Answer with a problem. Returns its status."""
        expected = problems.from_exception(error)
        if isinstance(error, SQLAlchemyError):
            self._log.event(
                "store error", level="error", request_id=request_id, detail=reason_of(error)
            )
        if expected is None:
            self._log_error(error, request_id)
            expected = problems.internal(request_id)
        status, content = expected.problem.status, problems.content_of(expected.problem)
        headers = problems.headers_of(expected)
        if status in (408, 413):
            headers.append((b"connection", b"close"))  # the rest of the body is not read
        await _respond(send, status, content, headers, request_id)
        return status

    def _log_error(self, error: Exception, request_id: str) -> None:
        """Log an error of the service: where it happened, without values that it may name."""
        self._log.event(
            "error",
            level="error",
            request_id=request_id,
            detail=type(error).__name__,
            traceback="".join(traceback.format_tb(error.__traceback__)),
        )

    @contextlib.asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        """Start parts in order, while answering probes; end them in the opposite order."""
        starting = asyncio.create_task(self._start())
        refreshing = asyncio.create_task(self._refresh_keys())
        yield
        refreshing.cancel()
        await starting  # a part that is starting cannot be ended
        for part in reversed(self._parts):
            await asyncio.to_thread(part.stop)
        for pool in (self._changing, self._reading, self._probing):
            pool.shutdown(wait=False)
        self._log.flush()

    async def _start(self) -> None:
        try:
            for part in self._parts:
                await asyncio.to_thread(part.start)
            await asyncio.to_thread(self.on_start)
            self._log.event("ready")
        except Exception:  # whatever happened, the process cannot serve
            self._log.event("failed to start", level="error", traceback=traceback.format_exc())
            self.on_failure()

    async def _refresh_keys(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                await asyncio.to_thread(self._security.keys.refresh)
            except Exception as error:  # the keys known so far stay
                self._log.event("keys not read", level="warning", detail=type(error).__name__)


async def _off_loop_if_long(body: bytes, work: Callable[..., Any], *arguments: Any) -> Any:
    if len(body) > _LONG_BODY:
        return await asyncio.to_thread(work, *arguments)
    return work(*arguments)


async def _disconnected(receive: Receive) -> None:
    """Wait until the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


@cache
def _described(prefix: str) -> bytes:
    """The description of the interface, under a prefix."""
    return _encode(describe(ROUTES, prefix))


def _no_jobs() -> ServiceError:
    return unavailable("this process does no jobs")


async def _respond(
    send: Send, status: int, content: bytes, headers: list[Header], request_id: str
) -> None:
    headers.append((b"content-length", b"%d" % len(content)))
    headers.append((b"x-request-id", request_id.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
