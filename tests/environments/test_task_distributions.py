"""Synthetic tasks have the distribution, and arms the decision set, that the settings state."""

from collections.abc import Callable

import numpy as np
import pytest

from headstart.environments import Basis, Gaussian, Kinds, Synthetic
from headstart.environments.task_distributions import TaskDistribution

TASKS: dict[str, tuple[int, TaskDistribution]] = {
    "a total variance": (4, Gaussian(variance=2.0)),
    "any covariance": (3, Gaussian(variance=np.array([[2, 1, 0], [1, 2, 0], [0, 0, 0.5]]))),
    "a singular covariance": (2, Gaussian(variance=[[1, 2], [2, 4]], mean=[3.0, -1.0])),
    "kinds": (4, Kinds(n_kinds=3, variance=8.0, mean=[1.0, 0.0, 2.0, 0.0])),
    "basis": (4, Basis(size=3.0)),
}


@pytest.mark.parametrize("n_about", [0, 2])
@pytest.mark.parametrize(("dimension", "tasks"), TASKS.values(), ids=TASKS.keys())
def test_samples_have_the_stated_moments(
    dimension: int, tasks: TaskDistribution, n_about: int
) -> None:
    environment = Synthetic(
        dimension=dimension,
        tasks=tasks,
        n_arms=1,
        reward="linear",
        n_about=n_about,
        about_explains=n_about / 4,
    )
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
    assert np.trace(Synthetic(tasks=Gaussian(variance=3.0)).task_covariance) == pytest.approx(3.0)
    assert np.trace(Synthetic(tasks=Basis()).task_covariance) == pytest.approx(1 - 1 / 20)


def test_a_covariance_is_the_variance_it_equals() -> None:
    # The same numbers, so the same tasks: N(1, I/d) written in two ways.
    plain = Synthetic(dimension=3)
    full = Synthetic(dimension=3, tasks=Gaussian(variance=np.eye(3) / 3))
    one = plain.sample(5, 4, np.random.default_rng(1)).parameter
    two = full.sample(5, 4, np.random.default_rng(1)).parameter
    assert one is not None
    assert two is not None
    np.testing.assert_allclose(np.abs(one - 1), np.abs(two - 1), rtol=1e-12)


def test_a_singular_covariance_keeps_tasks_on_its_line() -> None:
    environment = Synthetic(
        dimension=2, tasks=Gaussian(variance=[[1, 2], [2, 4]], mean=[3.0, -1.0])
    )
    w = environment.sample(1, 100, np.random.default_rng(0)).parameter
    assert w is not None
    off = (w - environment.mean_parameter) @ np.array([2.0, -1.0])
    np.testing.assert_allclose(off, 0, atol=1e-7)


def test_zero_variance_makes_all_tasks_equal() -> None:
    prepared = Synthetic(tasks=Gaussian(variance=0.0, mean=2.0)).prepare(
        3, np.random.default_rng(0)
    )
    for seed in range(3):
        w = prepared.sample(2, 3, np.random.default_rng(seed)).parameter
        assert w is not None
        assert (w == 2.0).all()


def test_basis_tasks_are_scaled_basis_vectors() -> None:
    environment = Synthetic(dimension=3, tasks=Basis(size=2.0))
    w = environment.sample(1, 200, np.random.default_rng(0)).parameter
    assert w is not None
    assert {tuple(row) for row in w} == {(2.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 2.0)}


def test_kinds_are_equally_far_from_each_other() -> None:
    environment = Synthetic(dimension=5, tasks=Kinds(n_kinds=3, variance=6.0, within=0.0))
    w = environment.sample(1, 300, np.random.default_rng(0)).parameter
    assert w is not None
    kinds = np.unique(w.round(9), axis=0)
    assert len(kinds) == 3
    # Squared distances from the mean are 6, and between corners 2·6·3/(3 − 1).
    np.testing.assert_allclose(((kinds - 1.0) ** 2).sum(-1), 6.0, rtol=1e-6)
    gaps = ((kinds[:, None] - kinds) ** 2).sum(-1)
    np.testing.assert_allclose(gaps[~np.eye(3, dtype=bool)], 18.0, rtol=1e-6)
    assert np.trace(
        Synthetic(tasks=Kinds(n_kinds=20, variance=3.0)).task_covariance
    ) == pytest.approx(3.0)


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
    environment = Synthetic(dimension=3, tasks=Gaussian(mean=[1.0, 2.0, 3.0]))
    mean = environment.prepare(2, np.random.default_rng(0)).mean_parameter
    np.testing.assert_array_equal(mean, [[1.0, 2.0, 3.0]] * 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Synthetic(tasks=Gaussian(variance=np.eye(3))),
            r"variance must have shape \(d, d\) = \(20, 20\)",
        ),
        (lambda: Gaussian(variance=[1.0, 2.0]), r"variance must have shape \(d, d\) = \(2, 2\)"),
        (lambda: Gaussian(variance=-np.eye(2)), "variance must be positive semidefinite, .* -1"),
        (lambda: Gaussian(variance=[[1, 2], [0, 1]]), "variance must be symmetric"),
        (lambda: Synthetic(tasks=Kinds(n_kinds=21)), "n_kinds must be at most dimension, got 21"),
        (lambda: Kinds(n_kinds=1), "n_kinds must be .* at least 2, got 1"),
        (lambda: Kinds(n_kinds=2, within=1.5), "within must be from 0 to 1, got 1.5"),
        (lambda: Synthetic(about_explains=0.5), "about_explains must be 0 if n_about is 0"),
        (lambda: Synthetic(tasks="gaussian"), "tasks must be Gaussian, Kinds or Basis"),  # type: ignore[arg-type]
        (lambda: Synthetic(decision_set="old"), "decision_set must be one of fixed, fresh"),  # type: ignore[arg-type]
        (lambda: Synthetic(shift="some"), "shift must be one of none, round, got 'some'"),  # type: ignore[arg-type]
    ],
)
def test_wrong_settings_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
