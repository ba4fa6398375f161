"""Studies small enough for tests."""

from dataclasses import replace

import xarray as xr

from headstart.specs import Spec
from headstart.studies.shards import joined, play_agents
from headstart.studies.study import LearnerSpec, Study

SWEPT = {"regularization": "@regularization"}
OFUL = Spec(kind="OFUL", settings={"noise_scale": 0.5})

SEQUENCE = Study(
    name="tiny",
    environment=Spec(kind="Synthetic", settings={"dimension": 3, "n_arms": 2}),
    learners=(
        LearnerSpec(name="OPT"),
        LearnerSpec(
            name="Oracle",
            policy=OFUL,
            prior=Spec(kind="Fixed", settings={"bias": "@mean_parameter", **SWEPT}),
        ),
        LearnerSpec(
            name="AVG-OFUL",
            policy=Spec(kind="Thompson"),
            prior=Spec(kind="Average", settings=SWEPT),
        ),
        LearnerSpec(
            name="RR-OFUL",
            policy=Spec(
                kind="OFUL",
                settings={"bias_error": Spec(kind="NormBound", settings={"parameter_bound": 2.0})},
            ),
            prior=Spec(kind="Pooled", settings=SWEPT | {"estimation_regularization": "same"}),
        ),
        LearnerSpec(name="ITL", policy=OFUL, prior=Spec(kind="Fixed", settings=SWEPT)),
    ),
    horizon=4,
    tasks=3,
    regularization=(0.5, 2.0),
    replications=7,
    shard=2,
    seed=3,
)

TESTED = replace(
    SEQUENCE, name="tested", protocol="train-then-test", training_tasks=(0, 2), test_tasks=2
)


def play_shard(study: Study, number: int) -> xr.Dataset:
    """The results of one shard."""
    found = play_agents(study, number, list(study.agents()))
    return joined(study, lambda agent, _: found[agent], [number])
