"""The comparison in simulated shops, on tiny ones."""

import numpy as np
import pytest
from benchmarks import shop_players, shops

from headstart.environments import Shop

CASE = shops.Case(
    shop=Shop(n_items=12, n_categories=2, n_brands=2, click_rate=0.2, season=150), n_users=30
)


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shops, "CASES", {shops.STANDARD: CASE})
    monkeypatch.setattr(shop_players, "FIRST_VISITS", 200)


def _play(player: str, world: int = 0, n_users: int | None = None) -> shops.Result:
    return shops.play(shops.STANDARD, world, player, seed=0, n_users=n_users)


@pytest.mark.parametrize("player", shop_players.PLAYERS)
def test_a_player_earns_less_than_the_oracle_and_can_be_repeated(player: str) -> None:
    one, two = _play(player), _play(player)
    assert (one.clicks, one.later, one.largest_share) == (two.clicks, two.later, two.largest_share)
    assert 0.0 < one.clicks <= _play("oracle").clicks
    assert 1 / 12 <= one.largest_share <= 1.0


def test_uniform_has_the_click_rate_of_the_shop() -> None:
    clicks = [_play("uniform", world).clicks for world in range(5)]
    # Users' tastes move the rate of 30 users by about 10 %.
    assert np.mean(clicks) == pytest.approx(200.0, rel=0.15)


def test_players_learn() -> None:
    uniform = _play("uniform", n_users=200)
    for player in ("linear, Thompson", "linear, UCB", "logistic", "per item"):
        assert _play(player, n_users=200).later > 1.2 * uniform.later


def test_the_posterior_of_the_logistic_rival_is_where_the_gradient_is_0() -> None:
    world = CASE.shop.world(0, n_users=60)
    player = shop_players.Logistic(world, 0, precision=2.0)
    shop_players.chosen(world, player)
    player._refit()
    seen = player._counts[0] > 0.0
    x, (shown, clicked) = player._arms[seen], player._counts[:, seen]
    p = 1.0 / (1.0 + np.exp(-x @ player._mean))
    np.testing.assert_allclose(x.T @ (clicked - shown * p), 2.0 * player._mean, atol=1e-6)


def test_ratios_are_paired_by_world() -> None:
    def result(player: str, world: int, clicks: float) -> shops.Result:
        return shops.Result(
            shop="a", world=world, player=player, clicks=clicks, later=clicks, largest_share=0.5,
            seconds=1.0,
        )  # fmt: skip

    results = [result("headstart", 0, 20.0), result("headstart", 1, 60.0)]
    results += [result("per item", 0, 10.0), result("per item", 1, 120.0)]
    row = next(line for line in shops.table(results) if line.startswith("| per item"))
    assert "65.0 / 65.0 | 1.000" in row  # √(2 · ½)
    assert "1 of 2 | 0.50 (a)" in row
