"""The simulated customers."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from headstart.service import demo
from headstart.service.engine.service import Service
from headstart.service.messages import ChosenArm, DecisionAnswer


def answered(name: str, arm: str) -> DecisionAnswer:
    chosen = ChosenArm(id=name, arm=arm, propensity=1.0, mean=0.0, low=0.0, high=0.0)
    return DecisionAnswer(id=name, task=name, arms=[chosen], prior_version=0, control=False)


def played(seed: int) -> list[object]:
    """Everything that customers ask for and say in 40 steps, always served the first drink."""
    shop = demo.Shop(rng=np.random.default_rng(seed), prefix="c")
    found: list[object] = []
    for step in range(40):
        visits = shop.visits(10)
        served = [(who, answered(f"{step}-{who.name}", board[0])) for who, board in visits]
        found.append([(who.name, board) for who, board in visits])
        found.append(shop.rewards(served, float(step)))
    return found


def test_customers_follow_from_the_seed() -> None:
    assert played(3) == played(3)
    assert played(3) != played(4)


def test_some_rewards_are_late_or_twice() -> None:
    shop = demo.Shop(rng=np.random.default_rng(0), prefix="c")
    sent = []
    for step in range(400):
        visits = shop.visits(10)
        served = [(who, answered(f"{step}-{who.name}", board[0])) for who, board in visits]
        sent += [given.decision for given in shop.rewards(served, 0.0)]
    now = shop.rewards([], 1e9)
    assert 300 < len(now) < 500  # a tenth of 4,000 came late
    assert 3 < len(sent) - len(set(sent)) < 200
    assert len(set(sent)) + len(now) < 4_000  # some never came


def test_the_gain_of_the_warm_start_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_QUICK_STEPS", 80)
    with Service.open(tmp_path / "store.sqlite") as service:
        stop = threading.Event()
        users = threading.Thread(target=demo.run_demo, args=(service, stop))
        users.start()
        query = text("SELECT control, SUM(tasks), SUM(sum) FROM gains GROUP BY control")
        decided = text("SELECT COALESCE(SUM(decisions), 0) FROM minutes")
        while users.is_alive():
            with service.database.reading() as connection:
                if connection.execute(decided).scalar_one() >= 80 * 50:
                    break
            time.sleep(0.1)
        stop.set()
        users.join()
        with service.database.reading() as connection:
            found = {row[0]: row[2] / row[1] for row in connection.execute(query)}
            assert connection.execute(text("SELECT COUNT(*) FROM items")).scalar_one() == 24
        assert found[0] > found[1]
