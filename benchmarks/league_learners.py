"""The learners of the league: tuned methods over their grids, informed baselines, and ours."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from headstart import learners
from headstart.arrays import Floats
from headstart.core.task import Task
from headstart.interfaces import Environment, Policy
from headstart.policies import OFUL, BayesUCB, Thompson
from headstart.priors import (
    KnownVariances,
)
from headstart.simulation import Agent, Learner

ITL, AVG, RR, POOLED = "ITL", "AVG", "RR", "pooled"
TUNED = (ITL, AVG, RR, POOLED)
PAPER, META, ADA, INFORMED, ORACLE = "λ=1/(T·Var)", "Meta-TS", "AdaTS", "Bayes UCB", "Bayes oracle"
OURS, FULL, SAMPLED, OFFSET = "Hierarchical", "… full Σ₀", "… Thompson", "… intercept"
GROWING, ISOTROPIC, SIDE, HALF_LIFE = "… growing z", "… isotropic", "… side", "… half-life 5"
TOLD = "told Σ₀"

# Every other method is tuned in hindsight over these: its λ in units of the mean ‖x‖², the λ of its
# bias estimate likewise, and the scale of its radius, R√(2 log T + log det(I + Λ⁻¹V)).
RADII = (0.1, 0.3, 1.0)
ITL_LAMBDAS = (0.01, 0.1, 1.0, 10.0, 100.0)
META_LAMBDAS = (0.1, 1.0, 10.0, 100.0, 1000.0)
ESTIMATION_LAMBDAS = (0.01, 1.0)
POOLED_LAMBDAS = (0.1, 1.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class Truth:
    """Variances of the noise, of a task's coordinate and of the mean's coordinate; the mean."""

    noise: float = 1.0
    task: float
    mean_variance: float = 1.0
    mean: Floats = field(default_factory=lambda: np.ones(20))


def tuned(*, unit: float, noise_scale: float, horizon: int) -> Iterator[Learner]:
    """Every tuned method at every point of its grid; the name begins with the method's."""
    for scale in RADII:
        policy = OFUL(noise_scale=noise_scale, failure_probability=1 / horizon, scale=scale)
        for ridge in ITL_LAMBDAS:
            name = f"{ITL}|λ={ridge:g}, β×{scale:g}"
            yield learners.itl(name=name, policy=policy, regularization=ridge * unit)
        for ridge in POOLED_LAMBDAS:
            name = f"{POOLED}|λ={ridge:g}, β×{scale:g}"
            yield learners.pooled_oful(name=name, policy=policy, regularization=ridge * unit)
        for ridge in META_LAMBDAS:
            for own in ESTIMATION_LAMBDAS:
                name = f"λ={ridge:g}, own λ={own:g}, β×{scale:g}"
                for title, method in ((AVG, learners.avg_oful), (RR, learners.rr_oful)):
                    yield method(
                        name=f"{title}|{name}",
                        policy=policy,
                        regularization=ridge * unit,
                        estimation_regularization=own * unit,
                    )


def untuned(*, unit: float, noise_scale: float, horizon: int) -> Iterator[Learner]:
    """Ours, with nothing to tune, and the paper's rule for λ."""
    yield learners.ours(name=OURS)
    yield learners.ours(name=SAMPLED, policy=Thompson())
    yield learners.ours(name=GROWING, policy=BayesUCB(z="growing"))
    policy: Policy = OFUL(noise_scale=noise_scale, failure_probability=1 / horizon)
    yield learners.corollary2_oful(name=PAPER, policy=policy, estimation_regularization=unit)


def told(truth: Truth) -> Iterator[Agent]:
    """Baselines with the true variances, and the oracle, with the true mean task as well."""
    known = {
        "noise_variance": truth.noise,
        "task_variance": truth.task,
        "mean_variance": truth.mean_variance,
    }
    yield Learner(INFORMED, BayesUCB(), KnownVariances(**known))
    yield learners.ada_ts(name=ADA, **known)
    yield learners.meta_ts(name=META, **known)
    yield learners.bayes_oracle(
        name=ORACLE,
        mean_parameter=truth.mean,
        noise_variance=truth.noise,
        task_variance=truth.task,
    )


@dataclass(frozen=True)
class WithConstant:
    """An environment whose arms have one more feature, the constant 1."""

    plain: Environment

    @property
    def dimension(self) -> int:
        """One more than without."""
        return self.plain.dimension + 1

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """The same tasks, with the constant."""
        task = self.plain.sample(horizon, replications, rng)
        ones = np.ones((*task.arms.shape[:-1], 1))
        arms = np.concatenate([task.arms, ones], axis=-1)
        return Task(arms=arms, rewards=task.rewards, means=task.means)


@dataclass(frozen=True)
class PreparableWithConstant(WithConstant):
    """The same for an environment that is prepared once per replication."""

    def prepare(self, replications: int, rng: np.random.Generator) -> WithConstant:
        """Prepare the environment without the constant."""
        assert hasattr(self.plain, "prepare")
        return WithConstant(self.plain.prepare(replications, rng))
