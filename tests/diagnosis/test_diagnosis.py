from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.diagnosis.small import HORIZON, learners, small_recording
from tests.rated import random_table

import headstart as hs
from headstart import theory
from headstart.diagnosis import Diagnosis, record


def test_roles_are_found_by_what_learners_do(recorded: xr.Dataset) -> None:
    found = Diagnosis(recorded)
    assert (found.from_zero, found.oracles) == (["ITL"], ["Oracle"])
    assert found.baseline("AVG-OFUL") == "ITL"
    assert found.learned == ["AVG-OFUL", "RR-OFUL"]
    renamed = Diagnosis(recorded.assign_coords(learner=["a", "b", "c", "d"]))
    assert (renamed.from_zero, renamed.oracles, renamed.learned) == (["d"], ["a"], ["b", "c"])


def test_terms_add_up_to_the_recorded_error(recorded: xr.Dataset) -> None:
    found = Diagnosis(recorded)
    for name in ("AVG-OFUL", "RR-OFUL"):
        terms = found.error_terms(name)
        assert terms is not None
        np.testing.assert_allclose((terms.total**2).sum(-1), found.error(name)[:, -1], atol=1e-10)
    assert found.error_terms("ITL") is None


def test_moments_of_tasks_by_hand(recorded: xr.Dataset) -> None:
    found = Diagnosis(recorded)
    assert found.variance == pytest.approx(0.09)
    norms = (recorded["parameter"].to_numpy() ** 2).sum(-1)
    assert found.second_moment == pytest.approx(norms.mean())
    assert found.variance_ratio.mean == pytest.approx(0.09 / norms.mean())
    assert found.variance_ratio.low <= found.variance_ratio.mean <= found.variance_ratio.high
    assert found.unexplained == 0.0


def test_around_the_mean_of_sampled_tasks_one_task_less_counts() -> None:
    environment = hs.environments.Synthetic(dimension=3, n_arms=3, reward="winner")
    mean = environment.mean_parameter
    recorded = record(
        environment, learners(mean), n_tasks=2, horizon=5, noise_scale=0.5, replications=40
    )
    found = Diagnosis(recorded)
    w = recorded["parameter"].to_numpy()
    # Two tasks differ by twice as much variance as either has around their mean.
    expected = ((w[:, 0] - w[:, 1]) ** 2).sum(-1).mean() / 2
    assert found.variance == pytest.approx(expected)
    assert found.variance_ratio.mean == pytest.approx(expected / (w**2).sum(-1).mean())


def test_replications_of_a_cohort_count_once(recorded: xr.Dataset) -> None:
    cohorts = np.arange(30) % 3
    found = Diagnosis(recorded.assign_coords(cohort=("replication", cohorts)))
    plain = Diagnosis(recorded)
    by_replication = plain.by_replication("ITL") - plain.by_replication("RR-OFUL")
    means = np.array([by_replication[cohorts == number].mean() for number in range(3)])
    saved = found.saved("RR-OFUL", "ITL")
    assert saved.replications == 3
    assert saved.mean == pytest.approx(means.mean())
    assert saved.error == pytest.approx(means.std(ddof=1) / np.sqrt(3))
    assert found.variance_ratio.replications == 3
    assert found.variance_ratio.mean == pytest.approx(plain.variance_ratio.mean)
    assert found.counted == "3 cohorts of 30 replications"
    assert found.cumulative("ITL").shape == (3, HORIZON)


def test_a_recording_of_ratings_has_their_cohorts() -> None:
    clusters = hs.environments.Clusters(
        n_clusters=2, least_silhouette=-1.0, least_users=3, n_clusterings=2
    )
    world = hs.environments.Ratings(table=random_table(), dimension=4, n_arms=3, grouping=clusters)
    settings: dict[str, Any] = {"n_tasks": 2, "horizon": 5, "replications": 6}
    four = learners(np.zeros(4))
    played = hs.simulate(world, four, **settings)
    recorded = record(world, four, noise_scale=1.0, **settings)
    assert len(np.unique(played["cohort"])) < 6
    np.testing.assert_array_equal(recorded["cohort"], played["cohort"])


def test_regret_by_hand(recorded: xr.Dataset) -> None:
    found = Diagnosis(recorded)
    late = recorded["regret"].isel(task=slice(3, None)).sum("round").mean("task")
    saved = (late.sel(learner="ITL") - late.sel(learner="RR-OFUL")).to_numpy()
    gain = found.saved("RR-OFUL", "ITL")
    assert gain.mean == pytest.approx(saved.mean())
    # Student's t with 29 degrees of freedom: 2.0452.
    half = 2.0452 * saved.std(ddof=1) / np.sqrt(30)
    assert gain.high - gain.mean == pytest.approx(half, rel=1e-4)
    total = found.cumulative("ITL")[:, -1].mean()
    assert total == pytest.approx(found.regret("ITL").mean)
    first = recorded["parameter"].to_numpy()[:, 0] - recorded["mean_parameter"].to_numpy()
    np.testing.assert_allclose(found.sampling_error[:, 0], (first**2).sum(-1))


def test_the_bound_is_lemma_2_at_the_worst_bias_of_each_task(recorded: xr.Dataset) -> None:
    found = Diagnosis(recorded)
    mine = recorded["bias_error"].sel(learner="AVG-OFUL").isel(task=slice(3, None))
    setting = theory.Setting(
        dimension=3,
        horizon=HORIZON,
        regularization=2.0,
        failure_probability=1 / HORIZON,
        mean_bound=recorded.attrs["mean_bound"],
        feature_bound=recorded.attrs["feature_bound"],
    )
    expected = theory.transfer_bound(setting, deviation=float(mine.max("after").mean()))
    bound = found.bound("AVG-OFUL")
    assert bound is not None
    assert bound.total == pytest.approx(float(expected.total))
    assert bound.violated == []
    assert found.regret("AVG-OFUL").high < bound.total
    assert found.trivial_bound == 2 * recorded.attrs["mean_bound"] * HORIZON


def test_confidence_sets_hold_and_make_no_claim_where_the_bias_moves(recorded: xr.Dataset) -> None:
    found = Diagnosis(recorded)
    for name in ("Oracle", "AVG-OFUL", "RR-OFUL", "ITL"):
        outside = found.share_outside(name, "Theorem 1")
        assert outside is not None
        assert outside.shape == (HORIZON + 1,)
        assert outside[-1] <= 1 / HORIZON
    assert found.share_outside("AVG-OFUL", "fixed bias") is None
    assert found.share_outside("ITL", "fixed bias") is not None
    # ITL plays as if h = 0 were exact, and starts at a distance of √λ‖w‖.
    played = found.share_outside("ITL", "as played")
    assert played is not None
    proved = found.share_outside("ITL", "Theorem 1")
    assert proved is not None
    assert (played >= proved).all()


def test_lambda_three_ways(recorded: xr.Dataset) -> None:
    choices = {each.rule: each for each in Diagnosis(recorded).regularization_choices}
    assert choices["Corollary 2"].value == pytest.approx(1 / (HORIZON * 0.09))
    assert choices["Bayes"].value == pytest.approx(3 / 0.09)
    oracle = recorded["oracle_regret"].mean("replication")
    least = choices["least regret"]
    assert least.value == float(oracle["regularization"][int(np.argmin(oracle.to_numpy()))])
    assert least.regret == pytest.approx(float(oracle.min()))
    assert choices["Bayes"].regret is None  # outside of the λ that the Oracle played


def test_one_replication_has_no_certain_regret() -> None:
    found = Diagnosis(small_recording(n_tasks=2, replications=1, regularizations=()))
    assert found.saved("RR-OFUL", "ITL").low == -np.inf
    assert found.variance_ratio.high == np.inf
