"""Figures have one style, are told apart without colour, and are written atomically."""

from pathlib import Path

import pytest

from headstart.plotting.style import figure, style, styles, wrapped


def test_a_figure_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), figure(tmp_path / "it.png"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_learner_has_one_style_and_others_go_by_position() -> None:
    mine = [f"mine {i}" for i in range(8)]
    assert style("ITL", []) == style("ITL", mine)
    assert style("headstart", []) == style("Hierarchical", mine)
    colours = {style(name, mine)["color"] for name in mine}
    assert len(colours) == 8
    assert style("ITL", [])["color"] not in colours


def test_a_learner_has_the_same_style_wherever_it_stands_and_whoever_is_left_out() -> None:
    study = ["OPT", "EXP3", "ITL", "mine", "Oracle"]
    alone = style("mine", study)
    assert alone == style("mine", [name for name in study if name not in {"OPT", "Oracle"}])
    together = styles(["ITL", "mine"], 30, study)["mine"]
    assert {key: together[key] for key in alone} == alone
    assert alone["color"] == styles(["EXP3", "mine"], 30)["mine"]["color"]


def test_long_labels_wrap_with_the_unit_on_its_own_line() -> None:
    assert wrapped("regret per task (wins)") == "regret per task (wins)"
    assert wrapped("cumulative regret (units of reward)") == "cumulative regret\n(units of reward)"
    long = wrapped("difference in cumulative regret (log(1 + units of reward))")
    assert max(map(len, long.splitlines())) <= 28


def test_lines_of_a_label_are_about_as_long_as_each_other() -> None:
    assert wrapped("difference in cumulative regret") == "difference in\ncumulative regret"


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([2300.0, 9000.0], [f"{n}000" for n in range(3, 10)]),
        ([0.3, 8.0], ["0.5", "1", "2", "5"]),
        ([2.0, 3e6], ["1", "10", "100", "1000", "10000", "$10^{5}$", "$10^{6}$"]),
    ],
)
def test_a_logarithmic_axis_has_plain_numbers(
    values: list[float], labels: list[str], tmp_path: Path
) -> None:
    with figure(tmp_path / "it.png") as (axes,):
        axes.plot(values)
        axes.set_yscale("log")
    low, high = axes.get_ylim()
    ticks = zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
    assert [label.get_text() for at, label in ticks if low <= at <= high] == labels
    assert not any(label.get_text() for label in axes.get_yticklabels(minor=True))


def test_a_legend_is_no_wider_than_its_figure(tmp_path: Path) -> None:
    for columns in (1, 2):
        with figure(tmp_path / "it.png", columns=columns, legend=True) as axes:
            for i in range(7):
                axes[0].plot([0, 1], label=f"a learner of a long name {i}")
            made = axes[0].figure
        (legend,) = made.legends
        assert legend.get_window_extent().width <= made.bbox.width


def test_twenty_learners_of_ones_own_all_differ() -> None:
    names = ["ITL", *(f"mine {i}" for i in range(20)), "Oracle"]
    drawn = styles(names, 50)
    looks = [(each["color"], str(each["linestyle"])) for each in drawn.values()]
    assert len(set(looks)) == len(names)
    # In greyscale: by dashes and markers, at least for as many learners as the paper has.
    few = styles(["OPT", "Oracle", "AVG-OFUL", "RR-OFUL", "ITL", "headstart"], 50)
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
