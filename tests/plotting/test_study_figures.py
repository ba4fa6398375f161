"""The figures of a study: the one that `headstart run` ends with, and those of its report."""

from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tests.studies.tiny import SEQUENCE, TESTED, play_shard

from headstart.plotting import curves, style
from headstart.plotting import study_figures as module
from headstart.plotting.study_figures import plot_overview, study_figures
from headstart.studies.study import Study
from headstart.studies.summary import Summary

pytestmark = pytest.mark.slow


def _played(study: Study) -> xr.Dataset:
    return play_shard(study, 0).assign_attrs(study=study.to_toml())


def _panels(study: Study, path: Path, monkeypatch: pytest.MonkeyPatch, **given: int) -> list[str]:
    """The titles of the panels."""
    titles: list[str] = []
    monkeypatch.setattr(Axes, "set_title", lambda _, title: titles.append(title))
    plot_overview(_played(study), path, **given)
    assert path.read_bytes().startswith(b"\x89PNG")
    return titles


def test_there_is_a_panel_for_what_a_study_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = replace(SEQUENCE, regularization=(1.0,))
    assert _panels(one, tmp_path / "a.png", monkeypatch) == ["regret"]
    assert _panels(TESTED, tmp_path / "b.png", monkeypatch, trained=0) == [
        "each at its best λ, after N = 0 tasks",
        "over λ, after N = 0 tasks",
        "each at its best λ (N = 0)",
    ]


def test_the_figure_of_run_has_the_numbers_of_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[xr.DataArray] = []

    def keep(_: Axes, values: xr.DataArray, along: str, **others: object) -> None:
        if along == "trained" and others["reference"] is None:
            drawn.append(values)

    monkeypatch.setattr(curves, "plot", keep)
    results = _played(TESTED)
    # A λ that is best without training and worst after it.
    results["regret"].loc[{"learner": "RR-OFUL", "regularization": 0.5, "trained": 0}] = 0.0
    results["regret"].loc[{"learner": "RR-OFUL", "regularization": 0.5, "trained": 2}] = 9.0
    plot_overview(results, tmp_path / "a.png")
    list(study_figures(Summary(TESTED, results), (), tmp_path))
    overview, report = drawn
    xr.testing.assert_identical(overview, report)
    assert float(report.sel(learner="RR-OFUL", trained=0).min()) > 0


def test_every_caption_and_title_of_a_report_names_n(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles: list[str] = []
    monkeypatch.setattr(Axes, "set_title", lambda _, title: titles.append(title))
    written = list(study_figures(Summary(TESTED, _played(TESTED)), (0.5,), tmp_path))
    best = [picture for picture in written if picture.name.endswith("-best")]
    assert len(best) == 2
    assert all("after N = 2 tasks" in picture.caption for picture in best)
    assert all("completed tasks N" in p.caption or "N = 2" in p.caption for p in written)
    assert all("minus ITL" in title or "N = 2" in title or "λ = " in title for title in titles)


def test_names_of_any_length_and_one_replication_can_be_plotted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Figure] = []
    monkeypatch.setattr(style, "save", lambda figure, path: made.append(figure))
    long = [replace(one, name=f"{one.name} {'of a long name ' * 9}") for one in TESTED.learners]
    study = replace(TESTED, learners=tuple(long), replications=1)
    plot_overview(_played(study), tmp_path / "long.png")
    (figure,) = made
    names = [one.name for one in long if not one.name.startswith("OPT")]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == names
    assert len(figure.axes) == 3
    for axes in figure.axes:
        assert [line.get_label() for line in axes.get_lines()] == names
        assert not axes.collections  # one replication has no bands


def test_only_opt_can_be_plotted(tmp_path: Path) -> None:
    played = _played(replace(SEQUENCE, learners=SEQUENCE.learners[:1]))
    plot_overview(played, tmp_path / "opt.png")
    assert (tmp_path / "opt.png").exists()


@pytest.mark.parametrize("study", [SEQUENCE, TESTED], ids=lambda study: study.protocol)
def test_labels_lie_within_the_figure_and_touch_no_other_panel(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "unit_of", lambda _: "log(1 + units of reward)")
    made: list[Figure] = []

    def save(figure: Figure, path: Path) -> None:
        figure.draw_without_rendering()
        made.append(figure)

    monkeypatch.setattr(style, "save", save)
    names = [replace(one, name=f"{one.name} of a long name") for one in study.learners]
    long = replace(study, learners=tuple(names))
    list(study_figures(Summary(long, play_shard(long, 0)), (0.5,), tmp_path))
    assert len(made) >= 4
    for figure in made:
        _assert_apart(figure)


def _assert_apart(figure: Figure) -> None:
    labels = [axes.yaxis.label.get_window_extent() for axes in figure.axes]
    for axes, label in zip(figure.axes, labels, strict=True):
        assert label.y0 >= 0
        assert label.y1 <= figure.bbox.y1
        assert label.height <= 1.15 * axes.bbox.height
    for left, label in zip(figure.axes, labels[1:], strict=False):
        parts = (left.bbox, left.title.get_window_extent(), left.xaxis.label.get_window_extent())
        assert not any(label.overlaps(part) for part in parts)
