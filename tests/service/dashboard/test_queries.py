"""What the queries find, and that they do so on indices."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, insert, select, text
from tests.service.dashboard import filled
from tests.service.dashboard.client import PageClient

from headstart.service.dashboard import application
from headstart.service.store import schema
from headstart.service.store.database import Database
from headstart.service.store.queries import activity, bandits, decisions, priors, tasks

LARGE = ("tasks", "decisions", "minutes", "priors", "rounds", "gains")
PAGES = [
    "/",
    "/?window=week",
    "/prior",
    "/tasks",
    "/tasks?prefix=user-00",
    "/tasks?after=1790000000.0:3",
    "/tasks?sort=name&after=user-0010",
    "/task?task=user-0003",
    "/task?task=user-0003&before=ff",
    "/decisions",
    "/decisions?arm=Mocha&status=paid",
    "/decisions?task=user-0003&status=pending",
    "/decisions?before=ff",
    "/quality?window=day",
    "/health",
]


@contextmanager
def statements(database: Database) -> Iterator[list[tuple[str, Any]]]:
    """The statements that are executed meanwhile, with their parameters."""
    found: list[tuple[str, Any]] = []

    def note(_c: Any, _cursor: Any, statement: str, given: Any, *_: Any) -> None:
        found.append((statement, given))

    event.listen(database._reader, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(database._reader, "before_cursor_execute", note)


@pytest.mark.parametrize("page", PAGES)
def test_pages_read_by_indices(shared: Database, page: str) -> None:
    client = PageClient(application(filled.StoreService(shared)))
    with statements(shared) as found:
        assert client.get(page).status_code == 200
    plans = {}
    with shared.reading() as connection:
        for statement, given in found:
            if statement.startswith("SELECT"):
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given)
                plans[statement] = [row[-1] for row in plan]
    assert plans
    for statement, steps in plans.items():
        for step in steps:
            scanned = re.match(r"SCAN (\w+)(?! USING)", step)
            if scanned and scanned[1] in LARGE:
                # The latest of the store: in the order of the key, and so many only.
                assert scanned[1] == "decisions", (statement, step)
                assert "ORDER BY decisions.id DESC" in statement
                assert "LIMIT" in statement
                assert not any("TEMP B-TREE FOR ORDER BY" in s for s in steps[:1])
        assert not re.search(r"count\(\*\).*FROM (tasks|decisions)\b", statement)


def test_pending_decisions_have_their_index(shared: Database) -> None:
    query = decisions.pending_times(1).compile(compile_kwargs={"literal_binds": True})
    with shared.reading() as connection:
        plan = connection.execute(text(f"EXPLAIN QUERY PLAN {query}")).all()
    assert ["decisions_pending" in row[-1] for row in plan] == [True]


def test_pages_of_tasks_have_each_once(shared: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "PAGE", 7)
    for by_name in (True, False):
        seen: list[str] = []
        name: str | None = None
        place: tuple[float, int] | None = None
        with shared.reading() as connection:
            while True:
                page = (
                    tasks.by_prefix(connection, 1, "", name)
                    if by_name
                    else tasks.by_use(connection, 1, place)
                )
                seen += [row.name for row in page.rows]
                if not page.more:
                    break
                name, place = page.rows[-1].name, (page.rows[-1].last_used, page.rows[-1].id)
        assert len(seen) == len(set(seen)) == 120


@pytest.mark.parametrize("name", ["100%", "a_b", "a-b", "Ünal", "user-01", "日本", "zz\U0010fffe"])
def test_prefixes_are_taken_literally(store: str, name: str) -> None:
    database = Database.open(store)
    others = ["100", "1000", "a", "acb", "aXb", "Un", "user-1", "user01", "zz"]
    with database.writing() as connection:
        bandit = filled.add_bandit(connection, "b")
        rows = [filled._task(bandit, n, False, 0.0) for n in (*others, name, name + "~x")]
        more = {"last_used": 0.0, "n_rewards": 0, "reward_sum": 0.0}
        more |= {"early_rewards": 0, "early_sum": 0.0}
        connection.execute(insert(schema.tasks), [row | more for row in rows])
    with database.reading() as connection:
        found = tasks.by_prefix(connection, bandit, name, None)
    database.close()
    assert [row.name for row in found.rows] == [name, name + "~x"]


def test_a_rare_arm_is_found_page_by_page(
    shared: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "scanned", lambda _: 100)
    seen: list[str] = []
    before: str | None = None
    with shared.reading() as connection:
        table = schema.decisions
        wanted = connection.execute(
            select(table.c.id).where(table.c.arm == "Mocha", table.c.status == schema.PAID)
        ).scalars()
        bandit = bandits.named(connection, "coffee")
        while True:
            page = decisions.search(connection, bandit, before=before, arm="Mocha", status="paid")
            seen += [row.id for row in page.rows]
            if page.after is None:
                break
            before = page.after
        assert seen == sorted(wanted, reverse=True)


def test_sums_are_added_over_processes(shared: Database) -> None:
    with shared.reading() as connection:
        warm, control = activity.early_means(connection, 1)
        rounds = activity.by_round(connection, 1)
        total = connection.execute(text("SELECT SUM(n) FROM rounds WHERE control = 0")).scalar_one()
        start = int(filled.NOW // 60) - 59
        both = activity.activity(connection, 1, start=start, width=15, n=4)
        decided = connection.execute(
            text("SELECT SUM(decisions) FROM minutes WHERE minute >= :m"), {"m": start}
        ).scalar_one()
        assert activity.processes(connection, 1, since=start) == 2
    assert warm.n + control.n == 120
    assert sum(s.n for s in rounds[0]) == total
    assert both[0].total("decisions") + both[1].total("decisions") == decided


def test_history_has_its_ends(shared: Database) -> None:
    with shared.reading() as connection:
        found = [row.version for row in priors.history(connection, 1)]
        assert priors.history(connection, 99) == []
    assert (found[0], found[-1]) == (1, 40)
    assert found == sorted(set(found))


def test_long_histories_are_thinned(shared: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priors, "SPREAD_VERSIONS", 5)
    with shared.reading() as connection:
        found = [row.version for row in priors.history(connection, 1)]
    assert found == [1, 11, 20, 30, 40]
