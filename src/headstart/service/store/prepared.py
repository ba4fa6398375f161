"""Statements that every request needs, made into SQL once.

They bypass SQLAlchemy's work on each statement and row, which would take longer than the database.
Values are of the driver's own types, written and read.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import BindParameter, Connection, bindparam
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

_sqlite: Any = sqlite.dialect
_postgresql: Any = postgresql.dialect
_DIALECTS = {
    "sqlite": (_sqlite(paramstyle="qmark"), "?"),
    "postgresql": (_postgresql(paramstyle="format"), "%s"),
}
# The values of a `Lookup`; and how many of them one statement takes at most.
LISTED: BindParameter[Any] = bindparam("listed", expanding=True)
_MARK = "__[POSTCOMPILE_listed]"
_MOST_LISTED = 256


class Prepared:
    """An INSERT or UPDATE whose rows are tuples of the parameters that `names` lists."""

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
        if name == "sqlite":
            with_driver(connection, "executemany", sql, given)
        else:
            connection.exec_driver_sql(sql, given)

    def _compiled(self, name: str) -> tuple[str, list[int] | None]:
        kind: Any = _DIALECTS[name][0]
        given = {"column_keys": self._names} if self._statement.is_insert else {}
        compiled: Any = self._statement.compile(dialect=kind, **given)
        order = [self._names.index(each) for each in compiled.positiontup]
        return str(compiled), None if order == list(range(len(self._names))) else order


class Lookup:
    """A SELECT of the rows in which a column is one of many values: `column.in_(LISTED)`.

    `names` are its other parameters. Values are looked up in lists of 1, 2, 4, …, so that a driver
    that caches statements has few to cache.
    """

    def __init__(self, statement: Any, names: Sequence[str] = ()) -> None:
        self._statement = statement
        self._names = tuple(names)
        self._known: dict[str, tuple[str, list[str]]] = {}

    def rows(
        self, connection: Connection, values: Sequence[Any], given: Sequence[Any] = ()
    ) -> Iterable[Any]:
        """The rows for different values, as tuples; `given` are the other parameters."""
        name = connection.dialect.name
        if name not in self._known:
            compiled: Any = self._statement.compile(dialect=_DIALECTS[name][0])
            self._known[name] = (str(compiled), list(compiled.positiontup))
        sql, order = self._known[name]
        others = {key: [value] for key, value in zip(self._names, given, strict=True)}
        for start in range(0, len(values), _MOST_LISTED):
            some = list(values[start : start + _MOST_LISTED])
            some += some[-1:] * ((1 << (len(some) - 1).bit_length()) - len(some))
            marks = ", ".join([_DIALECTS[name][1]] * len(some))
            parameters = tuple([each for key in order for each in others.get(key, some)])
            listed = sql.replace(_MARK, marks)
            if name == "sqlite":
                yield from with_driver(connection, "execute", listed, parameters)
            else:
                yield from connection.exec_driver_sql(listed, parameters)


def with_driver(connection: Connection, method: str, sql: str, parameters: Any) -> Any:
    """Call a method of SQLite's driver, with SQLAlchemy's errors."""
    driver: Any = connection.connection.driver_connection
    try:
        return getattr(driver, method)(sql, parameters)
    except sqlite3.Error as error:
        raise DBAPIError.instance(sql, None, error, sqlite3.Error) from error
