"""Figures have one style, and are written atomically."""

from pathlib import Path

import pytest

from headstart.plotting.style import figure, style


def test_a_figure_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), figure(tmp_path / "it.png"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_learner_has_one_style_and_others_go_by_position() -> None:
    assert style("ITL", 0) == style("ITL", 3)
    colours = {style("mine", position)["color"] for position in range(4)}
    assert len(colours) == 4
    assert style("ITL", 0)["color"] not in colours
