"""Answers as messages, whatever fields a newer service has added to them."""

import types
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec

T = TypeVar("T")


def decoded(content: bytes, kind: type[T]) -> T:
    """The message of an answer; fields that this version does not know are left out."""
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError:
        return msgspec.convert(known(msgspec.json.decode(content), kind), kind)


def known(value: Any, kind: Any) -> Any:
    """What a version of the messages knows of a value of a kind."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        if isinstance(value, dict):
            return {name: known(value[name], fields[name]) for name in value if name in fields}
    elif isinstance(value, list) and get_origin(kind) is list:
        return [known(each, get_args(kind)[0]) for each in value]
    elif get_origin(kind) in (Union, types.UnionType):
        structs = [
            k for k in get_args(kind) if isinstance(k, type) and issubclass(k, msgspec.Struct)
        ]
        return known(value, structs[0]) if len(structs) == 1 else value
    return value
