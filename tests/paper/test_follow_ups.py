"""The follow-up papers: settings are the papers', rules follow from numbers, and a small run."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from headstart.cli import app
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.environments import Hierarchy, Synthetic
from headstart.paper import follow_ups
from headstart.paper.bayes_ucb import PublishedBayesUCB
from headstart.paper.follow_up_sections import (
    RUSSO_VAN_ROY,
    ada_ts,
    affine_subspace,
    gaussian_table,
    hier_ts,
    linear_gaussian,
    prior_update,
    sections,
)
from headstart.paper.gp_ucb import GPUCB
from headstart.paper.interpretations import ReportSection
from headstart.paper.rules import ClosesGap
from headstart.studies.toml import from_toml


def _world(section: ReportSection) -> Hierarchy:
    world = section.main.study.environment_built()
    assert isinstance(world, Hierarchy)
    return world


def _settings(section: ReportSection, name: str) -> dict[str, object]:
    """The settings of a learner's policy and prior in the main study."""
    (learner,) = (one for one in section.main.study.learners if one.name == name)
    return {key: value for spec in learner.specs().values() for key, value in spec.settings.items()}


def test_ada_ts_is_played_in_its_setting() -> None:
    section = ada_ts()
    study, world = section.main.study, _world(section)
    assert (study.tasks, study.horizon) == (20, 200)
    assert (world.dimension, world.n_arms, world.decision_set) == (2, 10, "task")
    assert (world.mean_variance, world.noise_scale) == (1.0, 1.0)
    assert world.task_variance == pytest.approx(0.01)
    others = [one.study.environment.settings for one in section.interpretations[1:3]]
    assert [(one["dimension"], one["n_arms"]) for one in others] == [(4, 20), (8, 40)]
    # λ = s²/variance: the oracle's N(h, τ²I), and the marginal N(0, κ²I + τ²I).
    oracle = _settings(section, "OracleTS")
    assert oracle["regularization"] == pytest.approx(100.0)
    assert oracle["bias"] == "@mean_parameter"
    assert _settings(section, "TS")["regularization"] == pytest.approx(1.0 / 1.01)
    assert _settings(section, "AdaTS, κ × 3")["mean_variance"] == pytest.approx(9.0)


@pytest.mark.parametrize("parallel", [False, True])
def test_hier_ts_is_played_in_its_setting(parallel: bool) -> None:
    section = hier_ts(parallel=parallel)
    study, world = section.main.study, _world(section)
    assert (study.tasks, study.horizon) == (10, 200)
    assert (world.dimension, world.n_arms, world.arm_shape, world.arm_size) == (4, 10, "cube", 0.5)
    assert world.noise_scale**2 == pytest.approx(0.5)
    assert world.task_variance == pytest.approx(0.01)
    assert (study.schedule is not None) == parallel
    if study.schedule is not None:
        assert (study.schedule.kind, study.schedule.settings["n"]) == ("InParallel", 5)


def test_the_other_settings() -> None:
    world = gaussian_table().main.study.environment_built()
    assert isinstance(world, Synthetic)
    task = world.prepare(500, np.random.default_rng(0)).sample(2, 500, np.random.default_rng(1))
    # Ten orthonormal arms, so that their means are independent N(0, 1).
    np.testing.assert_allclose(task.arms[0, 0] @ task.arms[0, 0].T, np.eye(10), atol=1e-12)
    assert task.means[:, 0].std() == pytest.approx(1.0, rel=0.05)
    assert gaussian_table().main.study.horizon == 1000
    linear = _world(linear_gaussian())
    assert (linear.dimension, linear.n_arms, linear.mean_variance) == (5, 30, 0.0)
    assert linear.task_variance == 10.0
    assert linear.arm_size**2 == pytest.approx(0.2)
    assert _settings(linear_gaussian(), "TS")["regularization"] == pytest.approx(0.1)
    assert _settings(affine_subspace(), "LinUCB, subspace")["n_directions"] == 3
    assert prior_update().main.study.training_tasks[-1] == 200


def test_the_published_table() -> None:
    claims = [claim.text for claim in gaussian_table().claims]
    assert claims[0] == "TS has a regret of 69.1"
    assert claims[len(RUSSO_VAN_ROY)] == "KG* is better than GPUCB, tuned"
    assert claims[-1] == "TS is better than GPUCB"


def test_the_documented_report_is_about_these_claims() -> None:
    report = Path(__file__).parents[2] / "docs" / "report" / "follow-ups.md"
    text = report.read_text(encoding="utf-8")
    assert all(one.choices in text for one in sections())
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for claim in (claim for one in sections() for claim in one.claims):
        assert any(claim.text in row and claim.rule.difference in row for row in rows)


def test_studies_are_files_and_have_different_names() -> None:
    studies = [study for one in sections() for study in one.studies().values()]
    assert len({study.name for study in studies}) == len(studies)
    assert all(from_toml(study.to_toml()) == study for study in studies)


@pytest.mark.parametrize(
    ("learner", "kind"), [(12.0, "holds"), (18.0, "fails"), (15.0, "undecided")]
)
def test_closing_a_gap(learner: float, kind: str) -> None:
    # Between 10 and 20, with a ripple that all three share and one of the learner's own.
    shared, own = np.array([-3.0, 3.0, -3.0, 3.0]), np.array([-0.1, -0.1, 0.1, 0.1])
    values = [learner + shared + own, 10.0 + shared, 20.0 + shared]
    regrets = xr.DataArray(
        np.array(values)[:, None],
        dims=("learner", "regularization", "replication"),
        coords={"learner": ["A", "O", "B"], "regularization": [1.0]},
    )
    found = ClosesGap("A", "O", "B").judge(regrets)
    assert found.kind == kind
    assert found.difference.mean == pytest.approx(2.0 * learner - 30.0)
    assert found.difference.error == pytest.approx(0.2 / np.sqrt(3))


def test_bayes_ucb_is_a_growing_quantile() -> None:
    rng = np.random.default_rng(2)
    arms = rng.standard_normal((4, 3))
    for rounds, z in ((0, 0.0), (1, 0.43072730), (18, 1.64485363), (38, 1.95996398)):
        data = TaskStatistics.from_data(rng.standard_normal((rounds, 3)), np.zeros(rounds))
        estimates = RidgeEstimate(data, Prior(np.zeros(3), np.array(2.0))).read(arms)
        for scale in (None, 3.0):
            expected = estimates.predictions + (scale or 1.0) * z * estimates.widths
            found = PublishedBayesUCB(noise_scale=scale).scores(estimates, np.empty(0))
            np.testing.assert_allclose(found, expected, atol=1e-7)


def test_gp_ucb_by_hand() -> None:
    data = TaskStatistics.from_data([[1.0, 0.0]], [1.0])
    arms = RidgeEstimate(data, Prior.zero(2, regularization=1.0)).read(np.eye(2))
    # Round 2: predictions ½ and 0, standard deviations √½ and 1, times the noise of 2.
    width = 2.0 * np.array([np.sqrt(0.5), 1.0])
    beta = 2.0 * np.log(2 * 4 * np.pi**2 / 0.6)
    found = GPUCB(noise_scale=2.0).scores(arms, np.empty(0))
    np.testing.assert_allclose(found, [0.5, 0.0] + np.sqrt(beta) * width)
    tuned = GPUCB(noise_scale=2.0, tuned=0.9).scores(arms, np.empty(0))
    np.testing.assert_allclose(tuned, [0.5, 0.0] + np.sqrt(0.9 * np.log(2.0)) * width)


@pytest.mark.slow
def test_a_small_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every section with two replications of short tasks, through the command."""
    monkeypatch.setattr(follow_ups, "sections", lambda: [_shortened(one) for one in sections()])
    command = ["reproduce", "follow-ups", "--replications", "2", "--workers", "1", "--json"]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    records = json.loads(done.stdout)["verdicts"]
    assert len(records) == sum(len(one.claims) for one in sections())
    assert {record["section"] for record in records} == {one.name for one in sections()}
    text = (tmp_path / "follow-ups.md").read_text(encoding="utf-8")
    assert "(69.1)" in text
    assert (tmp_path / "figures" / "follow-ups-gaussian.png").stat().st_size > 10_000
    assert (tmp_path / "follow-ups.html").is_file()


def _shortened(section: ReportSection) -> ReportSection:
    """The main setting alone, with tasks of four rounds."""
    main = section.main
    study = replace(main.study, horizon=4, tasks=min(main.study.tasks, 3), training_tasks=(0, 2))
    return replace(section, interpretations=[replace(main, study=study)])
