"""The paper's experiments as studies: every choice that Section 6 leaves open is a parameter.

docs/explanation/paper-experiments.md gives reasons for the defaults.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from headstart import learners
from headstart.learners.oful import AVG, OPT, ORACLE, RR, paper_learners
from headstart.specs import Setting, Spec
from headstart.studies.study import LearnerSpec, Study

# "λ was selected over a logarithmic scale": half decades around the two values of the figures.
GRID = tuple(10.0 ** (half / 2) for half in range(-4, 9))
FIGURES = (1.0, 100.0)

# Not the paper's.
OURS = "headstart"

Reward = Literal["winner", "linear"]

# The λ of the estimators of Eq. 7 and 8: the policy's, or another.
Estimation = float | Literal["same"]


def estimator_name(learner: str, estimation: Estimation) -> str:
    """The name in a study of AVG-OFUL or RR-OFUL whose estimator has this λ."""
    return learner if estimation == "same" else f"{learner}, estimator λ = {estimation:g}"


def learner_specs(
    *,
    reward: Reward,
    noise_scale: float,
    horizon: int,
    parameter_bound: Setting,
    estimations: Sequence[Estimation],
    ours: bool,
) -> tuple[LearnerSpec, ...]:
    """OPT, Oracle, AVG-OFUL and RR-OFUL with each estimator λ, and ITL, with OFUL at δ = 1/T.

    With `ours`, headstart too. R is the noise's scale for a linear reward and ½ for 0/1.
    `parameter_bound` is S in the bound ‖h − w*‖ ≤ ‖h‖ + S of the radius; None leaves the term out.
    """
    policy: dict[str, Setting] = {
        "noise_scale": 0.5 if reward == "winner" else noise_scale,
        "failure_probability": 1 / horizon,
    }
    if parameter_bound is not None:
        policy["bias_error"] = Spec(kind="NormBound", settings={"parameter_bound": parameter_bound})
    oful = Spec(kind="OFUL", settings=policy)
    swept: dict[str, Setting] = {"regularization": "@regularization"}
    specs = []
    for learner in paper_learners(mean_parameter=0.0):
        if learner.name in {AVG, RR}:
            for value in estimations:
                one = LearnerSpec.of(learner, policy=oful, estimation_regularization=value, **swept)
                specs.append(replace(one, name=estimator_name(learner.name, value)))
        elif learner.name == OPT:
            specs.append(LearnerSpec.of(learner))
        else:
            bias: dict[str, Setting] = {"bias": "@mean_parameter"} if learner.name == ORACLE else {}
            specs.append(LearnerSpec.of(learner, policy=oful, **bias, **swept))
    return (*specs, LearnerSpec.of(learners.headstart(name=OURS))) if ours else tuple(specs)


def synthetic(
    *,
    name: str = "synthetic",
    reward: Reward = "winner",
    variance: float = 1.0,
    estimations: Sequence[Estimation] = ("same",),
    parameter_bound: float | None = None,
    ours: bool = False,
    regularization: tuple[float, ...] = GRID,
    training_tasks: tuple[int, ...] = (10,),
    replications: int = 100,
    seed: int = 0,
) -> Study:
    """Figures 1 and 2: 10 training tasks, 10 test tasks, d = 20, K = 5, T = 50."""
    horizon, noise_scale = 50, 1.0
    return Study(
        name=name,
        protocol="train-then-test",
        environment=Spec(
            kind="Synthetic",
            settings={
                "reward": reward,
                "noise_scale": noise_scale,
                "tasks": Spec(kind="Gaussian", settings={"variance": variance}),
            },
        ),
        learners=learner_specs(
            reward=reward,
            noise_scale=noise_scale,
            horizon=horizon,
            estimations=estimations,
            parameter_bound=parameter_bound,
            ours=ours,
        ),
        horizon=horizon,
        training_tasks=training_tasks,
        test_tasks=10,
        regularization=regularization,
        replications=replications,
        seed=seed,
    )


def lastfm(
    *,
    name: str = "lastfm",
    reward: Reward = "winner",
    transform: Literal["raw", "log"] = "raw",
    features: Literal["users-scaled", "items-scaled"] = "users-scaled",
    unit_arms: bool = False,
    estimations: Sequence[Estimation] = ("same",),
    parameter_bound: Setting = None,
    ours: bool = False,
    regularization: tuple[float, ...] = GRID,
    replications: int = 100,
    seed: int = 0,
) -> Study:
    """Figure 3: a user and its 19 nearest as tasks in a row, d = 10, K = 5, T = 5."""
    return _ratings(
        "Ratings.lastfm",
        {"transform": transform, "features": features, "unit_arms": unit_arms},
        name=name,
        reward=reward,
        noise_scale=1.0,
        estimations=estimations,
        parameter_bound=parameter_bound,
        ours=ours,
        regularization=regularization,
        replications=replications,
        shard=50,
        seed=seed,
    )


def movielens(
    *,
    name: str = "movielens",
    reward: Reward = "winner",
    features: Literal["users-scaled", "items-scaled"] = "users-scaled",
    unit_arms: bool = False,
    unrated_disliked: bool = False,
    least_silhouette: float = 0.15,
    n_clusterings: int = 10,
    estimations: Sequence[Estimation] = ("same",),
    parameter_bound: Setting = None,
    ours: bool = False,
    regularization: tuple[float, ...] = GRID,
    replications: int = 120,
    seed: int = 0,
) -> Study:
    """Figure 4: 20 users of a cluster as tasks in a row, d = 10, K = 5, T = 5, variance 0.1."""
    settings: dict[str, Setting] = {
        "features": features,
        "unit_arms": unit_arms,
        "unrated_disliked": unrated_disliked,
        "grouping": Spec(
            kind="Clusters",
            settings={"least_silhouette": least_silhouette, "n_clusterings": n_clusterings},
        ),
    }
    return _ratings(
        "Ratings.movielens",
        settings,
        name=name,
        reward=reward,
        noise_scale=math.sqrt(0.1),
        estimations=estimations,
        parameter_bound=parameter_bound,
        ours=ours,
        regularization=regularization,
        replications=replications,
        # A shard takes the clusters in turn from the first: 60 are four full turns of the 15 that
        # pass, and three of the 20 of one clustering.
        shard=60,
        seed=seed,
    )


def _ratings(
    kind: str,
    settings: dict[str, Setting],
    *,
    name: str,
    reward: Reward,
    noise_scale: float,
    estimations: Sequence[Estimation],
    parameter_bound: Setting,
    ours: bool,
    regularization: tuple[float, ...],
    replications: int,
    shard: int,
    seed: int,
) -> Study:
    horizon = 5
    return Study(
        name=name,
        protocol="sequence",
        environment=Spec(
            kind=kind, settings={"reward": reward, "noise_scale": noise_scale, **settings}
        ),
        learners=learner_specs(
            reward=reward,
            noise_scale=noise_scale,
            horizon=horizon,
            estimations=estimations,
            parameter_bound=parameter_bound,
            ours=ours,
        ),
        horizon=horizon,
        tasks=20,
        regularization=regularization,
        replications=replications,
        shard=shard,
        seed=seed,
    )
