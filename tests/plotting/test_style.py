"""Figures have one style, are told apart without colour, and are written atomically."""

from pathlib import Path

import pytest

from headstart.plotting.style import figure, style, styles


def test_a_figure_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), figure(tmp_path / "it.png"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_learner_has_one_style_and_others_go_by_position() -> None:
    assert style("ITL", 0) == style("ITL", 3)
    assert style("Hierarchical (ours)", 0) == style("Hierarchical", 5)
    colours = {style("mine", position)["color"] for position in range(8)}
    assert len(colours) == 8
    assert style("ITL", 0)["color"] not in colours


def test_twenty_learners_of_ones_own_all_differ() -> None:
    names = ["ITL", *(f"mine {i}" for i in range(20)), "Oracle"]
    drawn = styles(names, 50)
    looks = [(each["color"], str(each["linestyle"])) for each in drawn.values()]
    assert len(set(looks)) == len(names)
    # In greyscale: by dashes and markers, at least for as many learners as the paper has.
    few = styles(["OPT", "Oracle", "AVG-OFUL", "RR-OFUL", "ITL", "Hierarchical"], 50)
    grey = [(str(each["linestyle"]), each["marker"]) for each in few.values()]
    assert len(set(grey)) == 6


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_the_same_picture_is_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}{suffix}"
        with figure(path) as (axes,):
            axes.plot([0, 1], [1, 2], label="λ")
        found.append(path.read_bytes())
    assert found[0] == found[1]


def test_pdfs_have_no_type_3_fonts(tmp_path: Path) -> None:
    with figure(tmp_path / "it.pdf") as (axes,):
        axes.set_title("a title")
    data = (tmp_path / "it.pdf").read_bytes()
    assert b"/Type3" not in data
    assert b"/TrueType" in data or b"/Type0" in data


def test_one_legend_names_every_line_once(tmp_path: Path) -> None:
    with figure(tmp_path / "it.png", columns=2, legend=True) as (left, right):
        left.plot([0, 1], label="a")
        right.plot([0, 1], label="a")
        right.plot([0, 1], label="b")
        made = left.figure
    (legend,) = made.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
