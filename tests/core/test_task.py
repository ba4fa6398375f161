"""Tasks: layout, slices and regrets."""

import numpy as np
import pytest

from headstart.core.task import Task, by_round


def _task(lead: tuple[int, ...]) -> Task:
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((*lead, 3, 4, 5))
    parameter = rng.standard_normal((*lead, 5))
    means = (arms @ parameter[..., None, :, None])[..., 0]
    return Task(arms=arms, rewards=means + 1, means=means, parameter=parameter)


@pytest.mark.parametrize("lead", [(), (2,), (2, 6)])
def test_sizes(lead: tuple[int, ...]) -> None:
    task = _task(lead)
    assert (task.lead, task.horizon, task.n_arms, task.dimension) == (lead, 3, 4, 5)


@pytest.mark.parametrize("lead", [(), (2,), (2, 6)])
def test_a_round_is_one_block_of_memory(lead: tuple[int, ...]) -> None:
    task = _task(lead)
    rounds = by_round(task.arms, 3)
    assert rounds.shape == (3, int(np.prod(lead)), 4, 5)
    assert np.shares_memory(rounds, task.arms)
    for t in range(3):
        assert rounds[t].flags.c_contiguous
        np.testing.assert_array_equal(rounds[t], task.arms[..., t, :, :].reshape(-1, 4, 5))


def test_the_layout_changes_no_value() -> None:
    arms = np.random.default_rng(1).standard_normal((2, 3, 4, 5))
    task = Task(arms=arms, rewards=arms[..., 0], means=arms[..., 1])
    np.testing.assert_array_equal(task.arms, arms)
    np.testing.assert_array_equal(task.rewards, arms[..., 0])
    np.testing.assert_array_equal(task.means, arms[..., 1])


def test_a_slice_is_those_replications_without_a_copy() -> None:
    task = _task((6,))
    part = task[2:5]
    assert part.lead == (3,)
    for name in ("arms", "rewards", "means", "parameter"):
        np.testing.assert_array_equal(getattr(part, name), getattr(task, name)[2:5])
    assert np.shares_memory(part.arms, task.arms)
    choices = np.random.default_rng(2).integers(0, 4, (6, 3))
    np.testing.assert_array_equal(part.regrets(choices[2:5]), task.regrets(choices)[2:5])


def test_regrets_by_hand() -> None:
    # Two rounds of two arms: the best pay 3 and 5, the others 1 and 4.
    means = np.array([[1.0, 3.0], [5.0, 4.0]])
    task = Task(arms=np.ones((2, 2, 1)), rewards=means, means=means)
    assert task.regrets(np.array([0, 0])).tolist() == [2, 0]
    assert task.regrets(np.array([1, 1])).tolist() == [0, 1]


def test_regrets_keep_leading_axes() -> None:
    task = _task((2, 6))
    choices = np.random.default_rng(3).integers(0, 4, (2, 6, 3))
    chosen = np.take_along_axis(task.means, choices[..., None], -1)[..., 0]
    np.testing.assert_array_equal(task.regrets(choices), task.means.max(-1) - chosen)
