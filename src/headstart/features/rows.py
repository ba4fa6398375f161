"""Rows of attributes, from dicts, columns, frames or tables."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headstart import checks
from headstart.features import values

# Rows of attributes: dicts by id or in a list, a pandas or Polars frame, an Arrow table, columns.
Rows = Any


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Columns of n values by name, and the rows' ids, if any.

    A frame may have other columns, but needs one for every attribute. Plain rows (`is_frame` is
    False) have attributes only, and absent ones are missing.
    """

    columns: Mapping[str, Any]
    n_rows: int
    ids: Sequence[Hashable] | None
    is_frame: bool


def read(rows: Rows, names: Sequence[str], what: str) -> Table:
    """Rows as a table of these attributes; raises for an unknown name."""
    table = _table(rows, names, what)
    if table.is_frame:
        for name in names:
            if name not in table.columns:
                raise ValueError(
                    f"{what} must have a column {name!r}, got {checks.short(list(table.columns))}"
                )
    return table


def check_names(given: Mapping[str, Any], names: Sequence[str], what: str) -> None:
    """Raise for attributes that are unknown."""
    for name in given:
        if name not in names:
            known = ", ".join(names) or "none"
            raise ValueError(f"{what} must have attributes of {known}, got {checks.short(name)}")


def _table(rows: Rows, names: Sequence[str], what: str) -> Table:
    if isinstance(rows, Mapping):
        first = next(iter(rows.values()), None)
        if isinstance(first, Mapping) or (
            isinstance(first, list | tuple) and first and isinstance(first[0], Mapping)
        ):
            return _of_dicts(list(rows.values()), list(rows), names, what)
        return _of_columns(rows, what)
    if hasattr(rows, "column_names") and hasattr(rows, "column"):  # Arrow
        columns = {name: rows.column(name) for name in rows.column_names if name in names}
        return Table(columns=columns, n_rows=rows.num_rows, ids=None, is_frame=True)
    if hasattr(rows, "columns") and hasattr(rows, "dtypes"):  # pandas, Polars
        columns = {str(name): rows[name] for name in rows.columns if name in names}
        ids = rows.index.tolist() if hasattr(rows, "iloc") else None
        return Table(columns=columns, n_rows=len(rows), ids=ids, is_frame=True)
    if isinstance(rows, Sequence) and not isinstance(rows, str | bytes):
        return _of_dicts(rows, None, names, what)
    raise ValueError(f"{what} must be dicts, columns or a frame, got {checks.short(rows)}")


def _of_dicts(
    rows: Sequence[Any], ids: Sequence[Hashable] | None, names: Sequence[str], what: str
) -> Table:
    flat = []
    for i, row in enumerate(rows):
        one = f"{what}[{checks.short(i if ids is None else ids[i])}]"
        found = values.flat(row, one)
        check_names(found, names, one)
        flat.append(found)
    columns = {name: [row.get(name) for row in flat] for name in names}
    return Table(columns=columns, n_rows=len(flat), ids=ids, is_frame=False)


def _of_columns(rows: Mapping[Any, Any], what: str) -> Table:
    lengths = {}
    for name, column in rows.items():
        if isinstance(column, str) or not hasattr(column, "__len__"):
            raise ValueError(f"{what} must be columns by name, got {checks.short(column)}")
        lengths[name] = len(column)
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{what} must be columns of one length, got {checks.short(lengths)}")
    n_rows = next(iter(lengths.values()), 0)
    return Table(columns=dict(rows), n_rows=n_rows, ids=None, is_frame=True)
