"""Encoding: attributes of one side, from one row of raw values or from columns of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart import checks
from headstart.arrays import Booleans, Floats
from headstart.features import rows, values
from headstart.features.attributes import Attribute, Date, Flag, Number
from headstart.features.columns import Column

# Numbers in a table of all levels: 32 MiB.
_LARGEST_TABLE = 1 << 22


@dataclass(frozen=True, kw_only=True, eq=False)
class Fault:
    """Rows of a column that hold no value of the attribute, and the error of the first."""

    name: str
    mask: Booleans  # (n,)
    error: ValueError


class Side:
    """The attributes of items, of the context or of tasks, and where their columns are."""

    def __init__(self, attributes: Sequence[Attribute], what: str) -> None:
        self.attributes = tuple(attributes)
        self.what = what
        self.names = tuple(attribute.name for attribute in attributes)
        self.columns = tuple(name for attribute in attributes for name in attribute.columns)
        # Of every attribute its first column and, if it has one, that which says it is missing.
        self._places: dict[str, tuple[Attribute, int, int]] = {}
        # All is missing until it is given.
        self._nothing = np.zeros(len(self.columns))
        at = 0
        for attribute in attributes:
            end = at + len(attribute.columns)
            flag = end - 1 if attribute.missing else -1
            if attribute.missing:
                self._nothing[flag] = 1.0
            self._places[attribute.name] = attribute, at, flag
            at = end

    def first(self, name: str) -> int:
        """The first column of an attribute."""
        return self._places[name][1]

    def row(self, given: Any) -> Floats:
        """One row of raw values as numbers."""
        row = self._nothing.copy()
        if given is None:
            return row
        places = self._places
        if type(given) is not dict or any(name not in places for name in given):
            given = values.flat(given, self.what)
            rows.check_names(given, self.names, self.what)
        for name, value in given.items():
            if not values.is_missing(value):
                attribute, at, flag = places[name]
                attribute.write(value, row, at)
                if flag >= 0:
                    row[flag] = 0.0
        return row

    def fill(
        self, columns: Mapping[str, Any], matrix: Floats, *, is_text: bool = False
    ) -> list[Fault]:
        """Write columns of n raw values into a matrix of zeros, and say what cannot be.

        An attribute without a column is missing. Rows with a fault hold numbers of no meaning.
        """
        faults = []
        for name, (attribute, at, flag) in self._places.items():
            if name not in columns:
                if flag >= 0:
                    matrix[:, flag] = 1.0
                continue
            column = Column(columns[name], is_text=is_text)
            part = matrix[:, at : at + len(attribute.columns)]
            fault = _encode(attribute, column, part)
            if fault is not None:
                faults.append(fault)
        return faults

    def matrix(self, columns: Mapping[str, Any], n_rows: int) -> Floats:
        """Columns of raw values as numbers; the first that is wrong is an error."""
        matrix = np.zeros((n_rows, len(self.columns)))
        for fault in self.fill(columns, matrix):
            raise fault.error
        return matrix


def _encode(attribute: Attribute, column: Column, rows: Floats) -> Fault | None:
    """Write a column into rows of zeros (n, w)."""
    if not isinstance(attribute, Number | Flag | Date):
        return _encode_levels(attribute, column, rows)
    numbers = attribute.numbers(column)
    if numbers is None:
        return _encode_levels(attribute, column, rows)
    right = attribute.takes(numbers)
    if right.all():
        attribute.write_numbers(numbers, rows)
        return None
    some = np.zeros((int(right.sum()), rows.shape[1]))
    attribute.write_numbers(numbers[right], some)
    rows[right] = some
    missing = np.isnan(numbers)
    if attribute.missing:
        rows[missing, -1] = 1.0
    wrong = ~right & ~missing
    return _fault(attribute, wrong, float(numbers[wrong][0])) if wrong.any() else None


def _encode_levels(attribute: Attribute, column: Column, rows: Floats) -> Fault | None:
    """Write a column level by level."""
    levels, codes = column.levels()
    if column.is_text:
        levels = [attribute.parsed(v) if isinstance(v, str) and v else v for v in levels]
    # The last level, which code −1 means, is a missing one.
    missing = np.array([*map(values.is_missing, levels), True])
    wrong = np.zeros(len(missing), dtype=bool)
    errors = []
    if len(missing) * rows.shape[1] <= _LARGEST_TABLE:
        table = np.zeros((len(missing), rows.shape[1]))
        for i in np.flatnonzero(~missing):
            try:
                attribute.write(levels[i], table[i], 0)
            except ValueError as error:
                wrong[i] = True
                errors.append(error)
        if attribute.missing:
            table[missing, -1] = 1.0
        rows[:] = table[codes]
    else:
        for row, code in zip(rows, codes.tolist(), strict=True):
            if not missing[code]:
                try:
                    attribute.write(levels[code], row, 0)
                except ValueError as error:
                    wrong[code] = True
                    errors.append(error)
            elif attribute.missing:
                row[-1] = 1.0
    if not errors:
        return None
    return Fault(name=attribute.name, mask=wrong[codes], error=errors[0])


def _fault(attribute: Attribute, wrong: Booleans, value: object) -> Fault:
    """The fault of values that an attribute cannot write."""
    try:
        attribute.write(value, [0.0] * len(attribute.columns), 0)
    except ValueError as error:
        return Fault(name=attribute.name, mask=wrong, error=error)
    raise AssertionError(f"attribute {attribute.name!r} takes {checks.short(value)}")
