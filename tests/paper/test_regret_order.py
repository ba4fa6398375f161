"""On the paper's synthetic setting, transfer reduces regret in the order of its theory."""

from functools import cache

import numpy as np
import pytest

import headstart as hs
from headstart.arrays import Floats
from headstart.environments import Synthetic
from headstart.learners.oful import paper_learners

REPLICATIONS, HORIZON = 400, 50


@cache
def _regrets() -> dict[str, Floats]:
    """The regret of a test task after ten training tasks, (replications,), by learner.

    Linear reward, d = 20, K = 5, T = 50, total variance 1, noise 1, λ = 1, no bias term.
    """
    environment = Synthetic(reward="linear")
    results = hs.evaluate(
        environment,
        paper_learners(
            policy=hs.policies.OFUL(failure_probability=1 / HORIZON),
            mean_parameter=environment.mean_parameter,
        ),
        n_training_tasks=10,
        n_test_tasks=1,
        horizon=HORIZON,
        replications=REPLICATIONS,
        seed=1,
    )
    total = results["regret"].sum("round").isel(trained=0, task=0)
    return {str(name): total.sel(learner=name).to_numpy() for name in total["learner"].to_numpy()}


@pytest.mark.parametrize(
    ("better", "worse"),
    [("OPT", "Oracle"), ("Oracle", "RR-OFUL"), ("RR-OFUL", "AVG-OFUL"), ("AVG-OFUL", "ITL")],
)
def test_transfer_reduces_regret(better: str, worse: str) -> None:
    # Paired: both play the same arms with the same noise. Five standard errors apart.
    difference = _regrets()[worse] - _regrets()[better]
    error = difference.std(ddof=1) / np.sqrt(REPLICATIONS)
    assert difference.mean() > 5 * error


@pytest.mark.parametrize(
    ("learner", "expected"),
    # An independent prototype's figures, to the digits known, over as many other replications.
    [("ITL", 23.9), ("AVG-OFUL", 11.2), ("RR-OFUL", 8.5), ("Oracle", 7.0), ("OPT", 0.0)],
)
def test_regret_is_what_a_prototype_reached(learner: str, expected: float) -> None:
    # Two means over 400 runs differ by √2 standard errors of one; five of those, and the rounding.
    regret = _regrets()[learner]
    error = np.sqrt(2) * regret.std(ddof=1) / np.sqrt(REPLICATIONS)
    assert abs(regret.mean() - expected) <= 5 * error + 0.5
