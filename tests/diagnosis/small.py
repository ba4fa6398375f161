"""A small environment, its learners and a recording of them."""

from collections.abc import Sequence

import xarray as xr
from tests.theory.environments import Sphere

import headstart as hs
from headstart.arrays import Floats
from headstart.diagnosis import record

HORIZON = 12
ENVIRONMENT = Sphere(dimension=3, distance=0.3, gaussian=True)


def learners(mean: Floats, policy: hs.interfaces.Policy | None = None) -> list[hs.Learner]:
    """The paper's four learners at λ = 2."""
    policy = hs.policies.OFUL(failure_probability=0.1) if policy is None else policy
    priors: dict[str, hs.interfaces.PriorEstimator] = {
        "Oracle": hs.priors.Fixed(bias=mean, regularization=2.0),
        "AVG-OFUL": hs.priors.Average(regularization=2.0, estimation_regularization="same"),
        "RR-OFUL": hs.priors.Pooled(regularization=2.0, estimation_regularization=0.5),
        "ITL": hs.priors.Fixed.zero(regularization=2.0),
    }
    return [hs.Learner(name, policy, prior) for name, prior in priors.items()]


def small_recording(
    n_tasks: int = 6,
    replications: int = 30,
    regularizations: Sequence[float] = (0.5, 5.0),
    policy: hs.interfaces.Policy | None = None,
) -> xr.Dataset:
    """The four learners on the sphere."""
    return record(
        ENVIRONMENT,
        learners(ENVIRONMENT.mean_parameter, policy),
        n_tasks=n_tasks,
        horizon=HORIZON,
        noise_scale=1.0,
        replications=replications,
        regularizations=regularizations,
    )
