"""What the queries find; and that every page reads by indices."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event, select, text
from tests.service.dashboard.client import PageClient
from tests.service.shop import BANDIT, NOW, Clock, Shop, arms, configuration, decided, opened

from headstart.service.dashboard import application
from headstart.service.engine.service import Service
from headstart.service.messages import BanditConfiguration, Item, RewardRequest
from headstart.service.store import bandits, decisions, priors, schema, sums, tasks
from headstart.service.store.database import Database

pytestmark = pytest.mark.slow

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
def test_pages_read_by_indices(shared: Shop, page: str) -> None:
    database = shared.service.database
    client = PageClient(application(shared.service, shared.jobs))
    with statements(database) as found:
        assert client.get(page).status_code == 200
    plans = {}
    with database.reading() as connection:
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


def test_pending_decisions_have_their_index(shared: Shop) -> None:
    query = decisions.pending_times(1).compile(compile_kwargs={"literal_binds": True})
    with shared.service.database.reading() as connection:
        plan = connection.execute(text(f"EXPLAIN QUERY PLAN {query}")).all()
    assert ["decisions_pending" in row[-1] for row in plan] == [True]


def test_pages_of_tasks_have_each_once(shared: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "PAGE", 7)
    for by_name in (True, False):
        seen: list[str] = []
        name: str | None = None
        place: tuple[float, int] | None = None
        with shared.service.database.reading() as connection:
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
def test_prefixes_are_taken_literally(store: str, tmp_path: Path, name: str) -> None:
    others = ["100", "1000", "a", "acb", "aXb", "Un", "user-1", "user01", "zz"]
    with opened(store, tmp_path) as shop:
        shop.service.put_bandit("b", BanditConfiguration(dimension=1))
        shop.service.put_items("b", [Item(id="arm", features=[1.0])])
        decided(shop.service, "b", [*others, name, name + "~x"])
        with shop.service.database.reading() as connection:
            number = bandits.named(connection, "b").id
            page = tasks.by_prefix(connection, number, name, None)
    assert [row.name for row in page.rows] == [name, name + "~x"]


def test_a_rare_arm_is_found_page_by_page(shared: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "scanned", lambda _: 100)
    seen: list[str] = []
    before: str | None = None
    with shared.service.database.reading() as connection:
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


def test_sums_are_of_all_tasks(shared: Shop) -> None:
    with shared.service.database.reading() as connection:
        coffee = bandits.named(connection, BANDIT)
        compared = sums.early_means(connection, coffee)
        rounds = sums.by_round(connection, coffee)
        start = int(NOW // 60) - 59
        both = sums.activity(connection, 1, start=start, width=15, n=4)
        total = "SELECT COUNT(*), SUM(n_rewards) FROM tasks WHERE share IS NOT NULL AND {}control"
        n_warm, rewards = connection.execute(text(total.format("NOT "))).one()
        n_control, _ = connection.execute(text(total.format(""))).one()
        made = text("SELECT COUNT(*) FROM decisions WHERE time >= :from")
        n_decisions = connection.execute(made, {"from": 60.0 * start}).scalar_one()
    assert (compared.warm.n, compared.control.n) == (n_warm, n_control)
    assert 100 < n_warm + n_control < 120  # those of the first minutes had no prior
    assert sum(s.n for s in rounds[0]) == rewards
    assert both[0].total("decisions") + both[1].total("decisions") == n_decisions


def test_sums_are_added_over_processes(postgresql: str) -> None:
    clock = Clock()
    with (
        Service.open(postgresql, clock=clock) as one,
        Service.open(postgresql, clock=clock) as other,
    ):
        one.put_bandit(BANDIT, configuration(control_share=0.0))
        one.put_items(BANDIT, arms())
        one.refresh(BANDIT)
        for service, names in ((one, ["ann", "bob"]), (other, ["ann", "cid", "eve"])):
            rewards = [
                RewardRequest(decision=answer.id, value=0.5)
                for answer in decided(service, BANDIT, names)
            ]
            service.reward(BANDIT, rewards).result(60)
        with one.database.reading() as connection:
            minute = int(NOW // 60)
            warm, _ = sums.activity(connection, 1, start=minute, width=1, n=1)
            rounds, _ = sums.by_round(connection, bandits.named(connection, BANDIT))
    assert (warm.total("opened"), warm.total("decisions"), warm.total("rewards")) == (4, 5, 5)
    assert [(s.n, s.total) for s in rounds[:3]] == [(4, 2.0), (1, 0.5), (0, 0.0)]


def test_history_has_its_ends(shared: Shop) -> None:
    last = shared.service.prior(BANDIT).version
    with shared.service.database.reading() as connection:
        versions = [row.version for row in priors.history(connection, 1)]
        assert priors.history(connection, 99) == []
    assert versions == list(range(1, last + 1))


def test_long_histories_are_thinned(shared: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priors, "SPREAD_VERSIONS", 5)
    last = shared.service.prior(BANDIT).version
    with shared.service.database.reading() as connection:
        versions = [row.version for row in priors.history(connection, 1)]
    assert versions == np.linspace(1, last, 5).round().astype(int).tolist()
