"""docs/non-stochastic.md: its code runs, and it prints what the page shows."""

from tests.docs import blocks


def test_the_page_prints_what_it_shows() -> None:
    outcomes = blocks.run((blocks.DOCS / "non-stochastic.md").read_text(encoding="utf-8"))
    assert len(outcomes) == 4
    for cell, printed in outcomes:
        # Another machine's rounding may change a choice, and so a mean over 20 runs by a little.
        assert blocks.agree(cell.shown, printed, relative=0.05, absolute=0.11), (
            f"the page shows\n{cell.shown}\nbut the code printed\n{printed}"
        )
