"""The simulated shop."""

import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import text

from headstart.service import demo
from headstart.service.engine.service import Service
from headstart.service.messages import ChosenArm, DecisionAnswer, RewardRequest


def answered(decision: str, arm: str) -> DecisionAnswer:
    chosen = ChosenArm(id=decision, arm=arm, propensity=1.0, mean=0.0, low=0.0, high=0.0)
    return DecisionAnswer(id=decision, task=decision, arms=[chosen], prior_version=0, control=False)


def told(visits: demo.Visits, steps: int, now: float = 0.0) -> list[RewardRequest]:
    """The clicks that are told at once where everybody is shown the first item."""
    item = visits.items()[0].id
    found = []
    for _ in range(steps):
        shown = [(visit, answered(f"d{visit}", item)) for visit, _ in visits.come(50)]
        found += visits.clicks(shown, now)
    return found


def test_visits_follow_from_the_seed() -> None:
    one, same, other = (demo.Visits(seed, "u") for seed in (3, 3, 4))
    assert one.come(40) == same.come(40)
    assert one.items() == same.items()
    assert one.items() != other.items()
    assert told(one, 20) == told(same, 20)


def test_items_have_raw_attributes() -> None:
    items = demo.Visits(0, "u").items()
    assert len(items) == demo.SHOP.n_items
    for item in items:
        assert item.attributes is not None
        assert set(item.attributes) == set(demo.SHOP.features.attributes) - {"segment"}


def test_some_clicks_are_late_lost_or_told_twice() -> None:
    visits = demo.Visits(0, "u")
    at_once = [click.decision for click in told(visits, 200)]
    late = [click.decision for click in visits.clicks([], 1e9)]
    clicks = len(set(at_once)) + len(late)
    assert 0.2 < len(late) / clicks < 0.45
    assert 0.01 < 1.0 - len(set(at_once)) / len(at_once) < 0.1


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
            assert connection.execute(text("SELECT COUNT(*) FROM items")).scalar_one() == 60
        assert found[0] > found[1]
