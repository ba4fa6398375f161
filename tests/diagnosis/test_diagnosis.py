from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.theory.worlds import Sphere

import headstart as hs
from headstart import theory
from headstart.diagnosis import page as diagnosis_page
from headstart.diagnosis import recording
from headstart.diagnosis.diagnosis import Diagnosis

HORIZON = 12


def learners(mean: np.ndarray, strength: float = 2.0) -> list[hs.Learner]:
    policy = hs.policies.OFUL(failure_probability=0.1)
    priors: dict[str, hs.interfaces.PriorEstimator] = {
        "Oracle": hs.priors.Fixed(bias=mean, regularization=strength),
        "AVG-OFUL": hs.priors.Average(regularization=strength, estimation_regularization="same"),
        "RR-OFUL": hs.priors.Pooled(regularization=strength, estimation_regularization=0.5),
        "ITL": hs.priors.Fixed.zero(regularization=strength),
    }
    return [hs.Learner(name, policy, prior) for name, prior in priors.items()]


def recorded(
    n_tasks: int = 6, replications: int = 30, regularizations: Sequence[float] = (0.5, 5.0)
) -> xr.Dataset:
    world = Sphere(dimension=3, distance=0.3, gaussian=True)
    return recording.record(
        world,
        learners(world.mean_parameter),
        n_tasks=n_tasks,
        horizon=HORIZON,
        noise_scale=1.0,
        replications=replications,
        regularizations=regularizations,
    )


@pytest.fixture(scope="module")
def kept() -> xr.Dataset:
    return recorded()


def test_a_recording_is_the_simulation_itself(kept: xr.Dataset) -> None:
    world = Sphere(dimension=3, distance=0.3, gaussian=True)
    played = hs.simulate(
        world, learners(world.mean_parameter), n_tasks=6, horizon=HORIZON, replications=30
    )
    np.testing.assert_array_equal(kept["regret"], played["regret"])


def test_a_world_is_settled_as_in_the_simulation() -> None:
    world = hs.environments.Synthetic(dimension=4, reward="linear")
    players = learners(world.mean_parameter)
    kept = recording.record(
        world, players, noise_scale=1.0, n_tasks=2, horizon=5, replications=3, seed=9
    )
    played = hs.simulate(world, players, n_tasks=2, horizon=5, replications=3, seed=9)
    np.testing.assert_array_equal(kept["regret"], played["regret"])
    np.testing.assert_array_equal(kept["mean_parameter"], 1.0)


def test_statistics_and_bias_agree_with_the_memory(kept: xr.Dataset) -> None:
    # Fold the recorded statistics by hand: RR's start of the last task is Eq. 8 over the others.
    mine = kept.sel(learner="RR-OFUL").transpose("replication", "task", ...)
    gram = mine["gram"].to_numpy()[:, :-1].sum(1) + 0.5 * np.eye(3)
    moment = mine["moment"].to_numpy()[:, :-1].sum(1)
    expected = np.linalg.solve(gram, moment[..., None])[..., 0]
    start = mine["bias"].sel(end="start").isel(task=-1)
    np.testing.assert_allclose(start, expected, atol=1e-10)
    gap = np.linalg.norm(start.to_numpy() - mine["parameter"].isel(task=-1).to_numpy(), axis=-1)
    np.testing.assert_allclose(mine["bias_error"].isel(task=-1, after=0), gap, atol=1e-12)


def test_parts_add_up_to_the_recorded_error(kept: xr.Dataset) -> None:
    found = Diagnosis(kept)
    for name in ("AVG-OFUL", "RR-OFUL"):
        parts = found.parts(name)
        assert parts is not None
        np.testing.assert_allclose((parts.total**2).sum(-1), found.error(name)[:, -1], atol=1e-10)
    assert found.parts("ITL") is None


def test_roles_are_found_by_what_learners_do(kept: xr.Dataset) -> None:
    found = Diagnosis(kept)
    assert (found.baseline, found.oracle) == ("ITL", "Oracle")
    assert found.learned == ["AVG-OFUL", "RR-OFUL"]
    renamed = Diagnosis(kept.assign_coords(learner=["a", "b", "c", "d"]))
    assert (renamed.baseline, renamed.oracle, renamed.learned) == ("d", "a", ["b", "c"])


def test_numbers_by_hand(kept: xr.Dataset) -> None:
    found = Diagnosis(kept)
    assert found.variance == pytest.approx(0.09)
    norms = (kept["parameter"].to_numpy() ** 2).sum(-1)
    assert found.second_moment == pytest.approx(norms.mean())
    assert found.ratio.value == pytest.approx(0.09 / norms.mean())
    assert found.ratio.low <= found.ratio.value <= found.ratio.high
    assert found.unexplained == 0.0
    late = kept["regret"].isel(task=slice(3, None)).sum("round").mean("task")
    saved = (late.sel(learner="ITL") - late.sel(learner="RR-OFUL")).to_numpy()
    gain = found.gain("RR-OFUL", "ITL")
    assert gain.value == pytest.approx(saved.mean())
    # Student's t with 29 degrees of freedom: 2.0452.
    reach = 2.0452 * saved.std(ddof=1) / np.sqrt(30)
    assert gain.high - gain.value == pytest.approx(reach, rel=1e-4)
    first = kept["parameter"].to_numpy()[:, 0] - kept["mean_parameter"].to_numpy()
    np.testing.assert_allclose(found.sampling_error[:, 0], (first**2).sum(-1))


def test_the_bound_is_lemma_2_at_the_worst_bias_of_each_task(kept: xr.Dataset) -> None:
    found = Diagnosis(kept)
    mine = kept["bias_error"].sel(learner="AVG-OFUL").isel(task=slice(3, None))
    setting = theory.Setting(
        dimension=3,
        horizon=HORIZON,
        regularization=2.0,
        failure_probability=1 / HORIZON,
        mean_bound=kept.attrs["mean_bound"],
        feature_bound=kept.attrs["feature_bound"],
    )
    expected = theory.transfer_bound(setting, deviation=float(mine.max("after").mean()))
    bound, broken = found.bound("AVG-OFUL")
    assert bound == pytest.approx(float(expected.total))
    assert broken == []
    assert found.regret("AVG-OFUL").high < bound


def test_assumptions_that_do_not_hold_reach_the_page(tmp_path: Path) -> None:
    weak = recorded(replications=4, n_tasks=2, regularizations=())
    weak["largest_eigenvalue"] = weak["largest_eigenvalue"] * 0.1
    assert "needs λ ≥ max(1, L²)" in Diagnosis(weak).bound("ITL")[1][0]
    page = diagnosis_page.write(Diagnosis(weak), tmp_path).read_text(encoding="utf-8")
    assert "Not covered: Lemma 1 needs λ ≥ max(1, L²)" in page
    assert "not swept" in page


def test_confidence_sets_hold_and_make_no_claim_where_the_bias_moves(kept: xr.Dataset) -> None:
    found = Diagnosis(kept)
    for name in found.names:
        left = found.left(name, "Theorem 1")
        assert left is not None
        assert left.shape == (HORIZON + 1,)
        assert left[-1] <= 1 / HORIZON
    assert found.left("AVG-OFUL", "mixture") is None
    assert found.left("ITL", "mixture") is not None
    # ITL plays as if h = 0 were exact, and starts at a distance of √λ‖w‖.
    played = found.left("ITL", "as played")
    assert played is not None
    honest = found.left("ITL", "Theorem 1")
    assert honest is not None
    assert (played >= honest).all()


def test_lambda_three_ways(kept: xr.Dataset) -> None:
    rules = Diagnosis(kept).regularizations()
    values = {name.split(",")[0]: value for name, (value, _) in rules.items()}
    assert values["1/(T Var)"] == pytest.approx(1 / (HORIZON * 0.09))
    assert values["s²d/Var"] == pytest.approx(3 / 0.09)
    sweep = kept["swept"].mean("replication")
    best, least = rules["least measured regret"]
    assert best == float(sweep["regularization"][int(np.argmin(sweep.to_numpy()))])
    assert least == pytest.approx(float(sweep.min()))
    assert rules["s²d/Var, Bayes'"][1] is None  # outside of the sweep


def test_a_recording_survives_the_disk(kept: xr.Dataset, tmp_path: Path) -> None:
    recording.save(kept, tmp_path / "kept.nc")
    back = recording.read(tmp_path / "kept.nc")
    xr.testing.assert_equal(back, kept)
    assert diagnosis_page.verdict(Diagnosis(back)) == diagnosis_page.verdict(Diagnosis(kept))


def test_a_file_without_a_recording_is_noticed(kept: xr.Dataset, tmp_path: Path) -> None:
    assert recording.is_recording(kept)
    assert not recording.is_recording(kept[["regret"]])
    (tmp_path / "words.nc").write_text("no")
    with pytest.raises(ValueError, match="must be a NetCDF file"):
        recording.read(tmp_path / "words.nc")
    with pytest.raises(ValueError, match=r"results\.nc must be a NetCDF file"):
        recording.read(tmp_path)


def test_the_page_answers_and_has_its_figures(kept: xr.Dataset, tmp_path: Path) -> None:
    page = diagnosis_page.write(Diagnosis(kept), tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "warm start" in text.splitlines()[2]
    for name in ("regret-and-error.png", "alignment-and-coverage.png"):
        assert f"({name})" in text
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_the_verdict_follows_the_interval(kept: xr.Dataset) -> None:
    better = kept.copy(deep=True)
    better["regret"].loc[{"learner": "RR-OFUL"}] = 0.0
    found = Diagnosis(better)
    assert found.best == "RR-OFUL"
    assert "A warm start pays" in diagnosis_page.verdict(found)
    assert "RR-OFUL suits it best" in diagnosis_page.choice(found)
    worse = kept.copy(deep=True)
    for name in ("RR-OFUL", "AVG-OFUL"):
        worse["regret"].loc[{"learner": name}] = 10 + worse["regret"].sel(learner=name)
    assert "A warm start hurts" in diagnosis_page.verdict(Diagnosis(worse))
    same = kept.copy(deep=True)
    for name in ("RR-OFUL", "AVG-OFUL"):
        same["regret"].loc[{"learner": name}] = same["regret"].sel(learner="ITL").to_numpy()
    assert "neither pays nor hurts" in diagnosis_page.verdict(Diagnosis(same))
    assert "cannot be told apart" in diagnosis_page.choice(Diagnosis(same))
    alone = kept.sel(learner=["ITL"])
    assert "Nothing to compare" in diagnosis_page.verdict(Diagnosis(alone))


def test_rewards_that_are_not_linear_are_said_to_be_so(tmp_path: Path) -> None:
    world = hs.environments.Synthetic(dimension=3, n_arms=3, reward="winner")
    kept = recording.record(
        world,
        learners(world.mean_parameter),
        n_tasks=3,
        horizon=8,
        noise_scale=0.5,
        replications=4,
    )
    found = Diagnosis(kept)
    assert 0 < found.unexplained < 1
    assert any("not linear" in reason for reason in diagnosis_page.reasons(found))
    # w̄ is then the mean of the fits, not the environment's.
    centre = kept["parameter"].mean("task")
    np.testing.assert_allclose(kept["mean_parameter"], centre.transpose("replication", "feature"))
