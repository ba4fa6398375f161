"""The simulated shop: its world and its visits."""

from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headstart as hs
from headstart.environments import Shop

SMALL = Shop(n_items=30, season=200)


def test_the_same_seed_draws_the_same_world() -> None:
    one, two = SMALL.world(3, n_users=40), SMALL.world(3, n_users=40)
    assert one.items == two.items
    np.testing.assert_array_equal(one.visitors, two.visitors)
    np.testing.assert_array_equal(one.probability(5, range(30)), two.probability(5, range(30)))
    assert SMALL.world(4, n_users=40).items != one.items


@settings(max_examples=20, deadline=None)
@given(
    rate=st.sampled_from([0.01, 0.05, 0.2]),
    truth=st.sampled_from(["logistic", "linear"]),
    seed=st.integers(0, 1000),
)
def test_the_click_rate_is_the_mean_over_users_and_items(
    rate: float, truth: hs.environments.shop.Truth, seed: int
) -> None:
    world = Shop(n_items=40, click_rate=rate, truth=truth).world(seed, n_users=200)
    firsts = np.unique(world.visitors, return_index=True)[1]
    means = [world.probability(int(v), world.on_sale(0)).mean() for v in firsts]
    # Users differ: five standard errors of their mean, and as many of the 400 of the calibration.
    assert np.mean(means) == pytest.approx(
        rate, abs=5.0 * np.std(means) * np.sqrt(1 / 200 + 1 / 400)
    )


def test_visits_are_in_the_order_of_time_and_interleave() -> None:
    world = Shop(n_items=5).world(0, n_users=400)
    assert (np.diff(world.times) >= 0.0).all()
    counts = np.bincount(world.visitors, minlength=400)
    assert counts.min() >= 1
    # The standard deviation of a user's visits is about √(12 + 11²/2) = 8.5, so of the mean 0.43.
    assert counts.mean() == pytest.approx(12.0, abs=1.7)
    assert (np.diff(world.visitors) != 0).mean() > 0.9
    first = np.unique(world.visitors, return_index=True)[1]
    assert (np.diff(first) > 0).all()  # users are numbered by their first visit


def test_a_visit_clicks_on_what_is_likelier_than_its_own_number() -> None:
    world = SMALL.world(1, n_users=60)
    for visit in range(0, world.n_visits, 7):
        items = world.on_sale(visit)
        likely = items[np.argsort(world.probability(visit, items))]
        clicks = [world.click(visit, int(item)) for item in likely]
        assert clicks == sorted(clicks)
        assert world.best(visit) == likely[-1]


def test_a_share_of_the_items_is_replaced_after_every_season() -> None:
    world = Shop(n_items=30, season=100, replaced=0.2).world(0, n_users=60)
    before, after = world.on_sale(99), world.on_sale(100)
    assert len(before) == len(after) == 30
    assert len(np.setdiff1d(before, after)) == 6
    assert np.setdiff1d(after, before).tolist() == list(range(30, 36))
    assert len(world.items) == 30 + 6 * ((world.n_visits - 1) // 100)


def test_preferences_stay_unless_they_drift() -> None:
    for drift in (0.0, 0.5):
        world = Shop(n_items=30, season=100, replaced=0.0, drift=drift).world(0, n_users=60)
        user = int(world.visitors[0])
        visits = np.flatnonzero(world.visitors == user)
        last = int(visits[-1])
        assert last >= 100
        same = np.array_equal(world.probability(0, range(30)), world.probability(last, range(30)))
        assert same == (drift == 0.0)


def test_clicks_are_reported_at_once_late_or_never() -> None:
    world = Shop(n_items=5, late=0.3, lost=0.2, late_seconds=600.0).world(0, n_users=1000)
    delay = world.reported - world.times
    # Five standard errors of a share of 12,000 visits are at most 0.023.
    assert np.isinf(delay).mean() == pytest.approx(0.2, abs=0.023)
    late = delay[(delay > 0.0) & np.isfinite(delay)]
    assert len(late) / len(delay) == pytest.approx(0.3, abs=0.023)
    assert late.mean() == pytest.approx(600.0, rel=0.1)


def test_values_are_missing_but_count() -> None:
    world, full = (Shop(n_items=200, missing=m).world(0, n_users=5) for m in (0.2, 0.0))
    for name in ("price", "brand", "popularity"):
        unknown = np.mean([item[name] is None for item in world.items])
        assert unknown == pytest.approx(0.2, abs=0.15)
        assert all(item[name] is not None for item in full.items)
    np.testing.assert_array_equal(world.probability(0, range(200)), full.probability(0, range(200)))


def test_a_log_is_what_was_shown_with_its_propensity() -> None:
    world = Shop(n_items=30, season=200, missing=0.2).world(0, n_users=40)
    policies: tuple[Literal["popular", "random"], ...] = ("popular", "random")
    for policy in policies:
        log = world.log(300, policy=policy)
        assert list(log.columns) == [
            "user", "segment", "item", "price", "category", "brand", "popularity", "click",
            "propensity",
        ]  # fmt: skip
        assert len(log) == 300
        assert set(log["click"]) <= {0.0, 1.0}
        assert log["price"].isna().any()
        # Σ 1/propensity estimates the number of items that could be shown, 30.
        assert (1.0 / log["propensity"]).mean() == pytest.approx(30.0, rel=0.3)
    with pytest.raises(ValueError, match="n must be at most"):
        world.log(100_000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_items", 0),
        ("click_rate", 0.0),
        ("click_rate", 0.7),
        ("truth", "quadratic"),
        ("taste", -1.0),
        ("replaced", 1.5),
        ("mean_visits", 0.5),
        ("late_seconds", 0.0),
    ],
)
def test_settings_are_checked(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name):
        Shop(**{name: value})  # type: ignore[arg-type]
