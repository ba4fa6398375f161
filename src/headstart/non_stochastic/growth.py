"""How regret grows with the horizon against an adversary: linearly, or less."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr

from headstart.intervals import Interval, interval, quantile
from headstart.specs import Spec
from headstart.studies.results import totals
from headstart.studies.study import LearnerSpec, Study

Adversary = Literal["switching", "reacting"]

ADVERSARIES: tuple[Adversary, ...] = ("switching", "reacting")
HORIZONS = (1000, 2000, 4000)
TASKS = 2
NOISE = 0.1

_OFUL = Spec(kind="OFUL", settings={"noise_scale": NOISE, "failure_probability": 0.01})
_VARIANCES = {"noise_variance": NOISE**2}
_KNOWN = Spec(kind="KnownVariances", settings=_VARIANCES)
_HIERARCHICAL = Spec(kind="Hierarchical")

# Every stochastic learner here is told the true noise.
STOCHASTIC = (
    LearnerSpec(name="ITL", policy=_OFUL, prior=Spec(kind="Fixed")),
    LearnerSpec(name="AVG-OFUL", policy=_OFUL, prior=Spec(kind="Average")),
    LearnerSpec(name="RR-OFUL", policy=_OFUL, prior=Spec(kind="Pooled")),
    LearnerSpec(name="pooled", policy=_OFUL, prior=Spec(kind="SingleModel")),
    LearnerSpec(
        name="LinTS",
        policy=Spec(kind="Thompson", settings={"noise_scale": NOISE}),
        prior=Spec(kind="Fixed", settings={"regularization": NOISE**2}),
    ),
    LearnerSpec(name="Meta-TS", agent=Spec(kind="MetaTS", settings=_VARIANCES)),
    LearnerSpec(name="AdaTS, HierTS", policy=Spec(kind="Thompson"), prior=_KNOWN),
    LearnerSpec(
        name="HierBayesUCB",
        policy=Spec(kind="BayesUCB", settings={"z": math.sqrt(2.0 * math.log(20.0))}),
        prior=_KNOWN,
    ),
    LearnerSpec(name="Hierarchical", policy=Spec(kind="BayesUCB"), prior=_HIERARCHICAL),
    LearnerSpec(
        name="… growing z",
        policy=Spec(kind="BayesUCB", settings={"z": "growing"}),
        prior=_HIERARCHICAL,
    ),
    LearnerSpec(name="… Thompson", policy=Spec(kind="Thompson"), prior=_HIERARCHICAL),
)
ROBUST = tuple(
    LearnerSpec(
        name=name,
        agent=Spec(kind="MetaLinEXP3", settings={"start": start, "n_tasks": TASKS}),
    )
    for name, start in (("LinEXP3", "none"), ("Meta-LinEXP3", "pcrw"))
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
