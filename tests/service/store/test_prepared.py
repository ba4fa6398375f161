"""Prepared statements do what SQLAlchemy's own would."""

import pytest
from sqlalchemy import bindparam, insert, select
from sqlalchemy.exc import IntegrityError

from headstart.service.store import prepared, schema
from headstart.service.store.database import Database
from headstart.service.store.prepared import LISTED, Lookup, Prepared

_T = schema.items
_COLUMNS = ("bandit", "item", "features", "tags")


def rows(n: int) -> list[tuple[object, ...]]:
    return [(1, f"item{i}", b"", "[]") for i in range(n)]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 8, 9, 17])
def test_a_lookup_finds_each_row_once_however_many_are_asked_for(
    store: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "_MOST_LISTED", 8)
    of_bandit = select(_T.c.item, _T.c.bandit).where(
        _T.c.item.in_(LISTED), _T.c.bandit == bindparam("own")
    )
    lookup = Lookup(of_bandit, ["own"])
    names = [f"item{i}" for i in range(n)]
    database = Database.open(store)
    try:
        with database.writing() as connection:
            Prepared(insert(_T), _COLUMNS).execute(connection, rows(20))
            found = sorted(tuple(row) for row in lookup.rows(connection, names, [1]))
            assert found == sorted((name, 1) for name in names)
            assert list(lookup.rows(connection, names, [2])) == []
            assert list(lookup.rows(connection, ["none"], [1])) == []
    finally:
        database.close()


def test_errors_of_the_driver_are_those_of_sqlalchemy(store: str) -> None:
    database = Database.open(store)
    try:
        with pytest.raises(IntegrityError), database.writing() as connection:
            Prepared(insert(_T), _COLUMNS).execute(connection, rows(2) + rows(1))
        with database.reading() as connection:
            assert connection.execute(select(_T)).all() == []
    finally:
        database.close()
