"""Studies small enough for tests."""

from dataclasses import replace

from headstart.specs import Part
from headstart.studies.study import Contestant, Study

SWEPT = {"regularization": "@regularization"}
OFUL = Part(kind="OFUL", settings={"noise_scale": 0.5})

SEQUENCE = Study(
    name="tiny",
    environment=Part(kind="Synthetic", settings={"dimension": 3, "n_arms": 2}),
    learners=(
        Contestant(name="OPT"),
        Contestant(
            name="Oracle",
            policy=OFUL,
            prior=Part(kind="Fixed", settings={"bias": "@mean_parameter", **SWEPT}),
        ),
        Contestant(
            name="AVG-OFUL",
            policy=Part(kind="Thompson"),
            prior=Part(kind="Average", settings=SWEPT),
        ),
        Contestant(
            name="RR-OFUL",
            policy=Part(
                kind="OFUL",
                settings={"bias_error": Part(kind="NormBound", settings={"parameter_bound": 2.0})},
            ),
            prior=Part(kind="Pooled", settings=SWEPT | {"estimation_regularization": "same"}),
        ),
        Contestant(name="ITL", policy=OFUL, prior=Part(kind="Fixed", settings=SWEPT)),
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
