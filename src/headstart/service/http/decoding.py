"""Decoding: bodies, read whole and in time, and queries, into messages."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec.json import Decoder
from starlette.types import Receive

from headstart.service.http.problems import too_large
from headstart.service.messages import MOST_ROWS, DecisionRequest, ServiceError, invalid

Headers = Mapping[bytes, bytes]
T = TypeVar("T")
_raw_rows: Decoder[list[msgspec.Raw]] = Decoder(list[msgspec.Raw])
# How long a body may take to arrive.
_SECONDS, _SECONDS_TO_SKIP = 30.0, 5.0
# PostgreSQL stores no text that holds the character 0.
_NUL = b"\\u0000"
_LONGEST_DETAIL = 500  # an unknown field may have any name


class DisconnectedError(Exception):
    """The client left before its request was complete."""


def is_json(headers: Headers) -> bool:
    """Whether a body is declared as JSON; without a body, nothing need be declared."""
    content_type = headers.get(b"content-type")
    if content_type is None or content_type == b"application/json":
        return True
    kind = content_type.split(b";")[0].strip().lower()
    return kind == b"application/json" or kind.endswith(b"+json")


def check_content_type(headers: Headers) -> None:
    """Refuse bodies that are not declared as JSON."""
    if not is_json(headers):
        content_type = headers[b"content-type"][:100].decode("latin-1")
        raise _no_json(repr(content_type))


def _no_json(got: str) -> ServiceError:
    detail = f"Content-Type must be application/json, got {got}"
    return ServiceError(415, "Unsupported media type", detail)


async def read_body(receive: Receive, headers: Headers, most_bytes: int) -> bytes:
    """The body of a request."""
    length = headers.get(b"content-length")
    if length is not None and length.isdigit() and (len(length) > 18 or int(length) > most_bytes):
        await _skip(receive, most_bytes)
        raise too_large(most_bytes)
    body, more = await _part(receive)
    if more:
        try:
            async with asyncio.timeout(_SECONDS):
                parts, size = [body], len(body)
                while more and size <= most_bytes:
                    part, more = await _part(receive)
                    parts.append(part)
                    size += len(part)
        except TimeoutError:
            raise _late(f"the body must arrive within {_SECONDS:.0f} seconds") from None
        body = b"".join(parts)
    if len(body) > most_bytes:
        if more:
            await _skip(receive, most_bytes)
        raise too_large(most_bytes)
    if body and b"content-type" not in headers:
        raise _no_json("none")
    return body


async def _skip(receive: Receive, most_bytes: int) -> None:
    """Let a client send a body that is refused, if it is not much too large.

    A client that is still sending when its connection ends does not see the answer.
    """
    size, more = 0, True
    with suppress(TimeoutError):
        async with asyncio.timeout(_SECONDS_TO_SKIP):
            while more and size <= 4 * most_bytes:
                part, more = await _part(receive)
                size += len(part)


async def read_parts(receive: Receive) -> AsyncIterator[bytes]:
    """The parts of a body as they arrive; each has to arrive in time."""
    more = True
    while more:
        try:
            part, more = await asyncio.wait_for(_part(receive), _SECONDS)
        except TimeoutError:
            raise _late(f"the next part must arrive within {_SECONDS:.0f} seconds") from None
        yield part


async def _part(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] != "http.request":
        raise DisconnectedError
    return message.get("body", b""), message.get("more_body", False)


def _late(detail: str) -> ServiceError:
    return ServiceError(408, "Request timeout", f"{detail}, got a part of the body")


def decode(decoder: Decoder[T], body: bytes | memoryview) -> T:
    """The message of a body, or an error that names what is wrong in it."""
    try:
        message = decoder.decode(body)
    except msgspec.ValidationError as error:
        raise invalid(str(error)[:_LONGEST_DETAIL]) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(error) from None
    if _NUL in bytes(body) and _has_nul(msgspec.to_builtins(message)):
        raise invalid("text must not contain the character U+0000")
    return message


def decode_rows(one: Decoder[Any], many: Decoder[list[Any]], body: bytes) -> tuple[list[Any], bool]:
    """The rows of a body, and whether it is a list; in a list, a bad row becomes its own error."""
    if body.lstrip()[:1] != b"[":
        return [decode(one, body)], False
    if _NUL not in body:
        try:
            return _limited(many.decode(body)), True
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    try:
        raws = _raw_rows.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(error) from None
    _check_number(raws)
    return _limited([_row(one, raw) for raw in raws]), True


def decode_query(kind: type[T], query: bytes) -> T:
    """The settings after the question mark."""
    fields: dict[str, str] = {}
    for name, text in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name in fields:
            raise invalid(f"the query must have {name!r} only once, got it twice")
        fields[name] = text
    try:
        message = msgspec.convert(fields, kind, strict=False)
    except msgspec.ValidationError as error:
        raise invalid(f"in the query: {error}"[:_LONGEST_DETAIL]) from None
    if _has_nul(fields):
        raise invalid("text must not contain the character U+0000")
    return message


def _row(one: Decoder[Any], raw: msgspec.Raw) -> Any:
    try:
        return decode(one, memoryview(raw))
    except ServiceError as error:
        return error


def _check_number(rows: list[Any]) -> None:
    if len(rows) > MOST_ROWS:
        raise invalid(f"a batch must have at most {MOST_ROWS} rows, got {len(rows)}")


def _limited(rows: list[Any]) -> list[Any]:
    """Check that rows, and the arms they choose, are few enough for one transaction."""
    _check_number(rows)
    n = sum(row.n for row in rows if isinstance(row, DecisionRequest))
    if n > MOST_ROWS:
        raise invalid(f"the n of a batch must add up to at most {MOST_ROWS}, got {n}")
    return rows


def _malformed(error: Exception) -> ServiceError:
    if isinstance(error, UnicodeDecodeError):
        reason = "its text is not UTF-8"
    elif isinstance(error, RecursionError):
        reason = "it is nested too deeply"
    else:
        reason = str(error).removeprefix("JSON is malformed: ")
    return ServiceError(400, "Malformed JSON", f"the body must be JSON, and it is not: {reason}")


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, Mapping):
        return any(_has_nul(part) for pair in value.items() for part in pair)
    if isinstance(value, Sequence):
        return any(_has_nul(part) for part in value)
    return False
