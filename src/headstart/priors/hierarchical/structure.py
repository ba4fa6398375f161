"""What the latest tasks say beyond an isotropic Σ₀: directions and side information, or any Σ₀."""

from typing import Literal

import numpy as np

from headstart.arrays import Booleans, Floats
from headstart.interfaces import Memory
from headstart.priors.hierarchical import covariance as full
from headstart.priors.hierarchical import factors, grid
from headstart.priors.hierarchical.covariance import FullFit
from headstart.priors.hierarchical.factors import FactorFit
from headstart.priors.hierarchical.isotropic import IsotropicFit
from headstart.priors.hierarchical.normal import Normal
from headstart.priors.hierarchical.recent import MAX_DIRECTIONS, RecentTasks
from headstart.priors.hierarchical.selection import MAX_RANK
from headstart.priors.hierarchical.sums import Sums

Covariance = Literal["factor", "isotropic", "full"]

# The latest tasks are fitted again once there are an eighth more of them, and once a quarter of
# those stored are new at the latest.
_REFIT_SHARE = 8.0
_LATEST_SHARE = 4.0


def empty(
    covariance: Covariance, dimension: int, lead: tuple[int, ...], n_side: int
) -> dict[str, Floats]:
    """No tasks stored and nothing fitted."""
    rows = dimension if covariance == "full" else min(dimension, MAX_DIRECTIONS)
    recent = RecentTasks.zeros(dimension, lead, n_side=n_side, directions=rows).to_memory()
    if covariance == "full":
        return recent | FullFit.zeros(dimension, lead).to_memory()
    return recent | FactorFit.zeros(dimension, lead, n_side).to_memory()


def merged(covariance: Covariance, memory: Memory, other: Memory) -> dict[str, Floats]:
    """The latest tasks of both, and the fit of the one that has seen more."""
    recent = RecentTasks.from_memory(memory).merged(RecentTasks.from_memory(other))
    more = memory["seen"] >= other["seen"]
    if covariance == "full":
        fit = FullFit.from_memory(memory).where(more, FullFit.from_memory(other))
        return recent.to_memory() | fit.to_memory()
    structure = FactorFit.from_memory(memory).where(more, FactorFit.from_memory(other))
    return recent.to_memory() | structure.to_memory()


def unfitted(covariance: Covariance, memory: Memory) -> dict[str, Floats]:
    """The memory with its stored tasks, and nothing fitted to them."""
    *lead, n_side = memory["sides"].shape[:-2] + memory["sides"].shape[-1:]
    fresh = empty(covariance, memory["ridges"].shape[-1], tuple(lead), n_side)
    stored = RecentTasks.from_memory(memory).to_memory()
    return {
        name: array if name in stored else fresh.get(name, array) for name, array in memory.items()
    }


def refitted(covariance: Covariance, memory: Memory) -> dict[str, Floats]:
    """The memory with its fit to the latest tasks brought up to date, where that is due."""
    recent, after = RecentTasks.from_memory(memory), dict(memory)
    seen, isotropic = recent.seen, IsotropicFit(memory)
    enough = full.MIN_TASKS if covariance == "full" else factors.MIN_TASKS
    wait = np.clip(np.floor(seen / _REFIT_SHARE), 1.0, recent.capacity / _LATEST_SHARE)
    due = (seen - memory["fitted_at"] >= wait) & (recent.present >= enough)
    due &= memory["sum_of_squares"] > 0.0
    if not due.any():
        return after
    if covariance == "full":
        fit = FullFit.from_memory(memory)
        return after | fit.refitted(recent, due, isotropic.expected()).to_memory()
    structure = FactorFit.from_memory(memory)
    begins = (structure.fitted_noise[due] == 0.0).any()
    structure = structure.refitted(
        recent,
        due,
        initial=isotropic.most_likely() if begins else None,
        limits=grid.regularizations(memory["unit"])[..., [0, -1]],
        rank=MAX_RANK if covariance == "factor" else 0,
    )
    return after | structure.to_memory()


def without_isotropic(covariance: Covariance, memory: Memory) -> bool:
    """Whether every replication has a factor model, so that none needs the isotropic prior."""
    if covariance == "full":
        return False
    used = FactorFit.from_memory(memory).structured & (RecentTasks.from_memory(memory).present > 0)
    return bool(used.all())


def next_task(
    covariance: Covariance,
    memory: Memory,
    isotropic: IsotropicFit,
    whole: Normal,
    side: Floats | None,
) -> tuple[Normal, Booleans]:
    """The next task with what the latest ones say, else `whole`; and where that differs, (…)."""
    recent = RecentTasks.from_memory(memory)
    if covariance == "full":
        fit = FullFit.from_memory(memory)
        return fit.next_task(recent, whole, isotropic), fit.noise > 0.0
    structure = FactorFit.from_memory(memory)
    sums, regularizations = Sums.from_memory(memory), grid.regularizations(memory["unit"])
    task = structure.next_task(recent, sums, regularizations, whole, side)
    return task, structure.structured
