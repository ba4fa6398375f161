"""A diagnosis of tasks with side information: what a task starts from, and what is learned."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.studies.tiny import OFUL, SEQUENCE
from typer.testing import CliRunner

import headstart as hs
from headstart.arrays import Floats
from headstart.cli import app
from headstart.core.prior import Prior
from headstart.diagnosis import record
from headstart.interfaces import Memory
from headstart.specs import Spec
from headstart.studies import runner
from headstart.studies.folder import read_dataset
from headstart.studies.study import LearnerSpec, Study

pytestmark = pytest.mark.slow

SIDED = replace(
    SEQUENCE,
    name="sided",
    environment=Spec(
        kind="Synthetic",
        settings={"dimension": 3, "n_arms": 2, "n_about": 2, "about_explains": 0.5},
    ),
    learners=(
        *SEQUENCE.learners,
        LearnerSpec(
            name="sided",
            policy=OFUL,
            prior=Spec(kind="Hierarchical", settings={"n_about": 2}),
        ),
    ),
)


TESTED_SIDED = replace(SIDED, protocol="train-then-test", training_tasks=(0, 2), test_tasks=2)


def diagnosed(study: Study, folder: Path) -> tuple[xr.Dataset, xr.Dataset]:
    """The results of a study, and the recording that `headstart diagnose` makes of them."""
    results = runner.run(study, folder, workers=1)
    words = ["diagnose", str(folder), "--regularization", "2.0", "--quiet"]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0, answer.output
    return results, read_dataset(folder / "diagnosis" / "recording.nc")


def test_a_study_with_side_information_is_replayed_number_for_number(tmp_path: Path) -> None:
    results, replayed = diagnosed(SIDED, tmp_path)
    assert "sided" in replayed["learner"]
    then = results["regret"].sel(regularization=2.0, learner=replayed["learner"], trained=0)
    np.testing.assert_array_equal(replayed["regret"], then.transpose(*replayed["regret"].dims))


def test_training_with_side_information_is_diagnosed(tmp_path: Path) -> None:
    _, replayed = diagnosed(TESTED_SIDED, tmp_path)
    assert "sided" in replayed["learner"]
    assert replayed.sizes["task"] == 2


class Noted(hs.priors.Hierarchical):
    """Notes the bias of every task that starts."""

    biases: list[Floats] = []  # noqa: RUF012

    def prior(self, memory: Memory, about: Floats | None = None) -> Prior:
        start = super().prior(memory, about)
        self.biases.append(start.bias)
        return start


def test_a_task_is_rebuilt_from_the_start_that_it_was_played_from() -> None:
    Noted.biases.clear()
    recorded = record(
        hs.environments.Synthetic(dimension=3, reward="linear", n_about=2, about_explains=0.9),
        [hs.Learner("sided", hs.policies.OFUL(), Noted(n_about=2))],
        n_tasks=8,
        horizon=30,
        noise_scale=1.0,
        replications=4,
    )
    played, rebuilt = np.stack(Noted.biases, axis=1).reshape(4, 2, 8, 3).swapaxes(0, 1)
    assert np.abs(played[:, -1] - played[:, -2]).max() > 0.1  # other sides, other starts
    np.testing.assert_allclose(rebuilt, played, atol=1e-9)
    start = recorded["bias"].sel(learner="sided", end="start")
    np.testing.assert_array_equal(start.transpose("replication", "task", "feature"), rebuilt)
