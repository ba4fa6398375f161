"""Every named study runs, small, on real data where it is there."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.needs import missing
from tests.studies.tiny import play_shard

from headstart.paper.readings import SECTIONS
from headstart.paper.studies import GRID
from headstart.studies.study import Study

pytestmark = pytest.mark.slow

FOLDERS = {"lastfm": "hetrec2011-lastfm-2k/user_artists.dat", "movielens": "ml-1m/ratings.dat"}
STUDIES = [
    pytest.param(name, study, id=study.name)
    for name, made in SECTIONS.items()
    for study in made().studies().values()
]


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> Path:
    beside = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("HEADSTART_DATA", beside))
    monkeypatch.setenv("HEADSTART_DATA", str(folder))
    return folder


@pytest.mark.parametrize(("name", "study"), STUDIES)
def test_a_named_study_runs(name: str, study: Study, data: Path) -> None:
    if name in FOLDERS and not (data / FOLDERS[name]).exists():
        missing("data", f"the {name} files are not in {data}; set HEADSTART_DATA to their folder")
    sizes = tuple(n for n in study.training_tasks if n <= 10)
    grid = study.regularization[:: max(1, len(study.regularization) - 1)]
    small = replace(study, replications=2, training_tasks=sizes, regularization=grid)
    played = play_shard(small, 0)
    assert played.sizes["replication"] == 2
    regret, reward = played["regret"], played["reward"]
    assert np.isfinite(reward).all()
    assert (regret >= -1e-12).all()
    assert (regret.sum("round") > 0).any()
    if "OPT" in played["learner"]:
        assert (regret.sel(learner="OPT") == 0).all()


def test_the_grid_has_the_figures_values_and_is_logarithmic() -> None:
    assert len(GRID) == 13
    assert {1.0, 100.0} <= set(GRID)
    np.testing.assert_allclose(np.diff(np.log10(GRID)), 0.5)
