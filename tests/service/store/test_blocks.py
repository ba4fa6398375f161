"""Blocks of decisions: however they lie, the decisions of a task are all found."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, select
from tests.service.engine.setting import Clock, decided, shop

from headstart.service.engine.service import Service
from headstart.service.store import blocks, schema
from headstart.service.store.blocks import SECONDS, Blocks, all_blocks
from headstart.service.store.decisions import of_task

# The clock is set back, so that blocks overlap; and later moves past the end of one.
TIMES = (0, 100, -50, 1000, 1001, 4000, 4000, 4100, 9000, 8990, 9001)


def test_a_block_has_decisions_of_an_hour_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_DECISIONS", 3)
    begun = Blocks()
    assert [begun.take(1, now) for now in (10.5, 11.5, 12.5, 13.5)] == [10, 10, 10, 13]
    assert begun.take(100, 14.0) == 13
    assert begun.take(1, 15.0) == 15
    assert begun.take(1, 15.0 + SECONDS) == 15 + SECONDS
    assert begun.take(1, 20.0) == 20


def played(service: Service, clock: Clock) -> list[str]:
    """Decisions of one task among those of others; the ids of its own, the latest first."""
    begin, found = clock.now, []
    for time in TIMES:
        clock.now = begin + time
        answers = decided(service, "own", "other", "third")
        found.append(answers[0].id)
    return sorted(found, reverse=True)


def test_pages_of_a_task_have_each_decision_once_in_order(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_DECISIONS", 5)
    clock = Clock()
    with shop(store, clock) as service:
        expected = played(service, clock)
        for size in (1, 2, 3, 50):
            seen: list[str] = []
            before = None
            with service.database.reading() as connection:
                task = _number(service)
                assert len(all_blocks(connection)) > 4
                while True:
                    page = of_task(connection, task, before, size)
                    seen += [row.id for row in page.rows]
                    before = page.after
                    if before is None:
                        break
            assert seen == expected


def test_erasing_a_task_deletes_its_decisions_in_every_block(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_DECISIONS", 5)
    clock = Clock()
    with shop(store, clock) as service:
        own = set(played(service, clock))
        service.erase("shop", "own")
        with service.database.reading() as connection:
            left = set(connection.execute(select(schema.decisions.c.id)).scalars())
        assert len(left) == 2 * len(TIMES)
        assert not left & own


def test_the_decisions_of_a_task_are_read_and_deleted_by_their_index(tmp_path: Path) -> None:
    clock = Clock()
    with shop(str(tmp_path / "store.sqlite"), clock) as service:
        played(service, clock)
        task = _number(service)
        with statements(service.database._reader) as read, service.database.reading() as connection:
            of_task(connection, task)
        with statements(service.database._writer) as written:
            service.erase("shop", "own")
        found = [each for each in read + written if "decisions.block IN" in each[0]]
        assert {each[0].split()[0] for each in found} == {"SELECT", "DELETE"}
        with service.database.reading() as connection:
            for statement, given in found:
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given).all()
                assert "decisions_task (block=? AND task=?)" in " ".join(step[-1] for step in plan)


@contextmanager
def statements(engine: Engine) -> Iterator[list[tuple[str, Any]]]:
    """What is executed meanwhile."""
    found: list[tuple[str, Any]] = []

    def note(_: object, __: object, statement: str, given: Any, *___: object) -> None:
        found.append((statement, given))

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", note)


def _number(service: Service) -> int:
    with service.database.reading() as connection:
        found = select(schema.tasks.c.id).where(schema.tasks.c.name == "own")
        return int(connection.execute(found).scalar_one())
