"""Answering: what a route does with a call that may be made."""

import asyncio
from typing import Any

import msgspec
from starlette.types import Receive

from headstart.service.engine.service import Service
from headstart.service.http import problems
from headstart.service.http.decoding.bodies import (
    check_content_type,
    is_json,
    read_body,
    read_parts,
)
from headstart.service.http.decoding.messages import decode, decode_query, decode_rows
from headstart.service.http.interface.routing import Call, Raw, Route, Rows, UploadQuery
from headstart.service.http.security import Headers
from headstart.service.http.waiting import Completions
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import ServiceError, unavailable

JSON = b"application/json"
# Longer bodies are decoded in a thread.
_LONG_BODY = 1 << 18
_encode = msgspec.json.Encoder().encode


class Answering:
    """Reads the body of a call, has the service do it, and encodes the answer."""

    def __init__(
        self, service: Service, jobs: Jobs | None, *, body_bytes: int, waiting: int
    ) -> None:
        self._service = service
        self._jobs = jobs
        self._body_bytes = body_bytes
        self._most_waiting = waiting
        self._completions = Completions()
        self._waiting = 0

    async def answer(
        self, route: Route, names: dict[str, str], query: bytes, headers: Headers, receive: Receive
    ) -> tuple[bytes, bytes]:
        """The content of an answer, and its type."""
        if route.upload and not is_json(headers):
            return await self._uploaded(route, names, query, headers, receive)
        body = b""
        if route.takes_body:
            check_content_type(headers)
            body = await read_body(receive, headers, self._body_bytes)
        if self._waiting >= self._most_waiting:
            raise problems.too_many()
        self._waiting += 1
        try:
            if route.rows is not None:
                return await self._rows(route.rows, names["bandit"], body), JSON
            return await self._one(route, names, query, body)
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
        if not many:
            if isinstance(answers[0], ServiceError):
                raise answers[0]
            return _encode(answers[0])
        found = iter(answers)
        placed = [row if isinstance(row, ServiceError) else next(found) for row in given]
        return _encode([a.problem if isinstance(a, ServiceError) else a for a in placed])

    async def _one(
        self, route: Route, names: dict[str, str], query: bytes, body: bytes
    ) -> tuple[bytes, bytes]:
        call = Call(
            service=self._service,
            jobs=self._jobs,
            names=names,
            query=None if route.query is None else decode_query(route.query, query),
            body=await _decoded(route, body),
        )
        if route.submit is not None:
            return _encoded(route, await self._completions.wait(route.submit(call)))
        assert route.read is not None
        return _encoded(route, await asyncio.to_thread(route.read, call))

    async def _uploaded(
        self, route: Route, names: dict[str, str], query: bytes, headers: Headers, receive: Receive
    ) -> tuple[bytes, bytes]:
        """A log instead of a request, which is in the query."""
        assert route.decoder is not None
        assert route.read is not None
        if self._jobs is None:
            raise unavailable("this process does no jobs")
        given = decode_query(UploadQuery, query)
        body = decode(route.decoder, given.request.encode())
        kind = headers.get(b"content-type", b"").decode("latin-1")
        upload = await asyncio.to_thread(self._jobs.receive, kind)
        with upload:
            async for part in read_parts(receive):
                await asyncio.to_thread(upload.write, part)
        call = Call(
            service=self._service,
            jobs=self._jobs,
            names=names,
            query=None,
            body=body,
            upload=upload,
        )
        return _encoded(route, await asyncio.to_thread(route.read, call))


def _encoded(route: Route, found: Any) -> tuple[bytes, bytes]:
    if isinstance(found, Raw):
        return found.content, found.content_type
    return (b"" if route.status == 204 else _encode(found)), JSON


async def _decoded(route: Route, body: bytes) -> Any:
    if route.decoder is None or (route.body_optional and not body):
        return None
    if len(body) > _LONG_BODY:
        return await asyncio.to_thread(decode, route.decoder, body)
    return decode(route.decoder, body)
