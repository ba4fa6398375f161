"""Every page's code runs in an empty folder, top to bottom, and prints what the page shows."""

import runpy
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.image import imread
from tests.docs import blocks

import headstart as hs

pytestmark = pytest.mark.slow

# Another machine's BLAS may break a near-tie otherwise, and so move a mean a little: by 5 % and by
# this much, which is far from changing what a page concludes.
MARGINS = {
    "explanation/avg-and-rr.md": 0.02,
    "explanation/when-it-helps.md": 0.06,
    "how-to/own-ratings.md": 0.2,
    "tutorials/first-comparison.md": 0.06,
    "tutorials/first-warm-start.md": 0.03,
}
MARGIN = 0.11

# Its code needs other libraries (test_compared.py).
ELSEWHERE = {"explanation/compared.md"}
WITH_CODE = [p for p in blocks.pages() if p not in ELSEWHERE and blocks.cells(blocks.text_of(p))]


def test_every_folder_has_pages_and_most_have_code() -> None:
    assert {page.partition("/")[0] for page in WITH_CODE} >= {"tutorials", "how-to", "explanation"}
    assert set(MARGINS) <= set(WITH_CODE)


def _mark(page: str) -> tuple[pytest.MarkDecorator, ...]:
    """Pages that explain are run by `make docs`; those that users copy from by `make test` too."""
    return (pytest.mark.site,) if page.startswith(("explanation/", "developers/")) else ()


@pytest.mark.parametrize("page", [pytest.param(page, marks=_mark(page)) for page in WITH_CODE])
def test_the_page_runs_and_prints_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mpl.use("agg")  # a page may show a figure, and a test has no screen
    for cell, printed in blocks.run(blocks.text_of(page)):
        if cell.shown:
            margin = MARGINS.get(page, MARGIN)
            assert blocks.agree(cell.shown, printed, relative=0.05, absolute=margin), (
                f"the page shows\n{cell.shown}\nbut the code printed\n{printed}"
            )
        assert printed == "" or cell.shown, f"the page does not show\n{printed}"
    for drawn in tmp_path.glob("*.png"):
        assert f"../figures/{drawn.name}" in blocks.text_of(page), drawn.name
        _assert_same_picture(drawn, blocks.DOCS / "figures" / drawn.name)


@pytest.mark.site
def test_the_front_pages_repeat_the_numbers_of_their_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mpl.use("agg")
    runpy.run_path(str(blocks.DOCS / "gallery" / "warm_and_cold.py"), run_name="__main__")
    title = pyplot.gca().get_title()
    pyplot.close("all")
    assert title in (blocks.DOCS / "index.md").read_text(encoding="utf-8")
    assert title in (blocks.DOCS.parent / "README.md").read_text(encoding="utf-8")


def _assert_same_picture(one: Path, other: Path) -> None:
    first, second = imread(one), imread(other)
    assert first.shape == second.shape, other
    # Another machine's rounding may move a line by a pixel; another picture differs far more.
    assert np.abs(first - second).mean() < 0.005, other


def test_every_named_learner_is_on_a_page() -> None:
    text = blocks.text_of("how-to/published-methods.md")
    for name in hs.learners.__all__:
        if name.islower():
            assert f"`{name}(" in text, name


def test_agreement_is_not_blind() -> None:
    shown = "regret 5.3 saves 0.0\n"
    assert blocks.agree(shown, "regret  5.4 saves -0.0\n", relative=0.05, absolute=0.06)
    assert not blocks.agree(shown, "regret 6.3 saves 0.0\n", relative=0.05, absolute=0.06)
    assert not blocks.agree(shown, "reward 5.3 saves 0.0\n", relative=0.05, absolute=0.06)


def test_cells_are_code_with_what_follows() -> None:
    page = "a\n```python\nprint(1)\n```\nb\n```text\n1\n```\n```toml\n```\n```text\n2\n```\n"
    assert blocks.cells(page) == [blocks.Cell("print(1)\n", "1\n")]
    assert [printed for _, printed in blocks.run(page)] == ["1\n"]
