"""Programs of a first week, written from habit: they work, or the error says what to write."""

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headstart as hs
from headstart import studies

pd = pytest.importorskip("pandas")

WORLD = hs.environments.Synthetic(dimension=3, n_arms=4, reward="linear")
LEARNERS = [hs.learners.itl(), hs.learners.headstart()]
ITEMS = {"tea": [1.0, 0.0], "milk": [0.0, 1.0]}


@pytest.fixture(scope="module")
def results() -> Any:
    return hs.simulate(WORLD, LEARNERS, 3, 5, replications=4)


@pytest.fixture
def bandit() -> Any:  # not MetaBandit: some of the programs are wrong
    return hs.MetaBandit(2, seed=0)


def _menu() -> Any:
    return pd.DataFrame({"price": [3.0, 2.0, 9.0]}, index=["tea", "milk", "rum"])


# ── simulation ──


def test_01_everything_by_position() -> None:
    assert hs.simulate(WORLD, LEARNERS, 3, 5).regret.shape == (2, 1, 3, 5)


def test_02_one_learner() -> None:
    assert hs.simulate(WORLD, hs.learners.headstart(), 3, 5).regret.sizes["learner"] == 1


def test_03_a_dict_of_learners() -> None:
    named = hs.simulate(WORLD, {"cold": LEARNERS[0], "warm": LEARNERS[1]}, 3, 5)
    assert named.learner.values.tolist() == ["cold", "warm"]


def test_04_sizes_and_a_generator_of_numpy() -> None:
    sizes: Any = np.array([2, 3])
    played = hs.simulate(WORLD, LEARNERS, *sizes, seed=np.random.default_rng(0))
    assert played.regret.shape == (2, 1, 2, 3)


def test_05_a_range_of_training_tasks() -> None:
    played = hs.evaluate(WORLD, LEARNERS, n_training_tasks=range(3), n_test_tasks=2, horizon=4)
    assert played.trained.values.tolist() == [0, 1, 2]


def test_06_means_and_sums_of_numpy(results: Any) -> None:
    by_axis = np.cumsum(results.regret, axis=-1).mean(axis=1)
    assert by_axis.shape == (2, 3, 5)
    np.testing.assert_allclose(results.mean().regret, np.asarray(results.regret).mean())


def test_07_groups_of_pandas(results: Any) -> None:
    means = results.to_dataframe().groupby("learner").regret.mean()
    assert means["ITL"] == pytest.approx(results.regret.sel(learner="ITL").mean().item())


def test_08_a_csv_file(results: Any, tmp_path: Path) -> None:
    results.to_csv(tmp_path / "results.csv")
    read = pd.read_csv(tmp_path / "results.csv")
    assert read.columns.tolist()[:4] == ["learner", "replication", "task", "round"]
    assert read.regret.sum() == pytest.approx(results.regret.sum().item())


def test_09_a_frame_of_results(results: Any) -> None:
    with pytest.raises(TypeError, match=r"write results.to_frame\(\) for a DataFrame"):
        pd.DataFrame(results)
    assert len(results.to_frame()) == results.regret.size


def test_10_a_comparison(results: Any) -> None:
    (expected,) = hs.compare(results, "ITL")
    assert hs.compare(results.regret, "ITL")[0] == expected
    sums = results.regret.sum(["task", "round"])
    wide = pd.DataFrame({name: sums.sel(learner=name) for name in sums.learner.values})
    assert hs.compare(wide, "ITL")[0] == expected
    for table in (results.to_frame(), results.to_dataframe()):
        (found,) = hs.compare(table, "ITL")
        assert found.learner == expected.learner
        assert found.p_value == pytest.approx(expected.p_value)


# ── live use ──


def test_11_decide_and_reward(bandit: Any) -> None:
    decision = bandit.decide("ann", [[1, 0], [0, 1]])
    assert bandit.reward(decision, True) is hs.Outcome.PAID
    assert ["tea", "milk"][decision.arm] in ITEMS


def test_12_items_of_a_frame() -> None:
    bandit = hs.MetaBandit(features=hs.Features(item=[hs.Number("price")]), seed=0)
    decision = bandit.decide("ann", _menu())
    assert _menu().loc[decision.arm].price in {3.0, 2.0, 9.0}


def test_13_a_log_of_a_frame(bandit: Any) -> None:
    log = pd.DataFrame({"user": list("aabb"), "x1": [1.0, 0.0, 1.0, 0.0], "x2": [0.0, 1.0] * 2})
    log["clicked"] = [1, 0, 1, 0]
    bandit.fit(log, task="user", features=["x1", "x2"], reward="clicked")
    assert bandit.decide("new", ITEMS).scores.argmax() == 0


def test_14_decisions_as_a_frame(bandit: Any) -> None:
    table = pd.DataFrame([bandit.decide(user, ITEMS) for user in ("ann", "bob")])
    assert table.task.tolist() == ["ann", "bob"]
    assert set(table.arm) <= set(ITEMS)


def test_15_a_decision_as_json(bandit: Any) -> None:
    decision = bandit.decide("ann", ITEMS)
    read = json.loads(json.dumps(decision.to_dict()))
    assert read["arm"] == decision.arm
    np.testing.assert_array_equal(read["scores"], decision.scores)


def test_16_copies(bandit: Any) -> None:
    bandit.reward(bandit.decide("ann", ITEMS), 1.0)
    expected = bandit.task("ann").estimate.parameter
    for other in (copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))):
        np.testing.assert_array_equal(other.task("ann").estimate.parameter, expected)


def test_17_a_file_by_its_name(bandit: Any, tmp_path: Path) -> None:
    bandit.observe("ann", [1.0, 0.0], 1.0)
    bandit.save(str(tmp_path / "bandit.bin"))
    assert hs.MetaBandit.load(str(tmp_path / "bandit.bin")).tasks() == ["ann"]


# ── what is called otherwise here ──


def test_18_keywords_of_scikit_learn() -> None:
    wrong: Any = hs
    with pytest.raises(TypeError, match=r"MetaBandit\(\) takes no n_features=…: write dimension=…"):
        wrong.MetaBandit(n_features=3)
    with pytest.raises(TypeError, match=r"simulate\(\) takes no random_state=…: write seed=…"):
        wrong.simulate(WORLD, LEARNERS, 3, 5, random_state=0)
    with pytest.raises(TypeError, match=r"evaluate\(\) takes no n_jobs=…: write workers=…"):
        wrong.evaluate(WORLD, LEARNERS, horizon=5, n_jobs=2)
    with pytest.raises(
        TypeError, match="takes environment, agents by position, and no more: write n_tr"
    ):
        wrong.evaluate(WORLD, LEARNERS, 5, 2, 10)


def test_19_fit_with_x_and_y(bandit: Any) -> None:
    x, y = np.eye(2), np.ones(2)
    with pytest.raises(TypeError, match=r"write fit\(log, task=…, features=…, reward=…\)"):
        bandit.fit(x, y)
    with pytest.raises(ValueError, match=r"logs must be .* table"):
        bandit.fit(x)
    assert hs.TaskStatistics.from_data(x, y).count == 2


@pytest.mark.parametrize(
    ("name", "instead"),
    [("predict", r"decide\(task, items\)"), ("partial_fit", "observe"), ("update", "reward")],
)
def test_20_methods_of_scikit_learn(bandit: Any, name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=f"no '{name}': write bandit.{instead}"):
        getattr(bandit, name)
    assert not hasattr(bandit, "no_such_method")


# ── a researcher's ──

NOT_HERE: Any = hs


@pytest.mark.parametrize(
    ("program", "instead"),
    [
        (lambda: NOT_HERE.learners.rr_oful(lam=1.0), "write regularization=…"),
        (lambda: NOT_HERE.learners.itl(alpha=1.0), "write regularization=…"),
        (lambda: NOT_HERE.policies.BayesUCB(alpha=2.0), "write z=…"),
        (lambda: NOT_HERE.policies.OFUL(delta=0.05), "write failure_probability=…"),
        (lambda: NOT_HERE.policies.Thompson(sigma=0.1), "write noise_scale=…"),
        (lambda: NOT_HERE.priors.Fixed(mean=[1.0], lam=2.0), "write Prior.normal"),
        (lambda: NOT_HERE.Prior(mean=[0.0], covariance=[[1.0]]), "write Prior.normal"),
        (lambda: NOT_HERE.environments.Synthetic(n_features=3), "write dimension=…"),
        (lambda: NOT_HERE.environments.Synthetic(n_actions=3), "write n_arms=…"),
        (lambda: NOT_HERE.environments.Synthetic(10, 5), "nothing by position"),
        (lambda: NOT_HERE.environments.Ratings(_menu()), "nothing by position"),
        (lambda: NOT_HERE.evaluate(WORLD, LEARNERS, n_train=3, horizon=4), "write n_training"),
        (lambda: NOT_HERE.compare(None, baseline="ITL"), "write reference=…"),
        (lambda: studies.Study.of(WORLD, LEARNERS, n_tasks=3), "write tasks=…"),  # type: ignore[call-arg]
    ],
)
def test_21_keywords_of_other_libraries(program: Callable[[], object], instead: str) -> None:
    with pytest.raises(TypeError, match=instead):
        program()


@pytest.mark.parametrize(
    "missing",
    [
        lambda: NOT_HERE.priors.Hierarchical().fit,
        lambda: NOT_HERE.learners.headstart().update,
        lambda: NOT_HERE.policies.Thompson().select_arm,
        lambda: WORLD.reset,  # type: ignore[attr-defined]
    ],
)
def test_22_methods_of_other_libraries(missing: Callable[[], object]) -> None:
    with pytest.raises(AttributeError, match=r"write hs\.simulate"):
        missing()


def test_23_a_normal_prior_of_ones_own() -> None:
    prior = hs.Prior.normal([1.0, 2.0], [[0.5, 0.1], [0.1, 0.5]], noise_scale=0.5)
    np.testing.assert_allclose(
        np.linalg.inv(prior.regularization) * 0.25, [[0.5, 0.1], [0.1, 0.5]], rtol=1e-12
    )
    known = hs.priors.Fixed(bias=prior.bias, regularization=prior.regularization)
    world = hs.environments.Synthetic(dimension=2)
    learner = hs.Learner("known", hs.policies.BayesUCB(noise_scale=0.5), known)
    assert hs.simulate(world, learner, 2, 4).regret.shape == (1, 1, 2, 4)
    for mean, covariance in (([0.0], np.eye(2)), ([0.0, 0.0], -np.eye(2)), (0.0, 1.0)):
        with pytest.raises(ValueError, match="covariance must"):
            hs.Prior.normal(mean, covariance)


def test_24_a_study_of_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = studies.Study.of(WORLD, LEARNERS, horizon=3, tasks=2, replications=2)
    (found,) = hs.compare(studies.run(study, workers=1))
    assert (found.learner, found.reference) == ("headstart", "ITL")


def test_results_stay_tables_and_datasets(results: Any) -> None:
    later = results.isel(task=slice(1, None))
    assert isinstance(later, xr.Dataset)
    assert later.to_frame().task.min() == 2
    assert pickle.loads(pickle.dumps(results)).identical(results)
