"""Decoding: bodies and queries into messages, with errors in words."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec.json import Decoder

from headstart.service.http.decoding.sentences import sentence
from headstart.service.messages import MOST_ROWS, DecisionRequest, ServiceError, invalid

T = TypeVar("T")
_rows: Decoder[list[msgspec.Raw]] = Decoder(list[msgspec.Raw])
_LONGEST_SHOWN = 1 << 18
# PostgreSQL stores no text that holds the character 0.
_NUL = b"\\u0000"


def decode(decoder: "Decoder[T]", body: bytes | memoryview) -> T:
    """The message of a body, or an error that names what is wrong in it."""
    try:
        found = decoder.decode(body)
    except msgspec.ValidationError as error:
        # A long body is not decoded again to show the value.
        shown = bytes(body) if len(body) <= _LONGEST_SHOWN else b""
        raise invalid(sentence(str(error), shown, decoder.type)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(error) from None
    if _NUL in bytes(body) and _has_nul(msgspec.to_builtins(found)):
        raise invalid("text must not contain the character U+0000")
    return found


def decode_rows(one: Decoder[Any], many: Decoder[list[Any]], body: bytes) -> tuple[list[Any], bool]:
    """The rows of a body, and whether it is a list, where a bad row is an error in its place."""
    if body.lstrip()[:1] != b"[":
        return [decode(one, body)], False
    if _NUL not in body:
        try:
            return _chosen(_counted(many.decode(body))), True
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    try:
        raws = _counted(_rows.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(error) from None
    return _chosen([_row(one, raw) for raw in raws]), True


def decode_query(kind: "type[T]", query: bytes) -> T:
    """The settings after the question mark."""
    given: dict[str, str] = {}
    for name, text in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name in given:
            raise invalid(f"the query must have {name!r} once, got it twice")
        given[name] = text
    try:
        found = msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise invalid(sentence(str(error), given, kind, "the query")) from None
    if _has_nul(given):
        raise invalid("text must not contain the character U+0000")
    return found


def _row(one: Decoder[Any], raw: msgspec.Raw) -> Any:
    try:
        return decode(one, memoryview(raw))
    except ServiceError as error:
        return error


def _counted(rows: "list[T]") -> "list[T]":
    if len(rows) > MOST_ROWS:
        raise invalid(f"a batch must have at most {MOST_ROWS} rows, got {len(rows)}")
    return rows


def _chosen(rows: list[Any]) -> list[Any]:
    """Rows that choose few enough arms together: one transaction stores all of them."""
    n = sum(row.n for row in rows if isinstance(row, DecisionRequest))
    if n > MOST_ROWS:
        raise invalid(f"the n of a batch must add up to at most {MOST_ROWS}, got {n}")
    return rows


def _malformed(error: Exception) -> ServiceError:
    if isinstance(error, UnicodeDecodeError):
        said = "its text is not UTF-8"
    elif isinstance(error, RecursionError):
        said = "it is nested too deeply"
    else:
        said = str(error).removeprefix("JSON is malformed: ")
        said = "it ends too early" if "truncated" in said else said
    return ServiceError(400, "Malformed JSON", f"the body must be JSON, and it is not: {said}")


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, Mapping):
        return any(_has_nul(each) for pair in value.items() for each in pair)
    if isinstance(value, Sequence):
        return any(_has_nul(each) for each in value)
    return False
