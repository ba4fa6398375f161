"""The figure that `headstart run` ends with."""

from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr
from matplotlib.axes import Axes
from tests.studies.tiny import SEQUENCE, TESTED

from headstart.plotting.overview import plot_overview
from headstart.studies.shards import play_shard
from headstart.studies.study import Study


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
    assert _panels(one, tmp_path / "a.png", monkeypatch) == ["by round"]
    assert _panels(TESTED, tmp_path / "b.png", monkeypatch, trained=0) == [
        "each learner at its best λ, N = 0",
        "over λ, N = 0",
        "over completed tasks, at the best λ",
    ]


def test_names_of_any_length_and_one_replication_can_be_plotted(tmp_path: Path) -> None:
    long = [replace(each, name=f"{each.name} {'of a long name ' * 9}") for each in TESTED.learners]
    study = replace(TESTED, learners=tuple(long), replications=1)
    plot_overview(_played(study), tmp_path / "long.png")


def test_only_opt_can_be_plotted(tmp_path: Path) -> None:
    played = _played(replace(SEQUENCE, learners=SEQUENCE.learners[:1]))
    plot_overview(played, tmp_path / "opt.png")
    assert (tmp_path / "opt.png").exists()
