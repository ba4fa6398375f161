"""The page about later papers: exponents by hand, and the whole page from two replications."""

import numpy as np
import pytest
from benchmarks import later_papers
from benchmarks.later_papers import HORIZONS, exponent_text

from headstart.plotting.document import Table


@pytest.mark.parametrize("exponent", [0.5, 1.0])
def test_the_exponent_of_growth(exponent: float) -> None:
    values = np.array([9.0, 10.0, 11.0])
    grown = [values * horizon**exponent for horizon in HORIZONS]
    # Both ends have an error of 1/√3 in 10; with two degrees of freedom, 4.303 of them.
    half = 4.302653 * np.sqrt(2.0 / 3.0) / 10.0 / np.log(HORIZONS[-1] / HORIZONS[0])
    assert exponent_text(grown) == (
        f"{exponent:.2f} [{exponent - half:.2f}, {exponent + half:.2f}]"
    )


@pytest.mark.nightly
def test_a_small_page() -> None:
    tables = [block for block in later_papers.page(2) if isinstance(block, Table)]
    assert [len(table.rows) for table in tables] == [8, 7, 11, 11]
    assert all(len(row) == len(table.header) for table in tables for row in table.rows)
