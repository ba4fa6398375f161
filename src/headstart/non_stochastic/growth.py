"""How regret grows with the horizon against an adversary: linearly, or less."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr

from headstart import learners
from headstart.intervals import Interval, interval, quantile
from headstart.policies import OFUL, BayesUCB, Thompson
from headstart.specs import Spec
from headstart.studies.results import totals
from headstart.studies.study import LearnerSpec, Study

Adversary = Literal["switching", "reacting"]

ADVERSARIES: tuple[Adversary, ...] = ("switching", "reacting")
HORIZONS = (1000, 2000, 4000)
TASKS = 2
NOISE = 0.1

_OFUL = OFUL(noise_scale=NOISE, failure_probability=0.01)
_VARIANCE = NOISE**2

# Every stochastic learner here is told the true noise.
STOCHASTIC = tuple(
    LearnerSpec.of(agent)
    for agent in (
        learners.itl(policy=_OFUL),
        learners.avg_oful(policy=_OFUL),
        learners.rr_oful(policy=_OFUL),
        learners.pooled_oful(policy=_OFUL),
        learners.lin_ts(noise_variance=_VARIANCE),
        learners.meta_ts(noise_variance=_VARIANCE),
        learners.ada_ts(name="AdaTS, HierTS", noise_variance=_VARIANCE),
        learners.hier_bayes_ucb(noise_variance=_VARIANCE),
        learners.ours(),
        learners.ours(name="… growing z", policy=BayesUCB(z="growing")),
        learners.ours(name="… Thompson", policy=Thompson()),
    )
)
ROBUST = tuple(
    LearnerSpec.of(agent)
    for agent in (learners.lin_exp3(n_tasks=TASKS), learners.meta_lin_exp3(n_tasks=TASKS))
)


def study(adversary: Adversary, horizon: int, *, replications: int = 80, seed: int = 0) -> Study:
    """Two tasks of this horizon against the adversary, for every learner."""
    return Study(
        name=f"{adversary}-{horizon}",
        environment=Spec(kind="NonStochastic", settings={"adversary": adversary}),
        learners=STOCHASTIC + ROBUST,
        horizon=horizon,
        tasks=TASKS,
        replications=replications,
        shard=40,
        seed=seed,
    )


@dataclass(frozen=True)
class Growth:
    """A learner's regret per task at every horizon, and the exponent a of regret ∝ horizonᵃ."""

    learner: str
    regrets: tuple[Interval, ...]
    exponent: Interval


def growths(results: Mapping[int, xr.Dataset]) -> list[Growth]:
    """Every learner's growth, from the results by horizon."""
    by_horizon = {horizon: totals(results[horizon]).isel(regularization=0) for horizon in results}
    names = [str(name) for name in next(iter(results.values()))["learner"].to_numpy()]
    return [
        _growth(
            name,
            {
                horizon: np.asarray(regrets.sel(learner=name)) / TASKS
                for horizon, regrets in by_horizon.items()
            },
        )
        for name in names
    ]


def _growth(name: str, regrets: Mapping[int, np.ndarray]) -> Growth:
    """The exponent between the first and the last horizon, its error by the delta method."""
    found = {horizon: interval(values) for horizon, values in regrets.items()}
    first, last = min(found), max(found)
    one, two = found[first], found[last]
    span = math.log(last / first)
    if min(one.mean, two.mean) <= 0.0:
        # No regret is no growth.
        exponent = Interval(0.0, math.inf, -math.inf, math.inf, one.replications)
        return Growth(name, tuple(found.values()), exponent)
    mean = math.log(two.mean / one.mean) / span
    error = math.hypot(one.error / one.mean, two.error / two.mean) / span
    half = quantile(one.replications) * error
    exponent = Interval(mean, error, mean - half, mean + half, one.replications)
    return Growth(name, tuple(found.values()), exponent)
