"""The figures of a report: nothing is cut off or covers a neighbour, whatever the unit."""

from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from tests.studies.tiny import SEQUENCE, TESTED

from headstart.plotting import style
from headstart.plotting.reports import played as reported
from headstart.plotting.reports.figures import study_figures
from headstart.plotting.reports.played import Played
from headstart.studies.shards import play_shard
from headstart.studies.study import Study


@pytest.mark.parametrize("study", [SEQUENCE, TESTED], ids=lambda study: study.protocol)
def test_labels_lie_within_the_figure_and_touch_no_other_panel(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reported, "unit_of", lambda _: "log(1 + units of reward)")
    made: list[Figure] = []

    def save(figure: Figure, path: Path) -> None:
        figure.draw_without_rendering()
        made.append(figure)

    monkeypatch.setattr(style, "save", save)
    names = [replace(one, name=f"{one.name} of a long name") for one in study.learners]
    long = replace(study, learners=tuple(names))
    list(study_figures(Played(long, play_shard(long, 0)), (0.5,), tmp_path))
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
