"""Bodies: read whole, up to a limit and within a time."""

import asyncio
from collections.abc import AsyncIterator

from starlette.types import Receive

from headstart.service.http.problems import too_large
from headstart.service.http.security import Headers
from headstart.service.messages import ServiceError

# How long a body may take to arrive.
_SECONDS = 30.0


class DisconnectedError(Exception):
    """The client went away before its request was complete."""


def is_json(headers: Headers) -> bool:
    """Whether a body is said to be JSON, or not said to be anything."""
    given = headers.get(b"content-type")
    if given is None or given == b"application/json":
        return True
    kind = given.split(b";")[0].strip().lower()
    return kind == b"application/json" or kind.endswith(b"+json")


def check_content_type(headers: Headers) -> None:
    """Refuse bodies that are said to be other than JSON."""
    if not is_json(headers):
        shown = headers[b"content-type"][:100].decode("latin-1")
        raise ServiceError(
            415,
            "Unsupported media type",
            f"Content-Type must be application/json, got {shown!r}",
        )


async def read_body(receive: Receive, headers: Headers, most_bytes: int) -> bytes:
    """The body of a request."""
    told = headers.get(b"content-length")
    if told is not None and told.isdigit() and (len(told) > 18 or int(told) > most_bytes):
        raise too_large(most_bytes)
    message = await receive()
    if message["type"] != "http.request":
        raise DisconnectedError
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        if len(body) > most_bytes:
            raise too_large(most_bytes)
        return body
    try:
        async with asyncio.timeout(_SECONDS):
            return await _read_rest(receive, body, most_bytes)
    except TimeoutError:
        detail = f"the body must arrive within {_SECONDS:.0f} seconds, got a part of it"
        raise ServiceError(408, "Request timeout", detail) from None


async def read_parts(receive: Receive) -> AsyncIterator[bytes]:
    """The parts of a body as they arrive; each has to arrive in time."""
    more = True
    while more:
        try:
            message = await asyncio.wait_for(receive(), _SECONDS)
        except TimeoutError:
            detail = f"the next part of the body must arrive within {_SECONDS:.0f} seconds"
            raise ServiceError(408, "Request timeout", detail) from None
        if message["type"] != "http.request":
            raise DisconnectedError
        yield message.get("body", b"")
        more = message.get("more_body", False)


async def _read_rest(receive: Receive, body: bytes, most_bytes: int) -> bytes:
    parts, size, more = [body], len(body), True
    while more and size <= most_bytes:
        message = await receive()
        if message["type"] != "http.request":
            raise DisconnectedError
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
    if size > most_bytes:
        raise too_large(most_bytes)
    return b"".join(parts)
