"""The two-level model: moments of the mean task and of tasks, and arms on the sphere."""

import numpy as np
import pytest

from headstart.environments import Hierarchy


def test_tasks_have_the_moments_of_the_model() -> None:
    environment = Hierarchy(
        dimension=3,
        n_arms=4,
        mean_variance=2.0,
        task_variance=0.5,
        n_directions=1,
        direction_variance=3.0,
        noise_scale=0.0,
    )
    rng = np.random.default_rng(0)
    prepared = environment.prepare(20_000, rng)
    # Means of 20,000 have a relative error of 1 %.
    assert prepared.mean_parameter.var() == pytest.approx(2.0, rel=0.05)
    parameter = prepared.sample(1, 20_000, rng).parameter
    assert parameter is not None
    gaps = parameter - prepared.mean_parameter
    along = (gaps[:, None, :] @ prepared.directions)[:, 0, 0]
    assert along.var() == pytest.approx(3.5, rel=0.05)
    across = gaps - along[:, None] * prepared.directions[..., 0]
    assert (across**2).sum(-1).mean() == pytest.approx(1.0, rel=0.05)


def test_arms_are_of_length_one_and_stay_for_a_task() -> None:
    rng = np.random.default_rng(1)
    prepared = Hierarchy(dimension=4, n_arms=6).prepare(5, rng)
    one, two = prepared.sample(7, 5, rng), prepared.sample(7, 5, rng)
    np.testing.assert_allclose(np.linalg.norm(one.arms, axis=-1), 1.0)
    np.testing.assert_array_equal(one.arms, np.repeat(one.arms[:, :1], 7, axis=1))
    assert (one.arms != two.arms).all()
    fresh = Hierarchy(dimension=4, n_arms=6, decision_set="fresh").sample(7, 5, rng)
    assert (fresh.arms[:, 0] != fresh.arms[:, 1]).all()
    assert one.parameter is not None
    means = (one.arms @ one.parameter[:, None, :, None])[..., 0]
    np.testing.assert_allclose(one.means, means)


def test_arms_in_a_cube_and_the_same_for_all_tasks() -> None:
    rng = np.random.default_rng(2)
    cube = Hierarchy(
        dimension=3, n_arms=500, arm_shape="cube", arm_size=0.5, decision_set="fixed"
    ).prepare(4, rng)
    one, two = cube.sample(2, 4, rng), cube.sample(2, 4, rng)
    np.testing.assert_array_equal(one.arms, two.arms)
    assert (one.arms[0] != one.arms[1]).all()
    assert 0.49 < abs(one.arms).max() <= 0.5
    # The variance of a uniform number in [−½, ½].
    assert one.arms.var() == pytest.approx(1.0 / 12.0, rel=0.05)
    sphere = Hierarchy(dimension=3, arm_size=2.0).sample(1, 4, rng)
    np.testing.assert_allclose(np.linalg.norm(sphere.arms, axis=-1), 2.0)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_directions": 3}, "n_directions must be at most dimension"),
        ({"task_variance": -1.0}, "task_variance"),
        ({"decision_set": "none"}, "decision_set"),
        ({"arm_shape": "ball"}, "arm_shape"),
        ({"arm_size": 0.0}, "arm_size"),
    ],
)
def test_settings_are_checked(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Hierarchy(**wrong)  # type: ignore[arg-type]
