"""What every prior estimator must do."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from tests.contracts.finding import implementing, instances

from headstart import priors
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import LivePriorEstimator, Memory, PriorEstimator, n_about
from headstart.priors.hierarchical.factors import FactorFit
from headstart.priors.hierarchical.recent import RecentTasks

DIMENSION, HORIZON = 4, 9
_ROOT = np.random.default_rng(7).standard_normal((DIMENSION, DIMENSION))
MATRIX = (_ROOT @ _ROOT.T + (_ROOT @ _ROOT.T).T) / 2 + np.eye(DIMENSION)

LEARNING: Sequence[Mapping[str, Any]] = [
    {"regularization": 100.0, "estimation_regularization": 0.01},
    {"regularization": 0.3, "estimation_regularization": "same"},
    {"regularization": MATRIX, "estimation_regularization": "same"},
    {"within_task": False},
]
SETTINGS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "Fixed": [
        {"bias": np.arange(DIMENSION, dtype=np.float64), "regularization": 3.0},
        {"regularization": MATRIX},
    ],
    "Average": LEARNING,
    "Hierarchical": [
        {"covariance": "isotropic"},
        {"n_about": 2},
    ],
    "Pooled": LEARNING,
}
PRIORS: dict[str, PriorEstimator] = instances(priors, PriorEstimator, SETTINGS)

every_prior = pytest.mark.parametrize("estimator", PRIORS.values(), ids=PRIORS.keys())


def _data(
    n_tasks: int, lead: tuple[int, ...], horizon: int = HORIZON, seed: int = 0
) -> list[tuple[Floats, Floats]]:
    rng = np.random.default_rng(seed)
    mean = rng.standard_normal(DIMENSION)
    found = []
    for _ in range(n_tasks):
        w = mean + 0.5 * rng.standard_normal((*lead, DIMENSION))
        x = rng.standard_normal((*lead, horizon, DIMENSION))
        y = (x @ w[..., None])[..., 0] + 0.3 * rng.standard_normal((*lead, horizon))
        found.append((x, y))
    return found


def _statistics(estimator: PriorEstimator, x: Floats, y: Floats) -> TaskStatistics:
    """The statistics of a task, with side information where the estimator takes any."""
    p = n_about(estimator)
    # Sums over rewards, so that it does not depend on their order.
    return TaskStatistics.from_data(x, y, x.sum(-2)[..., :p] if p else None)


def _learn(
    estimator: PriorEstimator, data: Sequence[tuple[Floats, Floats]], lead: tuple[int, ...]
) -> Memory:
    memory = estimator.empty(DIMENSION, lead)
    for x, y in data:
        before = {name: np.array(array) for name, array in memory.items()}
        learned = estimator.absorb(memory, _statistics(estimator, x, y))
        for name, array in before.items():
            np.testing.assert_array_equal(memory[name], array, err_msg="absorb changed its input")
        memory = learned
    return memory


def _assert_same(one: Prior, two: Prior, *, exactly: bool = False) -> None:
    tolerance = 0.0 if exactly else 1e-10
    for name in ("bias", "regularization"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(two, name), rtol=tolerance, atol=tolerance, err_msg=name
        )


def test_priors_are_found() -> None:
    assert {"Fixed", "Average", "Pooled"} <= {
        kind.__name__ for kind in implementing(priors, PriorEstimator)
    }


@every_prior
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
@pytest.mark.parametrize("n_tasks", [0, 1, 5])
@pytest.mark.parametrize("horizon", [0, 1, HORIZON])
def test_prior_is_finite(
    estimator: PriorEstimator, lead: tuple[int, ...], n_tasks: int, horizon: int
) -> None:
    prior = estimator.prior(_learn(estimator, _data(n_tasks, lead, horizon), lead))
    assert prior.bias.shape == (*lead, DIMENSION)
    assert np.isfinite(prior.bias).all()
    assert (prior.largest_eigenvalue > 0).all()
    assert np.isfinite(prior.regularization).all()


@every_prior
def test_memory_is_plain_arrays_with_leading_axes(estimator: PriorEstimator) -> None:
    lead = (3,)
    empty = estimator.empty(DIMENSION, lead)
    for n_tasks in (0, 1, 2, 7):
        memory = _learn(estimator, _data(n_tasks, lead), lead)
        assert memory.keys() == empty.keys()
        assert all(array.shape[:1] == lead for array in memory.values())
        for name, array in memory.items():
            assert isinstance(name, str)
            assert type(array) is np.ndarray
            assert array.dtype != np.dtype(object)
            assert np.isfinite(array).all()


@every_prior
def test_memory_survives_a_file(estimator: PriorEstimator) -> None:
    data = _data(4, (2,))
    memory = _learn(estimator, data[:2], (2,))
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **memory)
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        again: Memory = dict(stored)
    assert again.keys() == memory.keys()
    for x, y in data[2:]:
        memory = estimator.absorb(memory, _statistics(estimator, x, y))
        again = estimator.absorb(again, _statistics(estimator, x, y))
    _assert_same(estimator.prior(memory), estimator.prior(again), exactly=True)


@every_prior
def test_leading_axes_are_independent(estimator: PriorEstimator) -> None:
    lead = (2, 3)
    data = _data(4, lead)
    whole = estimator.prior(_learn(estimator, data, lead))
    for i in np.ndindex(lead):
        part = estimator.prior(_learn(estimator, [(x[i], y[i]) for x, y in data], ()))
        _assert_same(Prior(whole.bias[i], np.asarray(whole.regularization[i])), part)


@every_prior
def test_memory_can_be_split(estimator: PriorEstimator) -> None:
    # A simulation plays chunks of replications: slices of the memory are the memory of slices.
    data = _data(3, (5,))
    whole = _learn(estimator, data, (5,))
    begun = {name: array[1:3] for name, array in estimator.empty(DIMENSION, (5,)).items()}
    for x, y in data:
        begun = dict(estimator.absorb(begun, _statistics(estimator, x[1:3], y[1:3])))
    for name, array in begun.items():
        np.testing.assert_array_equal(whole[name][1:3], array)


@every_prior
def test_order_of_rewards_does_not_matter(estimator: PriorEstimator) -> None:
    data = _data(3, ())
    order = np.random.default_rng(1).permutation(HORIZON)
    shuffled = [(x[order], y[order]) for x, y in data]
    one, two = (estimator.prior(_learn(estimator, task, ())) for task in (data, shuffled))
    _assert_same(one, two)


@every_prior
def test_learning_is_deterministic(estimator: PriorEstimator) -> None:
    one, two = (estimator.prior(_learn(estimator, _data(3, (2,)), (2,))) for _ in range(2))
    _assert_same(one, two, exactly=True)


@every_prior
@pytest.mark.parametrize("n_tasks", [0, 1, 4])
@pytest.mark.parametrize("lead", [(), (2, 3)])
def test_running_bias_is_the_prior_with_the_task_so_far(
    estimator: PriorEstimator, n_tasks: int, lead: tuple[int, ...]
) -> None:
    *finished, (x, y) = _data(n_tasks + 1, lead, horizon=2 * HORIZON, seed=2)
    memory = _learn(estimator, finished, lead)
    before = {name: np.array(array) for name, array in memory.items()}
    running = estimator.running_bias(memory)
    if running is None:
        return
    for t in range(2 * HORIZON):
        bias = running.observe(np.ascontiguousarray(x[..., t, :]), np.ascontiguousarray(y[..., t]))
        so_far = TaskStatistics.from_data(x[..., : t + 1, :], y[..., : t + 1])
        expected = estimator.prior(estimator.absorb(memory, so_far)).bias
        # Conditions up to 1e4 at the smallest regularization in use, 0.01: twelve digits hold.
        np.testing.assert_allclose(bias, expected, rtol=1e-9, atol=1e-9)
    for name, array in before.items():
        np.testing.assert_array_equal(
            memory[name], array, err_msg="running_bias changed the memory"
        )


# What live use needs beside.


@every_prior
def test_estimator_can_take_tasks_out(estimator: PriorEstimator) -> None:
    assert isinstance(estimator, LivePriorEstimator)


def _assert_same_memory(one: Memory, two: Memory, *, skip: Sequence[str] = ()) -> None:
    assert one.keys() == two.keys()
    for name in set(one) - set(skip):
        scale = float(np.abs(two[name]).max(initial=1.0))
        np.testing.assert_allclose(one[name], two[name], atol=1e-12 * scale, rtol=0, err_msg=name)


# A fit that depends on the order in which tasks came, and where they are stored.
FITTED = {field.name for field in fields(FactorFit)}
STORED = {field.name for field in fields(RecentTasks)} - {"seen", "arrivals"}


def _assert_same_tasks(one: Memory, two: Memory, lead: tuple[int, ...]) -> None:
    """The sums are the same, and so are the stored tasks, in any order."""
    _assert_same_memory(one, two, skip=[*FITTED, *STORED, "seen", "arrivals"])
    for i in np.ndindex(lead) if "counts" in one else ():
        orders = [np.lexsort((each["moments"][i][:, 0], each["counts"][i])) for each in (one, two)]
        for name in STORED:
            first, second = (
                each[name][i][order] for each, order in zip((one, two), orders, strict=True)
            )
            np.testing.assert_allclose(first, second, atol=1e-12, err_msg=name)


def _converged(estimator: LivePriorEstimator, memory: Memory) -> Memory:
    """The memory with its fit taken to the end."""
    if "fitted_at" in memory:
        lead, p = memory["fitted_at"].shape, n_about(estimator)
        nothing = TaskStatistics.zeros(DIMENSION, lead)
        if p:
            nothing = replace(nothing, about=np.zeros((*lead, p)))
        for _ in range(100):
            due = dict(memory) | {"fitted_at": np.zeros_like(memory["fitted_at"])}
            memory = estimator.absorb(due, nothing)
    return memory


@every_prior
@pytest.mark.parametrize("lead", [(), (2,)])
def test_replacing_a_task_equals_absorbing_afresh(
    estimator: LivePriorEstimator, lead: tuple[int, ...]
) -> None:
    data = [_statistics(estimator, *each) for each in _data(5, lead)]
    x, y = _data(2, lead)[1]
    early = _statistics(estimator, x[..., :4, :], y[..., :4])
    memory = estimator.absorb(estimator.empty(DIMENSION, lead), data[0])
    for task in (early, *data[2:]):
        memory = estimator.absorb(memory, task)
    memory = estimator.absorb(memory, early, -1.0)
    memory = estimator.absorb(memory, data[1])
    afresh = estimator.empty(DIMENSION, lead)
    for task in (data[0], *data[2:], data[1]):
        afresh = estimator.absorb(afresh, task)
    _assert_same_tasks(memory, afresh, lead)
    one, two = (estimator.prior(_converged(estimator, each)) for each in (memory, afresh))
    # Expectation-maximisation converges linearly: a hundred fits leave four digits.
    np.testing.assert_allclose(one.bias, two.bias, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(one.regularization, two.regularization, rtol=1e-3, atol=1e-3)


@every_prior
def test_weights_add_and_scale(estimator: LivePriorEstimator) -> None:
    first, second = (_statistics(estimator, x, y) for x, y in _data(2, (2,)))
    begun = estimator.absorb(estimator.empty(DIMENSION, (2,)), first)
    once = estimator.absorb(estimator.scale(begun, 0.25), second, 0.5)
    again = estimator.scale(estimator.absorb(estimator.scale(begun, 0.5), second), 0.5)
    _assert_same_memory(once, again, skip=sorted(FITTED))


@every_prior
def test_merged_memories_are_the_memory_of_all_tasks(estimator: LivePriorEstimator) -> None:
    data = _data(6, (2,))
    one, two = (_learn(estimator, part, (2,)) for part in (data[:3], data[3:]))
    merged, whole = estimator.merge(one, two), _learn(estimator, data, (2,))
    # Units of λ agree here, so that the grids are the same.
    _assert_same_tasks(merged, whole, (2,))
    empty = estimator.empty(DIMENSION, (2,))
    for memory in (estimator.merge(one, empty), estimator.merge(empty, one)):
        _assert_same(estimator.prior(memory), estimator.prior(one))
