"""Attributes in words: what the columns of a schema stand for."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headstart.arrays import Floats
from headstart.features import Category, Features, Tags
from headstart.features.attributes import Attribute
from headstart.features.schema import CROSS_COLUMNS
from headstart.service.dashboard.formats import number

_TIMES = " × "
_SHOWN_LEVELS = 3  # of those that share a column


class Words:
    """Words for the columns of a schema; levels that are hashed are found among the items'."""

    def __init__(self, schema: Features, items: Sequence[Mapping[str, Any]] = ()) -> None:
        self.schema = schema
        alone = {one.name: _columns(one, items) for one in schema.attributes.values()}
        columns = list(schema.columns)
        texts: list[str] = []
        for attribute in (*schema.item, *schema.context):
            texts += alone[attribute.name]
        for left, right in schema.cross:
            both = [f"{a}{_TIMES}{b}" for a in alone[left] for b in alone[right]]
            if len(both) > CROSS_COLUMNS:
                start = len(texts)
                both = [name.replace("#", " #") for name in columns[start : start + CROSS_COLUMNS]]
            texts += both
        self.columns = [*texts, columns[-1]]  # (d,)
        self._groups = np.array(schema.groups)

    def groups(self, x: Floats, item: Mapping[str, Any] | None) -> list[tuple[str, list[int]]]:
        """What is there of x (d,): words and columns of every attribute and cross.

        item: the item's attributes, as they are in the catalogue now; they are used if they are
        those that x was made of.
        """
        raw = item if item is not None and self._is_of(item, x) else {}
        found = []
        for i, name in enumerate(self.schema.group_names):
            members = np.flatnonzero(self._groups == i)
            present = [int(k) for k in members if x[k] != 0.0]
            if not present and raw.get(name) is None:
                continue
            text = ", ".join(self.columns[k] for k in present) or name
            if raw.get(name) is not None:
                text = f"{name} = {_shown(raw[name])}"
            found.append((text, members.tolist()))
        return found

    def _is_of(self, item: Mapping[str, Any], x: Floats) -> bool:
        try:
            own = self.schema.encode_items([item]).matrix[0]
        except ValueError:
            return False
        return bool(np.array_equal(own, x[: len(own)]))


def _columns(attribute: Attribute, items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Words for an attribute's columns."""
    name = attribute.name
    levels: dict[int, dict[str, None]] = {}
    if isinstance(attribute, Category | Tags) and attribute.levels is None:
        for item in items:
            value = item.get(name)
            for one in value if isinstance(value, list) else [value]:
                if one is not None:
                    levels.setdefault(attribute.column_of(str(one)), {})[str(one)] = None
    words = []
    for i, column in enumerate(attribute.columns):
        if i in levels:
            some = list(levels[i])
            more = f" and {len(some) - _SHOWN_LEVELS} more" if len(some) > _SHOWN_LEVELS else ""
            words.append(f"{name} = {', '.join(some[:_SHOWN_LEVELS])}{more}")
        elif column.startswith(f"{name}="):
            words.append(f"{name} = {column[len(name) + 1 :]}")
        else:
            words.append(column.replace(f"{name}#", f"{name} #", 1))
    return words


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value[:_SHOWN_LEVELS])) + (
            " …" if len(value) > _SHOWN_LEVELS else ""
        )
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}" if abs(value) < 1e6 else number(value)
    return str(value)[:80]
