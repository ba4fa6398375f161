"""The learners of the league: rivals over their grids, ours, and those that are told the truth.

A learner's name begins with its column; behind "|" is the setting, where there are several.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from benchmarks.league.rows import Row
from benchmarks.league.told import told_everything

from headstart import learners
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.core.task import Task
from headstart.interfaces import Environment, LivePriorEstimator, Memory
from headstart.live import defaults
from headstart.policies import OFUL, BayesUCB, Thompson
from headstart.priors import Hierarchical, KnownVariances
from headstart.simulation import Agent, Learner

ITL, AVG, RR, POOLED = "ITL", "AVG", "RR", "pooled"
TUNED = (ITL, AVG, RR, POOLED)
META, ADA, INFORMED, TOLD = "Meta-TS", "AdaTS", "told variances", "told all"
OURS, ISOTROPIC, SIDE = "headstart", "… isotropic", "… about"
HALF_LIFE, OFFSET = "… half-life 5", "… constant"
LIVE, SAMPLED, BEST_Z = "… live rule", "… Thompson", "… best z"

COLUMNS = (
    *TUNED, META, ADA, INFORMED, OURS, ISOTROPIC, SIDE, HALF_LIFE, OFFSET,
    LIVE, SAMPLED, BEST_Z, TOLD,
)  # fmt: skip

# Every rival is played with these: its λ in units of the mean ‖x‖², the λ of its bias estimate
# likewise, and the scale of its radius, R√(2 log T + log det(I + Λ⁻¹V)).
RADII = (0.1, 0.3, 1.0)
ITL_LAMBDAS = (0.01, 0.1, 1.0, 10.0, 100.0)
META_LAMBDAS = (0.1, 1.0, 10.0, 100.0, 1000.0)
ESTIMATION_LAMBDAS = (0.01, 1.0)
POOLED_LAMBDAS = (0.1, 1.0, 10.0)
# And ours, where arms are fixed, with these.
ZS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)


def column(name: str) -> str:
    """The column of a learner."""
    return name.partition("|")[0]


def of_row(row: Row, prepared: Environment) -> list[Agent]:
    """All that play a row; `prepared` is its environment in all replications."""
    return [*tuned(row), *ours(row), *informed(row), *told_everything(prepared, TOLD)]


def tuned(row: Row) -> Iterator[Learner]:
    """Every rival at every point of its grid."""
    unit = row.unit
    for scale in RADII:
        policy = OFUL(noise_scale=row.noise_scale, failure_probability=1 / row.horizon, scale=scale)
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


def ours(row: Row) -> Iterator[Learner]:
    """Ours, with nothing to tune, and with other settings where they may matter."""
    yield learners.headstart()
    yield learners.headstart(name=LIVE, policy=defaults.POLICY)
    if row.horizon <= 50:  # a draw takes O(d³) in every round
        yield learners.headstart(name=SAMPLED, policy=Thompson())
    yield Learner(ISOTROPIC, BayesUCB(), Hierarchical(covariance="isotropic"))
    if row.n_about:
        yield Learner(SIDE, BayesUCB(), Hierarchical(n_about=row.n_about))
    if row.half_life is not None:
        yield Learner(HALF_LIFE, BayesUCB(), WithHalfLife(Hierarchical(), row.half_life))
    if row.fixed_arms:
        for z in ZS:
            yield Learner(f"{BEST_Z}|z={z:g}", BayesUCB(z=z), Hierarchical())


def informed(row: Row) -> Iterator[Agent]:
    """Those that are told the variances, and learn the mean task."""
    if row.task_variance is None:
        return
    known = {"noise_variance": 1.0, "task_variance": row.task_variance, "mean_variance": 1.0}
    yield Learner(INFORMED, BayesUCB(), KnownVariances(**known))
    yield learners.ada_ts(name=ADA, **known)
    yield learners.meta_ts(name=META, **known)


@dataclass(frozen=True)
class WithHalfLife:
    """A prior estimator for which a task counts half as much after so many more of them."""

    plain: LivePriorEstimator
    half_life: float

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """Its memory."""
        return self.plain.empty(dimension, lead)

    def absorb(self, memory: Memory, task: TaskStatistics) -> Memory:
        """Older tasks count less."""
        return self.plain.absorb(self.plain.scale(memory, 0.5 ** (1.0 / self.half_life)), task)

    def prior(self, memory: Memory) -> Prior:
        """Its prior."""
        return self.plain.prior(memory)

    def running_bias(self, memory: Memory) -> None:
        """None: the bias is constant within a task."""
        return


@dataclass(frozen=True)
class WithConstant:
    """An environment whose arms have one more feature, a constant."""

    plain: Environment
    constant: float

    @property
    def dimension(self) -> int:
        """One more than without."""
        return self.plain.dimension + 1

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """The same tasks, with the constant."""
        task = self.plain.sample(horizon, replications, rng)
        constants = np.full((*task.arms.shape[:-1], 1), self.constant)
        arms = np.concatenate([task.arms, constants], axis=-1)
        return Task(arms=arms, rewards=task.rewards, means=task.means)


@dataclass(frozen=True)
class PreparableWithConstant(WithConstant):
    """The same for an environment that is prepared once per replication."""

    def prepare(self, replications: int, rng: np.random.Generator) -> WithConstant:
        """Prepare the environment without the constant."""
        assert hasattr(self.plain, "prepare")
        return WithConstant(self.plain.prepare(replications, rng), self.constant)
