"""The comparison on real people's choices, on a few of them."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks import people, people_picture
from benchmarks.people_data import PeopleMissing, Rounds, people_of
from benchmarks.people_players import TwoLevel, play, settings_of_ridges, tuned
from tests.needs import missing


def _rounds(data: str) -> list[Rounds]:
    try:
        return people_of(data)(np.random.default_rng(0))
    except PeopleMissing as error:
        missing("data", str(error))


# People, rounds and arms by the README files of the data, and the mean reward of a random arm: 1/K
# where one is chosen, else as published.
@pytest.mark.parametrize(
    ("data", "n", "n_rounds", "n_arms", "mean", "margin"),
    [
        ("electricity", 361, 12, 4, 0.25, 1e-3),
        ("camera", 332, 16, 5, 0.2, 1e-3),
        ("bank", 946, 16, 2, 0.5, 1e-12),
        # 0.568 and 0.395 of all rows; ours are some of them.
        ("coupons", 556, 7, 3, 0.568, 0.01),
        ("mmlu-pro", 90, 56, 26, 0.395, 0.03),
    ],
)
def test_people_are_as_published(
    data: str, n: int, n_rounds: int, n_arms: int, mean: float, margin: float
) -> None:
    found = _rounds(data)
    assert len(found) == n
    assert np.median([len(rounds.rewards) for rounds in found]) == n_rounds
    assert {rounds.rewards.shape[1] for rounds in found} == {n_arms}
    assert np.mean([rounds.rewards.mean() for rounds in found]) == pytest.approx(mean, abs=margin)
    if data in ("electricity", "camera", "bank"):
        assert all((rounds.rewards.sum(1) == 1.0).all() for rounds in found)


def test_a_person_sees_an_item_once() -> None:
    for rounds in _rounds("movielens 15")[:20]:
        assert rounds.items is not None
        assert len(np.unique(rounds.items)) == rounds.items.size == 150


@pytest.mark.parametrize("data", ["electricity", "camera"])
def test_learning_pays_on_real_choices(data: str) -> None:
    _rounds(data)  # or skip
    one = people.play(data, [people.FIRST, *people.RIDGES], n_orders=1, most=120)
    uniform = 1.0 / people_of(data)(np.random.default_rng(0))[0].rewards.shape[1]
    for rewards in one.rewards.values():
        assert len(rewards) == 90
        # The standard error over 90 people is 0.02.
        assert rewards.mean() > uniform + 0.15
    assert people.table([one])[2].startswith(f"| {data} | 90 | ")


def test_the_parts_of_a_two_level_ridge_are_ridge_regressions() -> None:
    rng = np.random.default_rng(1)
    x, y, items = rng.standard_normal((30, 3)), rng.standard_normal(30), rng.integers(4, size=30)
    one = TwoLevel(3, own=np.inf, item=np.inf, z=0.0)
    each = TwoLevel(3, own=np.inf, item=5.0, z=0.0)
    one.begin(0)
    each.begin(0)
    for t in range(30):
        for player in (one, each):
            player.choose(x[t : t + 1], items[t : t + 1])
            player.learn(float(y[t]))
    expected = np.linalg.solve(np.eye(3) + x.T @ x, x.T @ y)
    assert one.shared == pytest.approx(expected)
    assert each.shared == pytest.approx(expected)
    assert one.effects(np.arange(4)) == pytest.approx(np.zeros(4))
    seen = np.array([np.sum(items == item) for item in range(4)])
    assert (each.counts[:4] == seen).all()


def test_tuning_takes_the_settings_that_earn_most() -> None:
    # Two kinds of people who like opposite arms: only a parameter of a person's own helps.
    arms = np.broadcast_to(np.array([[1.0, 1.0], [-1.0, 1.0]]), (20, 2, 2))
    likes = [np.tile([1.0, 0.0], (20, 1)), np.tile([0.0, 1.0], (20, 1))]
    order = [(i, Rounds(arms, likes[i % 2])) for i in range(20)]
    best = tuned(2, settings_of_ridges(people_differ=True, items=False), [order])
    found = play(best(), order)
    one = tuned(2, settings_of_ridges(people_differ=False, items=False), [order])
    assert np.mean(list(found.values())) > 0.9
    assert np.mean(list(play(one(), order).values())) < 0.8


def test_the_table_replaces_the_one_before() -> None:
    rewards = {"headstart": np.array([0.5, 0.7]), "one model": np.array([0.4, 0.6])}
    milliseconds = {"headstart": 0.3, "one model": 0.02}
    made = people.Played(data="camera", rewards=rewards, milliseconds=milliseconds)
    page = "before\n<!-- written by `make people` -->\n\nprevious\n\n<!-- end -->\nafter\n"
    once = people.written(page, [made], 5)
    assert "| camera | 2 | 0.6000 | 0.5000 | +0.1000" in once
    assert "previous" not in once
    assert once.startswith("before\n")
    assert once.endswith("after\n")
    assert people.written(once, [made], 5) == once


@pytest.mark.nightly
def test_readers_are_told_the_numbers_of_the_figure() -> None:
    _rounds(people_picture.DATA)  # or skip
    rewards = people_picture.played()
    first, last = (
        {name: f"{values[:, visit].mean():.2f}" for name, values in rewards.items()}
        for visit in (0, -1)
    )
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert f"{len(rewards[people_picture.OURS])} real people" in text
    ours, alone, one = people_picture.OURS, people_picture.ALONE, people_picture.ONE
    assert f"headstart rises from {first[ours]} to {last[ours]}" in text
    assert f"one model for all stays at {first[one]}" in text
    assert f"each person alone rises from {first[alone]} to {last[alone]}" in text
