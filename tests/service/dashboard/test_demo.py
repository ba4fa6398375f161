"""The simulated visitors of a shop."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from headstart.service import demo
from headstart.service.engine.service import Service
from headstart.service.messages import ChosenArm, DecisionAnswer, RewardRequest


def answered(name: str, arm: str) -> DecisionAnswer:
    chosen = ChosenArm(id=name, arm=arm, propensity=1.0, mean=0.0, low=0.0, high=0.0)
    return DecisionAnswer(id=name, task=name, arms=[chosen], prior_version=0, control=False)


def visitors(seed: int, n_users: int = 200) -> demo.Visitors:
    return demo.Visitors(
        world=demo.SHOP.world(seed, n_users), rng=np.random.default_rng(seed), prefix="c"
    )


def played(shop: demo.Visitors, steps: int) -> tuple[list[str], list[RewardRequest]]:
    """Who came, and what was clicked by then, in visits that are all shown the best item."""
    names, clicks = [], []
    for step in range(steps):
        visits = shop.next(10)
        names += [str(request.task) for _, request in visits]
        shown = [
            (visit, answered(f"{step}-{k}", f"item-{shop.world.best(visit):02d}"))
            for k, (visit, _) in enumerate(visits)
        ]
        clicks += shop.clicks(shown, 0.0)
    return names, clicks


def test_visitors_follow_from_the_seed() -> None:
    assert played(visitors(3), 40) == played(visitors(3), 40)
    assert played(visitors(3), 40) != played(visitors(4), 40)


def test_others_come_when_all_have_been_there() -> None:
    shop = visitors(0, n_users=3)
    first, _ = played(shop, -(-shop.world.n_visits // 10))
    later, _ = played(shop, 10)
    assert set(first[: shop.world.n_visits]) == {"c0000", "c0001", "c0002"}
    assert set(later).isdisjoint(first[: shop.world.n_visits])


def test_some_clicks_are_late_twice_or_wrong() -> None:
    shop = visitors(0)
    _, at_once = played(shop, 400)
    sent = [click.decision for click in at_once]
    late = shop.clicks([], 1e9)
    # About 2,000 of 4,000 visits end in a click.
    assert 100 < len(late) < 300
    assert 10 < len(sent) - len(set(sent)) < 80
    assert 2 < sum(click.value != 1.0 for click in at_once) < 50


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
            assert connection.execute(text("SELECT COUNT(*) FROM items")).scalar_one() == 40
        assert found[0] > found[1]
