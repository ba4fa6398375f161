"""Which factor model is selected: what a direction must gain, and what few tasks support."""

import numpy as np
import pytest

from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.kernels import FactorModel, climb, new_direction
from headstart.priors import Hierarchical
from headstart.priors.hierarchical.factors import Candidate, thin_tasks
from headstart.priors.hierarchical.recent import RecentTasks
from headstart.priors.hierarchical.sums import Spectrum

DIMENSION = 4


def _candidate(noise: float, task: float, rank: int = 0) -> Candidate:
    """A model of ten tasks with V = 6I."""
    recent = RecentTasks.zeros(DIMENSION, ())
    rng = np.random.default_rng(0)
    found = []
    for _ in range(10):
        x = np.sqrt(6.0) * np.linalg.qr(rng.standard_normal((DIMENSION, DIMENSION))).Q
        found.append(TaskStatistics.from_data(x, rng.standard_normal(DIMENSION)))
    every = TaskStatistics.stack(found, DIMENSION)
    tasks = thin_tasks(recent.with_tasks(every, 1.0, Spectrum.of(every)), ())
    model = FactorModel(np.eye(DIMENSION)[:, :rank].copy(), noise, task, np.ones(1), 1.0)
    return Candidate(tasks, model, climb(tasks, model, 0, 1e-9, 1e9)[1])


@pytest.mark.parametrize(
    ("noise", "task", "share"), [(1e-6, 1.0, 1.0), (1.0, 1e-6, 0.0), (2.0, 1.0, 0.75)]
)
def test_parameters_count_by_what_rewards_determine(
    noise: float, task: float, share: float
) -> None:
    candidate = _candidate(noise, task)
    assert candidate.penalty(0) == 0.0
    assert candidate.penalty(1) == pytest.approx(2 * 4 * 10 / (10 - share), rel=1e-5)
    assert candidate.penalty(2) == pytest.approx(2 * 7 * 10 / (10 - 2 * share), rel=1e-5)
    assert candidate.penalty(10) == np.inf


def test_the_variance_of_the_mean_along_directions_counts() -> None:
    for rank in range(3):
        candidate = _candidate(1.0, 1.0, rank)
        expected = candidate.expected.deviance + candidate.penalty(rank) + (2.0 if rank else 0.0)
        assert candidate.criterion == pytest.approx(expected)


def _selected(parameters: Floats, rng: np.random.Generator) -> int:
    """The rank after tasks (N, d) of 50 rounds, unit noise and features of length about 1."""
    estimator = Hierarchical()
    dimension = parameters.shape[-1]
    memory = estimator.empty(dimension)
    for w in parameters:
        x = rng.standard_normal((50, dimension)) / np.sqrt(dimension)
        y = x @ w + rng.standard_normal(50)
        memory = estimator.absorb(memory, TaskStatistics.from_data(x, y))
    return int(estimator.directions(memory).rank)


def test_ten_tasks_support_two_directions_and_no_chance_ones() -> None:
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((20, 2))).Q
    shared, isotropic = [], []
    for _ in range(24):
        along = rng.standard_normal((10, 2)) @ (np.sqrt(10.0) * basis.T)
        shared.append(_selected(1.0 + along, rng))
        isotropic.append(_selected(1.0 + rng.standard_normal((10, 20)), rng))
    # Of 96 runs with other seeds 84 % found both and one in 96 found a direction by chance: 20 ± 2
    # and 24 of 24. Counting every parameter N/(N − r) times found both in 60 %.
    assert shared.count(2) >= 16
    assert isotropic.count(0) >= 22


def test_information_below_zero_by_rounding_is_none() -> None:
    candidate = _candidate(1.0, 1.0)
    expected = candidate.expected._replace(
        projected=np.full_like(candidate.expected.projected, -1e-20),
        gradients=np.zeros_like(candidate.expected.gradients),
    )
    direction, gain = new_direction(candidate.tasks, expected)
    assert gain == 0.0
    np.testing.assert_array_equal(direction, 0.0)
