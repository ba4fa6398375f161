"""The affine subspace of earlier tasks: a special case, and a subspace that is recovered."""

import numpy as np

import headstart as hs
from headstart.priors import Average, Subspace


def _tasks(n: int, rng: np.random.Generator) -> tuple[list[hs.TaskStatistics], np.ndarray]:
    """Tasks of 40 rounds around a line through (1, 2, 3)."""
    line = np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0)
    made = []
    for _ in range(n):
        w = np.array([1.0, 2.0, 3.0]) + 2.0 * rng.standard_normal() * line
        x = rng.standard_normal((40, 3))
        made.append(hs.TaskStatistics.from_data(x, x @ w + 0.1 * rng.standard_normal(40)))
    return made, line


def test_without_directions_it_is_the_average_of_equally_long_tasks() -> None:
    subspace = Subspace(n_directions=0, regularization=2.0, inside=2.0)
    average = Average(regularization=2.0)
    one, two = subspace.empty(3), average.empty(3)
    for task in _tasks(5, np.random.default_rng(0))[0]:
        one, two = subspace.absorb(one, task), average.absorb(two, task)
    np.testing.assert_allclose(subspace.prior(one).bias, average.prior(two).bias)
    np.testing.assert_allclose(subspace.prior(one).regularization, 2.0 * np.eye(3), atol=1e-12)


def test_the_line_of_tasks_is_found() -> None:
    tasks, line = _tasks(30, np.random.default_rng(1))
    prior = Subspace(n_directions=1, regularization=100.0, inside=0.1)
    memory = prior.empty(3)
    for task in tasks:
        memory = prior.absorb(memory, task)
    # Estimates have errors of 0.02 next to a spread of 2 along the line.
    strength = prior.prior(memory).regularization
    assert line @ strength @ line < 0.12
    np.testing.assert_allclose(np.linalg.eigvalsh(strength), [0.1, 100.0, 100.0])
