"""The league, reduced: few replications of rows that differ most, its table and its picture."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from benchmarks import league_learners as who
from benchmarks.league_picture import draw, ratios, read
from benchmarks.league_results import Result
from benchmarks.league_rows import rows
from benchmarks.league_targets import targets
from benchmarks.regret import play, table
from PIL import Image

pytestmark = pytest.mark.slow

SEED = 7  # below 1,000: for development


def row_number(name: str) -> int:
    return next(number for number, row in enumerate(rows()) if row.name == name)


@pytest.fixture(scope="module")
def results() -> list[Result]:
    found = []
    for name in ("variance 1", "rank 2, variance 20"):
        number = row_number(name)
        row = next(islice(rows(), number, None))
        for size, regret, settings in play(number, replications=4, seed=SEED):
            found.append(Result(row, size, regret, settings))
    return found


def test_every_column_has_a_regret_that_is_not_negative(results: list[Result]) -> None:
    for result in results:
        assert {*who.TUNED, who.OURS, who.ORACLE} <= set(result.regret)
        for name, regret in result.regret.items():
            assert np.isfinite(regret).all(), name
            assert (regret > -1e-9).all(), name


def test_a_learned_prior_halves_the_regret_of_learning_alone(results: list[Result]) -> None:
    """At variance 1 and N = 10 it is 0.13 of ITL's, with 0.12 to 0.15 over 60 replications."""
    (result,) = [r for r in results if r.row.name == "variance 1" and r.size == 10]
    assert result.mean(who.OURS) < 0.5 * result.mean(who.ITL)


def test_the_picture_shows_the_table(results: list[Result], tmp_path: Path) -> None:
    page = tmp_path / "league.md"
    page.write_text("\n".join(["# The league", "", *table(results), "", "| other |", "|---|"]))
    lines = list(read(page))
    assert [line.title for line in lines] == [f"{r.row.name}, N = {r.size}" for r in results]
    for line, result in zip(lines, results, strict=True):
        for column, mean in line.means.items():
            assert mean == pytest.approx(result.mean(column), abs=0.0051)
    assert np.nanmin(ratios(lines)[:, : len(who.TUNED)]) >= 1.0
    draw(page, tmp_path / "league.png")
    with Image.open(tmp_path / "league.png") as picture:
        assert min(picture.size) > 300


def test_every_target_says_how_many_rows_hold(results: list[Result]) -> None:
    lines = list(targets(results))
    assert lines
    assert all(" of " in line or "not played" in line for line in lines if line.startswith("-"))
