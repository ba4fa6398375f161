"""Encoding: the attributes of items, context or tasks, from one row of values or from columns."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart.arrays import Booleans, Floats, Integers
from headstart.features import rows, values
from headstart.features.attributes import (
    Attribute,
    Category,
    Date,
    Flag,
    Number,
    Tags,
    Vector,
)
from headstart.features.columns import Column
from headstart.kernels.compilation import compiled


@dataclass(frozen=True, kw_only=True, eq=False)
class Fault:
    """Rows of a column with values that the attribute does not take, and the first one's error."""

    name: str
    mask: Booleans  # (n,)
    error: ValueError


class Side:
    """The attributes of items, of the context or of tasks, and where their columns are.

    names: the attributes' names in a row; their own, unless another part has such a name too.
    """

    def __init__(
        self, attributes: Sequence[Attribute], what: str, names: Sequence[str] | None = None
    ) -> None:
        self.attributes = tuple(attributes)
        self.what = what
        self.names = tuple(names or (attribute.name for attribute in attributes))
        self.columns = tuple(name for attribute in attributes for name in attribute.columns)
        # For every attribute, its first column and its column for missing values, if it has one.
        self._places: dict[str, tuple[Attribute, int, int]] = {}
        # Everything is missing until it is given.
        self._nothing = np.zeros(len(self.columns))
        at = 0
        for name, attribute in zip(self.names, attributes, strict=True):
            end = at + len(attribute.columns)
            flag = end - 1 if attribute.missing else -1
            if attribute.missing:
                self._nothing[flag] = 1.0
            self._places[name] = attribute, at, flag
            at = end

    def first(self, name: str) -> int:
        """The first column of an attribute."""
        return next(at for one, at, _ in self._places.values() if one.name == name)

    def row(self, given: Any, without: Collection[str] = ()) -> Floats:
        """One row of raw values as numbers; attributes in `without` count as missing."""
        row = self._nothing.copy()
        if given is None:
            return row
        places = self._places
        if type(given) is not dict or not given.keys() <= places.keys():
            given = values.flat(given, self.what)
            rows.check_names(given, self.names, self.what)
        for name, value in given.items():
            attribute, at, flag = places[name]
            if not values.is_missing(value) and attribute.name not in without:
                if isinstance(attribute, Number | Flag | Date):
                    attribute.fill(attribute.number(value), row, at)
                else:
                    attribute.write(value, row, at)
                if flag >= 0:
                    row[flag] = 0.0
        return row

    def fill(
        self, columns: Mapping[str, Any], matrix: Floats, first: int = 0, *, is_text: bool = False
    ) -> list[Fault]:
        """Write columns of n raw values into a matrix of zeros, from its column `first` on.

        Returns the faults; rows with a fault hold meaningless numbers. An attribute without a
        column is missing.
        """
        faults = []
        for name, (attribute, at, flag) in self._places.items():
            if name in columns:
                column = Column(columns[name], is_text=is_text)
                fault = _encode(attribute, column, matrix, first + at)
                if fault is not None:
                    faults.append(fault)
            elif flag >= 0:
                matrix[:, first + flag] = 1.0
        return faults

    def matrix(self, columns: Mapping[str, Any], n_rows: int) -> Floats:
        """Columns of raw values as numbers; raises for the first fault."""
        matrix = np.zeros((n_rows, len(self.columns)))
        for fault in self.fill(columns, matrix):
            raise fault.error
        return matrix


def _encode(attribute: Attribute, column: Column, matrix: Floats, at: int) -> Fault | None:
    """Write a column into a matrix of zeros, from its column `at` on."""
    if not isinstance(attribute, Number | Flag | Date):
        return _encode_levels(attribute, column, matrix, at)
    numbers = attribute.numbers(column)
    if numbers is None:
        return _encode_numbers(attribute, *numbers_of(attribute, column), matrix, at)
    return _encode_numbers(attribute, numbers, None, matrix, at)


def numbers_of(attribute: Number | Flag | Date, column: Column) -> tuple[Floats, Fault | None]:
    """A column of any values as numbers, level by level; NaN for missing and wrong ones."""
    levels, codes = column.levels()
    found = np.full(len(levels) + 1, np.nan)  # the last is for code −1, a missing one
    wrong = np.zeros(len(levels) + 1, dtype=np.bool_)
    errors = []
    for i, level in enumerate(levels):
        value = _parsed(attribute, level) if column.is_text else level
        if not values.is_missing(value):
            try:
                found[i] = attribute.number(value)
            except ValueError as error:
                wrong[i] = True
                errors.append(error)
    fault = Fault(name=attribute.name, mask=wrong[codes], error=errors[0]) if errors else None
    return found[codes], fault


def _parsed(attribute: Attribute, level: object) -> object:
    return attribute.parsed(level) if isinstance(level, str) and level else level


def _encode_numbers(
    attribute: Number | Flag | Date, numbers: Floats, fault: Fault | None, matrix: Floats, at: int
) -> Fault | None:
    right = attribute.takes(numbers)
    if right.all():
        attribute.fill(numbers, matrix, at)
        return None
    end = at + len(attribute.columns)
    some = np.zeros((int(right.sum()), end - at))
    attribute.fill(numbers[right], some, 0)
    matrix[right, at:end] = some
    missing = np.isnan(numbers)
    if attribute.missing:
        matrix[missing, end - 1] = 1.0
    wrong = ~right & ~missing
    if fault is not None or not wrong.any():
        return fault
    try:
        attribute.number(float(numbers[wrong][0]))
    except ValueError as error:
        return Fault(name=attribute.name, mask=wrong, error=error)
    raise AssertionError(f"attribute {attribute.name!r} takes {numbers[wrong][0]}")


def _encode_levels(
    attribute: Category | Tags | Vector, column: Column, matrix: Floats, at: int
) -> Fault | None:
    """Write a column level by level, keeping only the non-zero numbers of each level."""
    levels, codes = column.levels()
    if column.is_text:
        levels = [_parsed(attribute, level) for level in levels]
    wrong = np.zeros(len(levels) + 1, dtype=bool)
    errors = []
    width = len(attribute.columns)
    nothing = [(width - 1, 1.0)] if attribute.missing else []
    ends, cells = [0], []
    for i, level in enumerate(levels):
        if values.is_missing(level):
            cells += nothing
        else:
            row = _Cells()
            try:
                attribute.write(level, row, 0)
            except ValueError as error:
                wrong[i] = True
                errors.append(error)
            cells += row.items()
        ends.append(len(cells))
    cells += nothing  # code −1 means the last level, a missing one
    ends.append(len(cells))
    codes = np.where(codes < 0, len(levels), codes)
    places = np.array([place for place, _ in cells], dtype=np.int64)
    numbers = np.array([number for _, number in cells])
    write_levels(codes, np.array(ends), places + at, numbers, matrix)
    if not errors:
        return None
    return Fault(name=attribute.name, mask=wrong[codes], error=errors[0])


class _Cells(defaultdict[int, float]):
    """A row of zeros of any length that records what is written to it."""

    def __init__(self) -> None:
        super().__init__(float)


@compiled(fastmath=False)
def write_levels(
    codes: Integers, ends: Integers, places: Integers, numbers: Floats, matrix: Floats
) -> None:
    """Write the numbers of each row's level, from ends[code] to ends[code + 1], to their places."""
    for i in range(codes.shape[0]):
        for p in range(ends[codes[i]], ends[codes[i] + 1]):
            matrix[i, places[p]] = numbers[p]
