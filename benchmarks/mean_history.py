"""How far the learned prior's mean moves between versions, with thousands of tasks counted.

Tasks w = 1 + Lf + 0.3 N(0, I), with one or two directions that are near what the latest 64 tasks
can show, so that the number of directions found changes again and again. After 2,000 tasks a
version of the prior follows every 16 tasks: eight new ones, and eight earlier ones that came back,
were played for as many rounds again, and are counted anew in place of what they had counted. With
Δ the change of the mean between two versions and S the covariance of the mean over all tasks, a
version moves it by √(ΔᵀS⁻¹Δ/d) standard errors, and is wrong by √(gᵀS⁻¹g/d) where g is the distance
to the true mean. Run with `python -m benchmarks.mean_history`; prints a table in Markdown.
"""

import argparse
from dataclasses import dataclass, field

import numpy as np

from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.priors import Hierarchical
from headstart.priors.hierarchical import grid

_DIMENSION, _ROUNDS, _NOISE, _AROUND = 8, 12, 0.5, 0.3
_TASKS, _VERSIONS, _EACH = 2_000, 120, 8
# Standard deviations along the directions, and what the mean moves by per task.
LAWS: dict[str, tuple[tuple[float, ...], float]] = {
    "none": ((), 0.0),
    "one": ((0.45,), 0.0),
    "two": ((0.5, 0.4), 0.0),
    "two, large": ((2.0, 1.5), 0.0),
    "two, large, and the mean drifts": ((2.0, 1.5), 0.001),
}


@dataclass
class Population:
    """Tasks that are counted in a memory, and may come back."""

    deviations: tuple[float, ...]
    drift: float  # of the mean, along a direction of its own, per task
    rng: np.random.Generator
    estimator: Hierarchical = field(default_factory=Hierarchical)
    parameters: list[Floats] = field(default_factory=list)
    counted: list[TaskStatistics] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.memory: Memory = self.estimator.empty(_DIMENSION)

    @property
    def mean(self) -> Floats:
        """The mean of the next task."""
        mean = np.ones(_DIMENSION)
        mean[-1] += self.drift * len(self.parameters)
        return mean

    def come(self) -> None:
        """A new task is played and counted."""
        w = self.mean + _AROUND * self.rng.standard_normal(_DIMENSION)
        w[: len(self.deviations)] += self.deviations * self.rng.standard_normal(
            len(self.deviations)
        )
        self.parameters.append(w)
        self.counted.append(self._played(w))
        self.memory = self.estimator.absorb(self.memory, self.counted[-1])

    def come_back(self) -> None:
        """A task is played on, and replaces what it had counted."""
        number = int(self.rng.integers(len(self.counted)))
        more, before = self._played(self.parameters[number]), self.counted[number]
        after = TaskStatistics(
            gram=before.gram + more.gram,
            moment=before.moment + more.moment,
            count=before.count + more.count,
            sum_of_squares=before.sum_of_squares + more.sum_of_squares,
        )
        self.memory = self.estimator.absorb(self.memory, before, -1.0)
        self.memory = self.estimator.absorb(self.memory, after)
        self.counted[number] = after

    def _played(self, w: Floats) -> TaskStatistics:
        x = self.rng.standard_normal((_ROUNDS, _DIMENSION)) / np.sqrt(_DIMENSION)
        return TaskStatistics.from_data(x, x @ w + _NOISE * self.rng.standard_normal(_ROUNDS))


def history(population: Population) -> tuple[Floats, Floats, Floats]:
    """Of every version: its mean less the true one (n, d), S (n, d, d) and the rank (n,)."""
    for _ in range(_TASKS):
        population.come()
    gaps, covariances, ranks = [], [], []
    for _ in range(_VERSIONS):
        for _ in range(_EACH):
            population.come()
            population.come_back()
        memory = population.memory
        gaps.append(population.estimator.prior(memory).bias - population.mean)
        covariances.append(_covariance(population))
        ranks.append(float(population.estimator.directions(memory).rank))
    return np.array(gaps), np.array(covariances), np.array(ranks)


def _covariance(population: Population) -> Floats:
    """S: τ²M̃⁻¹ at the λ nearest to the most likely, and LLᵀ over the number of tasks."""
    memory, deviations = population.memory, np.zeros(_DIMENSION)
    deviations[: len(population.deviations)] = population.deviations
    variances = population.estimator.variances(memory)
    ratios = grid.regularizations(memory["unit"]) * float(variances.task / variances.noise)
    information = memory["information"][np.abs(np.log(ratios)).argmin()]
    own = float(variances.task) * np.linalg.inv(information)
    return np.asarray(own + np.diag(deviations**2) / len(population.counted))


def _relative(gaps: Floats, covariances: Floats) -> Floats:
    solved = np.linalg.solve(covariances, gaps[..., None])[..., 0]
    return np.asarray(np.sqrt((gaps * solved).mean(-1)))


def line(name: str, deviations: tuple[float, ...], drift: float, seeds: int) -> str:
    """A line of the table, over so many seeds."""
    moves, errors, ranks, flips = [], [], [], 0
    for seed in range(seeds):
        population = Population(deviations, drift, np.random.default_rng(seed))
        gaps, covariances, rank = history(population)
        moves.append(_relative(np.diff(gaps, axis=0), covariances[1:]))
        errors.append(_relative(gaps, covariances))
        ranks.append(rank.mean())
        flips += int((np.diff(rank) != 0.0).sum())
    moved, wrong = np.concatenate(moves), np.concatenate(errors)
    return (
        f"| {name} | {np.mean(ranks):.2f} | {flips} of {len(moved)} | {np.median(moved):.2f} | "
        f"{moved.max():.2f} | {np.sqrt((wrong**2).mean()):.2f} | {wrong.max():.2f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    print("| directions | mean rank | changes of rank | median move | largest | error | worst |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name, (deviations, drift) in LAWS.items():
        print(line(name, deviations, drift, given.seeds), flush=True)


if __name__ == "__main__":
    main()
