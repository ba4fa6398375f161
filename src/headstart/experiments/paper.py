"""The paper's experiments as studies: every choice that Section 6 leaves open is a parameter.

docs/paper-experiments.md argues the defaults.
"""

from typing import Literal

from headstart.experiments.learners import AVG, ITL, OPT, ORACLE, RR
from headstart.experiments.parts import Part, Setting
from headstart.experiments.study import Contestant, Study

# "λ was selected over a logarithmic scale": half decades around the two values of the figures.
GRID = tuple(10.0 ** (half / 2) for half in range(-4, 9))
FIGURES = (1.0, 100.0)

# Completed tasks at which the memory is tested, next to the paper's N = 10.
SIZES = (0, 1, 2, 5, 10, 20, 50, 100)

Reward = Literal["winner", "linear"]

# The λ of the estimators of Eq. 7 and 8: the policy's, or one of their own.
Estimation = float | Literal["same"]


def contestants(
    *,
    reward: Reward,
    noise_scale: float,
    horizon: int,
    estimation_regularization: Estimation,
    parameter_bound: Setting,
) -> tuple[Contestant, ...]:
    """OPT, Oracle, AVG-OFUL, RR-OFUL and ITL with OFUL at δ = 1/T.

    R is the noise's scale for a linear reward and ½ for 0/1. `parameter_bound` is S in the radius
    that splits ‖h − w*‖ into ‖h‖ + S; None leaves the term out.
    """
    policy: dict[str, Setting] = {
        "noise_scale": 0.5 if reward == "winner" else noise_scale,
        "failure_probability": 1 / horizon,
    }
    if parameter_bound is not None:
        policy["bias_error"] = Part(kind="Split", settings={"parameter_bound": parameter_bound})
    oful = Part(kind="OFUL", settings=policy)
    swept = {"regularization": "@regularization"}
    estimator = swept | {"estimation_regularization": estimation_regularization}
    return (
        Contestant(name=OPT),
        Contestant(
            name=ORACLE,
            policy=oful,
            prior=Part(kind="Fixed", settings={"bias": "@mean_parameter", **swept}),
        ),
        Contestant(name=AVG, policy=oful, prior=Part(kind="Average", settings=estimator)),
        Contestant(name=RR, policy=oful, prior=Part(kind="Pooled", settings=estimator)),
        Contestant(name=ITL, policy=oful, prior=Part(kind="Fixed", settings=swept)),
    )


def synthetic(
    *,
    name: str = "synthetic",
    reward: Reward = "winner",
    variance_of: Literal["task", "coordinate"] = "task",
    estimation_regularization: Estimation = "same",
    parameter_bound: float | None = None,
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
        environment=Part(
            kind="Synthetic",
            settings={"reward": reward, "noise_scale": noise_scale, "variance_of": variance_of},
        ),
        learners=contestants(
            reward=reward,
            noise_scale=noise_scale,
            horizon=horizon,
            estimation_regularization=estimation_regularization,
            parameter_bound=parameter_bound,
        ),
        horizon=horizon,
        training_tasks=training_tasks,
        test_tasks=10,
        regularization=regularization,
        replications=replications,
        seed=seed,
    )
