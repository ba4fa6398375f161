"""Prepared: a statement for many rows, made into SQL once."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

_sqlite: Any = sqlite.dialect
_postgresql: Any = postgresql.dialect
_DIALECTS = {
    "sqlite": _sqlite(paramstyle="qmark"),
    "postgresql": _postgresql(paramstyle="format"),
}


class Prepared:
    """An INSERT or UPDATE whose rows are tuples of the parameters that `names` lists.

    The statements that every request needs go past SQLAlchemy's work on each row, which would take
    longer than the database does. Values must be of the driver's own types.
    """

    def __init__(self, statement: Any, names: Sequence[str]) -> None:
        self._statement = statement
        self._names = tuple(names)
        self._known: dict[str, tuple[str, list[int] | None]] = {}

    def execute(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        """Execute the statement for each row."""
        if not rows:
            return
        name = connection.dialect.name
        if name not in self._known:
            self._known[name] = self._compiled(name)
        sql, order = self._known[name]
        given = list(rows)
        if order is not None:
            given = [tuple([row[i] for i in order]) for row in rows]
        connection.exec_driver_sql(sql, given)

    def _compiled(self, name: str) -> tuple[str, list[int] | None]:
        kind: Any = _DIALECTS[name]
        given = {"column_keys": self._names} if self._statement.is_insert else {}
        compiled: Any = self._statement.compile(dialect=kind, **given)
        order = [self._names.index(each) for each in compiled.positiontup]
        return str(compiled), None if order == list(range(len(self._names))) else order
