"""Predictions from a start are those of the posterior, and of no later reward."""

from dataclasses import replace

import numpy as np
import pytest

from headstart.trials.rows import Rows
from headstart.trials.starts import Blocks, Shared, Start, parts, predicted


def _rows(seed: int = 0, *, n_tasks: int = 30, timed: bool = False) -> Rows:
    rng = np.random.default_rng(seed)
    tasks = np.repeat(np.arange(n_tasks), rng.integers(1, 9, n_tasks))
    n, d = len(tasks), 4
    x = np.concatenate([rng.normal(size=(n, d - 1)), np.ones((n, 1))], 1)
    return Rows(
        x=x,
        choice=np.array([True, True, True, False]),
        groups=np.arange(4),
        group_names=["a", "b", "c", "constant"],
        constant=3,
        rewards=rng.normal(size=n) + x[:, 0],
        tasks=tasks,
        items=rng.integers(5, size=n),
        n_items=5,
        times=np.linspace(0.0, 1.0, n) if timed else None,
    )


def test_errors_are_those_of_the_posterior_mean() -> None:
    rows, rng = _rows(), np.random.default_rng(1)
    root = rng.normal(size=(4, 4))
    start = Start(bias=rng.normal(size=4), effects=rng.normal(size=5), spread=root @ root.T)
    tasks = np.array([0, 3, 7])
    found = Blocks.of(rows, tasks).errors(rows, start)
    for line, task in zip(found, tasks, strict=True):
        own = rows.tasks == task
        x, y = rows.x[own], rows.rewards[own] - start.effects[rows.items[own]]
        precision = np.linalg.inv(root @ root.T)
        for t in range(len(y)):
            gram = x[:t].T @ x[:t] + precision
            w = np.linalg.solve(gram, x[:t].T @ y[:t] + precision @ start.bias)
            assert line[t] == pytest.approx(y[t] - x[t] @ w, rel=1e-6, abs=1e-9)
        assert np.isnan(line[len(y) :]).all()


def test_one_model_is_a_ridge_regression_with_a_column_per_item() -> None:
    rows = _rows()
    found = Shared.of(rows, rows.tasks < 20).solved(2.0, 5.0)
    mask = rows.tasks < 20
    x = np.concatenate([rows.x, np.eye(5)[rows.items]], 1)[mask]
    penalty = np.diag([2.0] * 3 + [2e-6] + [5.0] * 5)
    w = np.linalg.solve(x.T @ x + penalty, x.T @ rows.rewards[mask])
    assert found.bias == pytest.approx(w[:4])
    assert found.effects == pytest.approx(w[4:])
    assert not Shared.of(rows, mask).solved(2.0, np.inf).effects.any()


def test_every_task_is_predicted_once_and_from_others() -> None:
    rows = _rows()
    found = list(parts(rows, np.random.default_rng(0)))
    assert sorted(np.concatenate([tasks for tasks, _ in found])) == list(range(30))
    for tasks, before in found:
        assert not set(rows.tasks[before]) & set(tasks)


def test_with_times_nothing_later_predicts() -> None:
    """Later rewards change, and earlier predictions do not."""
    rows = _rows(n_tasks=60, timed=True)
    assert rows.times is not None
    for tasks, before in parts(rows, np.random.default_rng(0)):
        assert rows.times[before].max() < rows.times[np.isin(rows.tasks, tasks)].min()
        assert tasks.min() >= 30
    other = replace(rows, rewards=np.where(rows.tasks >= 50, 0.0, rows.rewards))
    found, changed = (predicted(one, 0)[0]["headstart"][:48] for one in (rows, other))
    assert np.isfinite(found[30:]).any()
    np.testing.assert_allclose(found, changed)
