"""Synthetic tasks have the distribution, and arms the decision set, that the settings state."""

from typing import Any

import numpy as np
import pytest

from headstart.environments import Synthetic

SETTINGS: dict[str, dict[str, Any]] = {
    "total variance": {"dimension": 4, "variance": 2.0},
    "variance per coordinate": {"dimension": 4, "variance": 2.0, "variance_of": "coordinate"},
    "any covariance": {"dimension": 3, "covariance": [[2, 1, 0], [1, 2, 0], [0, 0, 0.5]]},
    "a singular covariance": {"dimension": 2, "covariance": [[1, 2], [2, 4]], "mean": [3.0, -1.0]},
    "kinds": {"dimension": 4, "n_kinds": 3, "variance": 8.0, "mean": [1.0, 0.0, 2.0, 0.0]},
    "basis": {"dimension": 4, "task_distribution": "basis", "parameter_bound": 3.0},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_samples_have_the_stated_moments(settings: dict[str, Any]) -> None:
    environment = Synthetic(**settings, n_arms=1, reward="linear")
    size = 20_000
    task = environment.sample(1, size, np.random.default_rng(0))
    w = task.parameter
    assert w is not None
    covariance = environment.task_covariance
    # Five standard errors; a sample covariance errs by at most √(2/size) of the largest product.
    reach = 5 * np.sqrt(np.diag(covariance) / size)
    assert (np.abs(w.mean(0) - environment.mean_parameter) <= reach + 1e-12).all()
    bound = 5 * np.sqrt(2 / size) * np.diag(covariance).max()
    np.testing.assert_allclose(np.cov(w.T), covariance, atol=bound)


def test_total_variance_is_the_trace() -> None:
    assert np.trace(Synthetic(variance=3.0).task_covariance) == pytest.approx(3.0)
    assert np.trace(Synthetic(task_distribution="basis").task_covariance) == pytest.approx(
        1 - 1 / 20
    )


def test_a_covariance_is_the_variance_it_equals() -> None:
    # The same numbers, so the same tasks: N(1, I/d) written in two ways.
    plain, full = Synthetic(dimension=3), Synthetic(dimension=3, covariance=np.eye(3) / 3)
    one = plain.sample(5, 4, np.random.default_rng(1)).parameter
    two = full.sample(5, 4, np.random.default_rng(1)).parameter
    assert one is not None
    assert two is not None
    np.testing.assert_allclose(np.abs(one - 1), np.abs(two - 1), rtol=1e-12)


def test_a_singular_covariance_keeps_tasks_on_its_line() -> None:
    environment = Synthetic(dimension=2, covariance=[[1, 2], [2, 4]], mean=[3.0, -1.0])
    w = environment.sample(1, 100, np.random.default_rng(0)).parameter
    assert w is not None
    off = (w - environment.mean_parameter) @ np.array([2.0, -1.0])
    np.testing.assert_allclose(off, 0, atol=1e-7)


def test_zero_variance_makes_all_tasks_equal() -> None:
    prepared = Synthetic(variance=0.0, mean=2.0).prepare(3, np.random.default_rng(0))
    for seed in range(3):
        w = prepared.sample(2, 3, np.random.default_rng(seed)).parameter
        assert w is not None
        assert (w == 2.0).all()


def test_basis_tasks_are_scaled_basis_vectors() -> None:
    environment = Synthetic(dimension=3, task_distribution="basis", parameter_bound=2.0)
    w = environment.sample(1, 200, np.random.default_rng(0)).parameter
    assert w is not None
    assert {tuple(row) for row in w} == {(2.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 2.0)}


def test_kinds_are_equally_far_from_each_other() -> None:
    environment = Synthetic(dimension=5, n_kinds=3, variance=6.0, within_kinds=0.0)
    w = environment.sample(1, 300, np.random.default_rng(0)).parameter
    assert w is not None
    kinds = np.unique(w.round(9), axis=0)
    assert len(kinds) == 3
    # Squared distances from the mean are 6, and between corners 2·6·3/(3 − 1).
    np.testing.assert_allclose(((kinds - 1.0) ** 2).sum(-1), 6.0, rtol=1e-6)
    gaps = ((kinds[:, None] - kinds) ** 2).sum(-1)
    np.testing.assert_allclose(gaps[~np.eye(3, dtype=bool)], 18.0, rtol=1e-6)
    assert np.trace(Synthetic(n_kinds=20, variance=3.0).task_covariance) == pytest.approx(3.0)


def test_a_fixed_decision_set_is_the_same_for_all_rounds_and_tasks() -> None:
    prepared = Synthetic(decision_set="fixed").prepare(4, np.random.default_rng(0))
    tasks = [prepared.sample(6, 4, np.random.default_rng(seed)) for seed in (1, 2)]
    for task in tasks:
        assert (task.arms == tasks[0].arms[:, :1]).all()
    assert not np.array_equal(tasks[0].rewards, tasks[1].rewards)
    # Replications have sets of their own.
    assert not np.array_equal(tasks[0].arms[0], tasks[0].arms[1])


def test_fixed_arms_without_spread_are_the_papers_orthogonal_ones() -> None:
    environment = Synthetic(dimension=4, n_arms=4, decision_set="fixed", spread=0.0)
    arms = environment.sample(2, 3, np.random.default_rng(0)).arms
    np.testing.assert_allclose(arms @ arms.mT, np.broadcast_to(np.eye(4), (3, 2, 4, 4)), atol=1e-12)


def test_a_prepared_mean_has_one_row_per_replication() -> None:
    environment = Synthetic(dimension=3, mean=[1.0, 2.0, 3.0])
    mean = environment.prepare(2, np.random.default_rng(0)).mean_parameter
    np.testing.assert_array_equal(mean, [[1.0, 2.0, 3.0]] * 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"task_distribution": "cauchy"},
            "task_distribution must be one of basis, gaussian, got 'cauchy'",
        ),
        ({"covariance": np.eye(3)}, r"covariance must have shape \(d, d\) = \(20, 20\)"),
        ({"covariance": -np.eye(20)}, "covariance must be positive semidefinite, got .* -1"),
        ({"dimension": 2, "covariance": [[1, 2], [0, 1]]}, "covariance must be symmetric"),
        ({"covariance": np.eye(20), "variance": 2.0}, "variance and variance_of must not be set"),
        (
            {"covariance": np.eye(20), "variance_of": "coordinate"},
            "variance and variance_of must not be set",
        ),
        ({"parameter_bound": 2.0}, "parameter_bound must not be set unless task_distribution"),
        (
            {"task_distribution": "basis", "parameter_bound": -1.0},
            "parameter_bound must be a finite number",
        ),
        (
            {"task_distribution": "basis", "mean": 2.0},
            "mean, variance and covariance must not be set",
        ),
        (
            {"task_distribution": "basis", "variance": 0.0},
            "mean, variance and covariance must not be set",
        ),
        (
            {"task_distribution": "basis", "covariance": np.eye(20)},
            "mean, variance and covariance must not be set",
        ),
        ({"n_kinds": 21}, "n_kinds must be at most dimension, got 21"),
        ({"n_kinds": 2, "within_kinds": 1.5}, "within_kinds must be from 0 to 1, got 1.5"),
        ({"within_kinds": 0.5}, "within_kinds must not be set if n_kinds is 1, got 0.5"),
        ({"n_kinds": 2, "n_about": 1}, "n_kinds must be 1 if .* n_about is given, got 2"),
        ({"n_kinds": 2, "covariance": np.eye(20)}, "n_kinds must be 1 if .* got 2"),
        ({"decision_set": "old"}, "decision_set must be one of fixed, fresh, got 'old'"),
        ({"shift": "some"}, "shift must be one of none, round, got 'some'"),
    ],
)
def test_settings_that_contradict_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Synthetic(**settings)
