"""Sentences: what is wrong in a message, in words, with the value that is wrong."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, get_args

import msgspec

_AT = re.compile(r"^(?P<what>.*?)(?: - at (?:`(?P<key>key)` in )?`\$(?P<path>.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[(?P<index>\d+|\.\.\.)\]")
_WRONG_TYPE = re.compile(r"Expected `(?P<expected>[^`]*)`, got `(?P<got>[^`]*)`")
_BOUND = re.compile(r"Expected `(?P<kind>[^`]*)` (?P<of>of length )?(?P<sign>[<>]=?) (?P<bound>.*)")
_LENGTH = re.compile(r"Expected `array` of length (?P<n>\d+)(?:, got (?P<got>\d+))?")
_FIELD = re.compile(r"Object (?P<what>missing required|contains unknown) field `(?P<name>.*)`")

_WORDS = {
    "object": "an object",
    "array": "a list",
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
}
_SIGNS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_LONGEST_SHOWN = 60


def sentence(said: str, source: object, kind: object, whole: str = "the body") -> str:
    """What msgspec said about a body (bytes), or a value, that should have been of a kind."""
    found = _AT.match(said)
    assert found is not None  # every part of the expression may be empty
    what, path = found["what"], found["path"] or ""
    where, value = _at(source, path, _fits(what))
    where = where or whole
    if found["key"]:
        where, value = f"every key of {where}", ""
    return _unknown(what, where, kind) or _wrong(what, where, value) or f"{where}: {said}"


def _wrong(what: str, where: str, value: str) -> str | None:
    got = f", got {value}" if value else ""
    if found := _WRONG_TYPE.fullmatch(what):
        expected = " or ".join(_WORDS.get(w, w) for w in found["expected"].split(" | "))
        return (
            f"{where} must be {expected}{got or ', got ' + _WORDS.get(found['got'], found['got'])}"
        )
    if found := _BOUND.fullmatch(what):
        sign, bound = _SIGNS[found["sign"]], found["bound"]
        if found["of"]:
            unit = "character(s)" if found["kind"] == "str" else "element(s)"
            return f"{where} must have {sign} {bound} {unit}{got}"
        word = _WORDS.get(found["kind"], found["kind"])
        return f"{where} must be {word} of {sign} {bound}{got}"
    if found := _LENGTH.fullmatch(what):
        return f"{where} must have {found['n']} elements{got}"
    if what.startswith("Invalid enum value"):
        return f"{where} must be one of those documented{got}"
    finite = what in ("Number out of range", "Integer value out of range")
    return f"{where} must be a number that a float can hold" if finite else None


def _unknown(what: str, where: str, kind: object) -> str | None:
    found = _FIELD.fullmatch(what)
    if found is None:
        return None
    name = found["name"][:200]
    if found["what"] == "missing required":
        return f"{where} must have the field {name}, got none"
    of = next((k for k in (kind, *get_args(kind)) if isinstance(k, type)), object)
    known = ", ".join(of.__struct_fields__) if issubclass(of, msgspec.Struct) else "none"
    return f"{where} must have known fields only ({known}), got {name}"


def _at(source: object, path: str, fits: Callable[[Any], bool]) -> tuple[str, str]:
    """The place of a path in words, and the value there as JSON; "" where they are not known."""
    steps = [m["field"] if m["field"] else m["index"] for m in _STEP.finditer(path)]
    named = _joined(steps)
    try:
        value = msgspec.json.decode(source) if isinstance(source, bytes) else source
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return named, ""
    for labels, each in _follow(value, steps, []):
        if fits(each):
            return _joined(labels), _shown(each)
    return named, ""


def _follow(value: Any, steps: list[str], labels: list[str]) -> Iterator[tuple[list[str], Any]]:
    """Every value that a path can mean; `...` stands for a key that is not told."""
    if not steps:
        yield labels, value
        return
    step, rest = steps[0], steps[1:]
    entries: Iterable[tuple[str, Any]]
    if step == "...":
        entries = value.items() if isinstance(value, dict) else ()
    elif step.isdigit() and isinstance(value, list):
        entries = [(step, value[int(step)])] if int(step) < len(value) else ()
    else:
        entries = [(step, value[step])] if isinstance(value, dict) and step in value else ()
    for label, each in entries:
        yield from _follow(each, rest, [*labels, label])


def _joined(labels: list[str]) -> str:
    text = ""
    for label in labels:
        text += f"[{label[:200]}]" if label.isdigit() or text else label[:200]
    return text


def _shown(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _fits(what: str) -> Callable[[Any], bool]:
    """Whether a value is one that msgspec can have meant."""
    if found := _WRONG_TYPE.fullmatch(what):
        got = found["got"]
        return lambda value: _type_name(value) == got
    found = _BOUND.fullmatch(what)
    if found is None or not found["of"]:
        return lambda _value: True
    bound, least = int(found["bound"]), found["sign"] == ">="

    def too_short_or_long(value: Any) -> bool:
        n = len(value) if isinstance(value, str | list | dict) else bound
        return n < bound if least else n > bound

    return too_short_or_long


def _type_name(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "bool", str: "str", int: "int", float: "float", list: "array", dict: "object"}
    return names.get(type(value), "object")
