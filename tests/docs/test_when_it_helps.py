"""docs/when-it-helps.md: its code runs, and prints what the page shows."""

from tests.docs import blocks


def test_the_page_prints_what_it_shows() -> None:
    page = (blocks.DOCS / "when-it-helps.md").read_text(encoding="utf-8")
    outcomes = blocks.run(page)
    assert len(outcomes) > 5
    for cell, printed in outcomes:
        # Another machine's BLAS may break a near-tie otherwise, and so move a mean a little.
        assert blocks.agree(cell.shown, printed, relative=0.05, absolute=0.06), (
            f"the page shows\n{cell.shown}\nbut the code printed\n{printed}"
        )


def test_agreement_is_not_blind() -> None:
    shown = "regret 5.3 saves 0.0\n"
    assert blocks.agree(shown, "regret 5.4 saves -0.0\n", relative=0.05, absolute=0.06)
    assert not blocks.agree(shown, "regret 6.3 saves 0.0\n", relative=0.05, absolute=0.06)
    assert not blocks.agree(shown, "reward 5.3 saves 0.0\n", relative=0.05, absolute=0.06)


def test_cells_are_code_with_what_follows() -> None:
    page = "a\n```python\nprint(1)\n```\nb\n```text\n1\n```\n```python\nx = 2\n```\n"
    assert blocks.cells(page) == [blocks.Cell("print(1)\n", "1\n"), blocks.Cell("x = 2\n", "")]
    assert [printed for _, printed in blocks.run(page)] == ["1\n", ""]
