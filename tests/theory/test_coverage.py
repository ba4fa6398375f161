"""The confidence sets hold: over 2,000 tasks, w leaves them in at most a share δ of runs."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.playing import play
from tests.theory.environments import Sphere

import headstart as hs
from headstart import theory
from headstart.intervals import share
from headstart.theory import Trajectory

pytestmark = pytest.mark.slow

TASKS = 2000
HORIZON = 60
DELTAS = (0.5, 0.1, 0.01)
BIAS_ERROR = 0.5

Report = Callable[[str, object], None]


def trajectory(delta: float, prior: hs.interfaces.PriorEstimator, n_before: int = 0) -> Trajectory:
    """The last of some tasks, played by OFUL with a valid radius."""
    environment = Sphere(dimension=5, distance=BIAS_ERROR, gaussian=True)
    policy = hs.policies.OFUL(failure_probability=delta, bias_error=BIAS_ERROR)
    learner = hs.Learner("BIAS-OFUL", policy, prior)
    rng = np.random.default_rng(20200713)
    memory = learner.begin(environment.dimension, TASKS)
    for j in range(n_before + 1):
        task = environment.sample(HORIZON, TASKS, rng)
        episode = play(learner, memory, task, rng)
        if j < n_before:
            memory = learner.learn(memory, episode)
    return Trajectory.of(task, episode, prior, memory)


def fixed(regularization: float = 1.0) -> hs.priors.Fixed:
    centre = Sphere(dimension=5, distance=BIAS_ERROR).mean_parameter
    return hs.priors.Fixed(bias=centre, regularization=regularization)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("regularization", [1.0, 30.0])
def test_fixed_bias(delta: float, regularization: float, record_property: Report) -> None:
    path = trajectory(delta, fixed(regularization))
    outside = path.misses(noise_scale=1.0, failure_probability=delta)
    assert set(outside) == {"Theorem 1", "fixed bias"}
    shares = {}
    for name, missed in outside.items():
        assert missed.shape == (TASKS, HORIZON + 1)
        shares[name] = share(int(theory.ever(missed)[:, -1].sum()), TASKS)
        record_property(f"{name}, δ = {delta}", f"{shares[name]:.4f}")
        assert shares[name].mean <= delta
    assert shares["Theorem 1"].mean <= shares["fixed bias"].mean


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("prior", [hs.priors.Average(), hs.priors.Pooled()])
def test_moving_bias(
    delta: float, prior: hs.interfaces.PriorEstimator, record_property: Report
) -> None:
    path = trajectory(delta, prior, n_before=2)
    assert path.moves
    outside = path.misses(noise_scale=1.0, failure_probability=delta)
    assert set(outside) == {"Theorem 1"}
    left = share(int(theory.ever(outside["Theorem 1"])[:, -1].sum()), TASKS)
    record_property(f"Theorem 1, δ = {delta}", f"{left:.4f}")
    assert left.mean <= delta


def test_half_the_radius_is_too_little() -> None:
    # The simulation can tell: with R halved, both sets lose w far too often.
    path = trajectory(0.1, fixed())
    for missed in path.misses(noise_scale=0.4, failure_probability=0.1).values():
        left = share(int(theory.ever(missed)[:, -1].sum()), TASKS)
        assert left.low > 0.1
