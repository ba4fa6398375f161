"""Every example of the gallery runs, and draws."""

import runpy
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot
from tests.docs import blocks

pytestmark = pytest.mark.slow

EXAMPLES = sorted((blocks.DOCS / "gallery").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_draws(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mpl.use("agg")
    pyplot.close("all")
    runpy.run_path(str(example), run_name="__main__")
    assert pyplot.get_fignums()
    if example.stem == "warm_and_cold":
        # The front pages show this picture, and repeat its numbers.
        title = pyplot.gca().get_title()
        assert title in (blocks.DOCS / "index.md").read_text(encoding="utf-8")
        assert title in (blocks.DOCS.parent / "README.md").read_text(encoding="utf-8")
    pyplot.close("all")
