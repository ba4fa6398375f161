"""A study as one would hand to a referee: clusters, arms that walk, ten learners, N = 1 … 30."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import pytest
import xarray as xr

from headstart.plotting.study_report import write_study_report
from headstart.studies import runner
from headstart.studies.study import Study
from headstart.studies.toml import from_file

pytestmark = pytest.mark.slow

# An environment and an agent of one's own: w is near one of three centres, and every arm takes a
# step of a walk in every round.
WALKS = '''
from dataclasses import dataclass
import numpy as np
import headstart as hs

@dataclass(frozen=True, kw_only=True)
class Walks:
    dimension: int = 4
    n_arms: int = 5
    step: float = 0.3

    @property
    def centres(self):
        return 1.5 * np.eye(self.dimension)[:3]

    @property
    def mean_parameter(self):
        return self.centres.mean(axis=0)

    def sample(self, horizon, replications, rng):
        w = self.centres[rng.integers(3, size=replications)]
        w = w + 0.3 * rng.standard_normal(w.shape)
        arms = rng.standard_normal((replications, horizon, self.n_arms, self.dimension))
        for t in range(1, horizon):
            arms[:, t] = np.sqrt(1 - self.step**2) * arms[:, t - 1] + self.step * arms[:, t]
        means = np.einsum("rtkd,rd->rtk", arms, w)
        rewards = means + 0.5 * rng.standard_normal(means.shape)
        return hs.Task(arms=arms, rewards=rewards, means=means, parameter=w)

@dataclass(frozen=True)
class Last:
    """Plays by the sum of what the last task rewarded."""

    name: str

    def n_uniforms(self, n_arms, dimension):
        return 0

    def begin(self, dimension, replications):
        return {"w": np.zeros((replications, dimension))}

    def play(self, state, rounds):
        w = np.zeros_like(state["w"])
        while not rounds.over:
            scores = np.einsum("rkd,rd->rk", rounds.arms, state["w"])
            _, rewards = rounds.choose_largest(scores)
            w += rewards[:, None] * rounds.features
        return w

    def learn(self, state, played):
        return {"w": played}
'''

METHODS = {
    "itl": 'regularization = "@regularization"',
    "oracle": 'mean_parameter = "@mean_parameter"\nregularization = "@regularization"',
    "avg_oful": 'regularization = "@regularization"',
    "rr_oful": 'regularization = "@regularization"',
    "pooled_oful": "",
    "lin_ts": "noise_variance = 0.25",
    "ada_ts": "noise_variance = 0.25\ntask_variance = 0.5",
    "headstart": "",
}
STUDY = f"""
name = "walks & clusters_1"
protocol = "train-then-test"
horizon = 3
training_tasks = {list(range(1, 31))}
test_tasks = 1
regularization = [0.3, 3.0]
replications = 2
shard = 1

[environment]
class = "trial_walks:Walks"

[[learners]]
name = "OPT"

[[learners]]
name = "what 100 % of the last task & its rewards_taught"
method = "trial_walks:Last"
""" + "".join(f'\n[[learners]]\nmethod = "{name}"\n{more}\n' for name, more in METHODS.items())


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    folder = tmp_path_factory.mktemp("trial")
    (folder / "trial_walks.py").write_text(WALKS)
    (folder / "study.toml").write_text(STUDY)
    yield from_file(folder / "study.toml")
    sys.modules.pop("trial_walks", None)


@pytest.fixture(scope="module")
def folder(study: Study) -> Path:
    """Played with nine learners and one replication, and grown."""
    out = Path(study.folder) / "out"
    runner.run(replace(study, learners=study.learners[:-1], replications=1), out, workers=1)
    grown = runner.run(study, out, workers=1)
    assert grown.sizes["learner"] == 10
    return out


def test_growth_gives_what_a_fresh_run_does(study: Study, folder: Path, tmp_path: Path) -> None:
    fresh = runner.run(study, tmp_path, workers=2)
    with xr.open_dataset(folder / "results.nc") as grown:
        xr.testing.assert_equal(grown["regret"].load(), fresh["regret"])


def test_latex_tables_are_whole(folder: Path, tmp_path: Path) -> None:
    mpl.use("agg")
    write_study_report(folder, tmp_path, all_pairs=True)
    tables = sorted((tmp_path / "tables").glob("*.tex"))
    assert [table.stem for table in tables] == ["paired-best", "totals", "trained-best"]
    for table in tables:
        text = table.read_text()
        assert text.isascii(), re.findall(r"[^\x00-\x7f]", text)
        columns = len(re.findall(r"\\begin\{tabular\}\{([lrc]+)\}", text)[0])
        for row in _body(text):
            assert len(re.findall(r"(?<!\\)&", row)) == columns - 1, row
            assert not re.search(r"(?<!\\)[%_#]", row), row
        for opened, closed in (("\\begin", "\\end"), ("{", "}")):
            assert text.count(opened) == text.count(closed)
        label = re.findall(r"\\label\{(.*?)\}", text)[0]
        assert re.fullmatch(r"[\w:-]+", label)
        assert "_" not in label


def _body(text: str) -> list[str]:
    """The rows of a table."""
    return [line for line in text.splitlines() if line.endswith(r"\\")]
