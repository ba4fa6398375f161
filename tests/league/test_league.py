"""The league, reduced: few replications of rows that differ most, its tables and its picture."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from benchmarks.decision_sets import CatalogueSubsets, ContextPerArm
from benchmarks.league import learners as who
from benchmarks.league import playing
from benchmarks.league.page import FOR_USERS, ratios, regrets, users_page, whole_page
from benchmarks.league.picture import draw
from benchmarks.league.playing import Version, play, play_and_store, stored
from benchmarks.league.results import RIVALS, Result, crossfitted
from benchmarks.league.rows import Row, simulated
from benchmarks.league.targets import TARGETS, targets
from PIL import Image

from headstart.environments import Synthetic

SEED = 7  # below 1,000: for development


def result(**columns: list[list[float]]) -> Result:
    """Regrets (settings, replications) by column."""
    row = Row(group="linear", name="made up", environment=Synthetic())
    names = [f"{c}|{i}" for c, settings in columns.items() for i in range(len(settings))]
    values = np.concatenate([np.array(settings) for settings in columns.values()])
    dims = ("learner", "replication")
    return Result(row, 10, xr.DataArray(values, dims=dims, coords={"learner": names}))


def test_a_setting_is_scored_where_it_was_not_chosen() -> None:
    """The even replications choose setting 0, the odd ones setting 1."""
    made = result(AVG=[[1.0, 9.0, 1.0, 9.0], [2.0, 4.0, 2.0, 4.0]])
    assert made.chosen(who.AVG) == ["AVG|0", "AVG|1"]
    assert made.mean(who.AVG) == (9.0 + 2.0 + 9.0 + 2.0) / 4


def test_the_best_rival_is_chosen_from_all_settings_of_all() -> None:
    made = result(ITL=[[5.0] * 4], AVG=[[4.0] * 4, [3.0, 6.0] * 2], headstart=[[2.0] * 4])
    assert made.chosen(RIVALS) == ["AVG|1", "AVG|0"]
    assert made.mean(RIVALS) == (4.0 + 6.0) / 2
    assert made.ratio(who.OURS, RIVALS)[0] == pytest.approx(2.0 / 5.0)


def test_crossfitting_agrees_with_a_loop() -> None:
    rng = np.random.default_rng(SEED)
    values, counts = rng.random((3, 7)), rng.integers(0, 3, (5, 7)) + 1
    for count, found in zip(counts, crossfitted(values, counts), strict=True):
        total = 0.0
        for half in (0, 1):
            chosen_on, scored_on = range(half, 7, 2), range(1 - half, 7, 2)
            sums = [sum(count[r] * setting[r] for r in chosen_on) for setting in values]
            best = values[sums.index(min(sums))]
            total += sum(count[r] * best[r] for r in scored_on)
        assert found == pytest.approx(total / count.sum())


def test_equal_settings_are_not_flattered_by_their_number() -> None:
    """Of 60 settings of equal worth, the best in hindsight looks 5 % better than it is."""
    rng = np.random.default_rng(SEED)
    values = 1.0 + 0.3 * rng.standard_normal((60, 60))
    assert values.mean(1).min() < 0.95
    assert crossfitted(values, np.ones((1, 60), dtype=np.int64))[0] == pytest.approx(1.0, abs=0.07)


def test_intervals_hold_the_ratio() -> None:
    """Two columns with a ratio of 0.8: nominal 95 % intervals in at least 85 of 100 cases."""
    rng, held = np.random.default_rng(SEED), 0
    for _ in range(100):
        shared = rng.gamma(4.0, 1.0, 40)
        rivals = [list(shared * rng.gamma(9.0, 1 / 9, 40)) for _ in range(5)]
        ours = [list(0.8 * shared * rng.gamma(9.0, 1 / 9, 40))]
        _, low, high = result(AVG=rivals, headstart=ours).ratio(who.OURS, who.AVG)
        held += low <= 0.8 <= high
    assert held >= 85


def test_a_part_of_a_catalogue_is_offered() -> None:
    rng = np.random.default_rng(SEED)
    prepared = CatalogueSubsets(dimension=3, n_arms=8, n_offered=4, reward="linear").prepare(2, rng)
    first, second = (prepared.sample(5, 2, rng) for _ in range(2))
    for task, r, t in product((first, second), range(2), range(5)):
        offered, items = task.arms[r, t], prepared.bases[r]
        at = [int(np.flatnonzero((items == arm).all(1))[0]) for arm in offered]
        assert len(set(at)) == 4
    assert np.unique(prepared.bases[0], axis=0).shape == (8, 3)


def test_every_arm_has_a_block_for_the_context() -> None:
    task = ContextPerArm(dimension=6, n_arms=3, reward="linear").sample(
        4, 2, np.random.default_rng(SEED)
    )
    blocks = task.arms.reshape(2, 4, 3, 3, 2)
    for arm, block in product(range(3), range(3)):
        expected = blocks[:, :, 0, 0] if arm == block else 0.0 * blocks[:, :, 0, 0]
        np.testing.assert_array_equal(blocks[:, :, arm, block], expected)


def test_rows_have_titles_of_their_own() -> None:
    titles = [f"{row.title}, N = {size}" for row in simulated() for size in row.sizes]
    assert len(set(titles)) == len(titles)
    assert {title for title in FOR_USERS if not title.startswith("real")} <= set(titles)


def test_every_target_has_rows() -> None:
    empty = xr.DataArray()
    everything = [Result(row, size, empty) for row in simulated() for size in row.sizes]
    for target in TARGETS:
        if target.text == "real data":  # its rows need the publishers' files
            continue
        assert any(target.among(r) for r in everything), target.text


@pytest.fixture(scope="module")
def results() -> list[Result]:
    """Of two rows, as `make league` would store them, with 4 replications."""
    found = []
    for row in simulated():
        if row.name in {"variance 1, T = 10 < d", "d = 20, K = 20, T = 5"}:
            played = play(row, replications=4, seed=SEED)
            found += [Result(row, size, played.sel(trained=size)) for size in row.sizes]
    return found


@pytest.mark.slow
def test_every_column_has_a_regret_that_is_not_negative(results: list[Result]) -> None:
    for played in results:
        assert {*who.TUNED, who.OURS, who.INFORMED, who.TOLD} <= set(played.columns)
        assert set(played.columns) <= set(who.COLUMNS)
        assert (played.regret.to_numpy() > -1e-9).all()
        assert len(played.settings(RIVALS)) == 84


@pytest.mark.slow
def test_a_learned_prior_halves_the_regret_of_learning_alone(results: list[Result]) -> None:
    """At T < d and N = 10 it is 0.21 of ITL's, with 0.17 to 0.24 over 60 replications."""
    (played,) = [r for r in results if r.row.horizon == 10 and r.size == 10]
    assert played.mean(who.OURS) < 0.5 * played.mean(who.ITL)


@pytest.mark.slow
def test_pages_and_picture_show_what_was_played(results: list[Result], tmp_path: Path) -> None:
    for table in (ratios(results), regrets(results)):
        lines = list(table)
        assert len(lines) == len(results) + 2
        assert len({line.count("|") for line in lines}) == 1
    assert len(list(targets(results))) > 2
    page = whole_page(results, Version("abc", SEED, 1.0), "all intervals hold")
    assert "commit abc" in page
    assert "all intervals hold" in page
    draw(results, tmp_path / "league.png")
    with Image.open(tmp_path / "league.png") as picture:
        assert min(picture.size) > 200


def test_the_table_for_users_replaces_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    made = result(ITL=[[4.0] * 4], headstart=[[2.0] * 4])
    monkeypatch.setattr("benchmarks.league.page.FOR_USERS", {made.title: "tasks"})
    version = Version("abc", SEED, 1.0)
    page = "before\n<!-- written by `make league` -->\n\nprevious\n\n<!-- end -->\nafter\n"
    once = users_page(page, [made], version)
    assert "| tasks | 4.00 | 4.00 | 2.00 | – | 0.50 [0.50, 0.50] |" in once
    assert "previous" not in once
    assert users_page(once, [made], version) == once


def test_what_is_stored_is_not_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = []

    def counted(row: Row, *, replications: int, seed: int) -> xr.DataArray:
        played.append((row.title, replications, seed))
        dims, shape = ("learner", "trained", "replication"), (1, len(row.sizes), replications)
        coords = {"learner": [who.OURS], "trained": list(row.sizes)}
        return xr.DataArray(np.ones(shape), dims=dims, coords=coords)

    monkeypatch.setattr(playing, "play", counted)
    version = Version("abc", SEED, 0.5)
    for again in (version, version, Version("def", SEED, 0.5), Version("abc-dirty", SEED, 0.5)):
        play_and_store(0, tmp_path, again)
    play_and_store(0, tmp_path, Version("abc-dirty", SEED, 0.5))
    assert played == 4 * [("linear: variance 0.1", 60, SEED)]
    assert [found.size for found in stored(0, tmp_path)] == [0, 1, 5, 10]
