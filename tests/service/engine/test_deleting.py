"""A bandit that was deleted leaves nothing behind, also where the process ended on the way."""

from typing import Any

import pytest
from sqlalchemy import func, select
from tests.service.engine.setting import decided, items, paid, shop
from tests.waiting import until

from headstart.service.engine import registry
from headstart.service.engine.service import Service
from headstart.service.messages import BanditConfiguration
from headstart.service.store import schema
from headstart.service.store.database import Database


def left(database: Database, bandit: int) -> dict[str, int]:
    """How many rows tables have of a bandit, where there are any."""
    with database.reading() as connection:
        counts = {
            table.name: connection.execute(
                select(func.count()).select_from(table).where(table.c.bandit == bandit)
            ).scalar_one()
            for table in schema.metadata.sorted_tables
            if "bandit" in table.c
        }
    return {name: n for name, n in counts.items() if n}


def test_rows_are_deleted_in_small_steps(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_DELETED_ROWS", 3)
    with shop(store) as service:
        for n in range(8):
            (answer,) = decided(service, f"u{n}", idempotency_key=f"k{n}")
            assert paid(service, [answer.id]) == ["paid"]
        before = left(service.database, 1)
        assert (before["tasks"], before["idempotency"], before["items"]) == (8, 8, 5)
        service._do(lambda t: registry.delete_rows(t, 1))
        after = left(service.database, 1)
        for name in ("tasks", "idempotency", "items"):
            assert after[name] == before[name] - 3
        service.delete_bandit("shop")
        assert left(service.database, 1) == {}


def test_what_a_killed_process_left_of_a_bandit_is_deleted_at_the_next_start(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> bool:
        raise RuntimeError("as if the process had ended here")

    with shop(store) as service:
        service.put_bandit("kept", BanditConfiguration(dimension=3))
        service.put_items("kept", items())
        (answer,) = decided(service, "ann")
        assert paid(service, [answer.id]) == ["paid"]
        with monkeypatch.context() as patch:
            patch.setattr(registry, "delete_rows", killed)
            with pytest.raises(RuntimeError, match="as if"):
                service.delete_bandit("shop")
        assert "tasks" in left(service.database, 1)
    with Service.open(store) as service:
        until(lambda: not left(service.database, 1))
        assert left(service.database, 2)["items"] == 5
