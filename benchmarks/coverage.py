"""Coverage: how often 95 % intervals of an arm's mean hold it, at the start of a task.

Run alone with `python -m benchmarks.coverage`; it is part of the league.
"""

import argparse
from collections.abc import Iterator, Sequence

import numpy as np
from benchmarks import task_distributions as tasks

from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.environments import Gaussian, Synthetic
from headstart.interfaces import PreparableEnvironment
from headstart.policies import BayesUCB
from headstart.priors import Hierarchical, KnownVariances
from headstart.simulation.learner import Learner
from headstart.simulation.rounds import Rounds, draw_uniforms

SIZES = (1, 2, 5, 10, 20, 30)
_NORMAL_QUANTILE = 1.959964


def laws() -> Iterator[tuple[str, PreparableEnvironment, int, float]]:
    """Name, environment, horizon, and the variance of a task's coordinate."""
    for variance in (1.0, 10.0, 40.0):
        environment = Synthetic(reward="linear", tasks=Gaussian(variance=variance))
        yield f"variance {variance:g}", environment, 50, variance / 20
    short = Synthetic(reward="linear", tasks=Gaussian(variance=10.0))
    yield "variance 10, T = 10 < d", short, 10, 0.5
    yield "rank 2, variance 20", tasks.DeviatingTasks(tasks.low_rank(20.0, 2)), 50, 1.0
    yield "two kinds, variance 20", tasks.DeviatingTasks(tasks.bimodal(20.0)), 50, 1.0


def covered(prior: Prior, arms: Floats, parameter: Floats) -> float:
    """The share of xᵀw within 1.96 standard deviations, for arms (R, T, K, d) and w (R, d)."""
    covariance = prior.noise_scale[:, None, None] ** 2 * np.linalg.inv(_full(prior))
    gap = (arms @ (parameter - prior.bias)[:, None, :, None])[..., 0]
    variance = ((arms @ covariance[:, None]) * arms).sum(-1)
    return float((np.abs(gap) <= _NORMAL_QUANTILE * np.sqrt(variance)).mean())


def _full(prior: Prior) -> Floats:
    """Λ as matrices, (R, d, d)."""
    if prior.isotropic:
        return np.asarray(prior.regularization[:, None, None] * np.eye(prior.dimension))
    return prior.regularization


def coverage(
    environment: PreparableEnvironment, learner: Learner, horizon: int, replications: int, seed: int
) -> list[float]:
    """The coverage after each number of tasks, on four more tasks."""
    rng = np.random.default_rng(seed)
    prepared = environment.prepare(replications, rng)
    training = [prepared.sample(horizon, replications, rng) for _ in range(max(SIZES))]
    tests = [prepared.sample(10, replications, rng) for _ in range(4)]
    memory, found = learner.begin(prepared.dimension, replications), []
    for number, task in enumerate(training, start=1):
        episode = learner.play(memory, Rounds(task, draw_uniforms(task, 0, rng)))
        memory = learner.learn(memory, episode)
        if number in SIZES:
            prior = learner.prior.prior(memory)
            values = [covered(prior, t.arms, np.asarray(t.parameter)) for t in tests]
            found.append(float(np.mean(values)))
    return found


def coverage_page(replications: int, seed: int) -> Sequence[str]:
    """The table in Markdown."""
    lines = [
        "How often nominal 95 % intervals of an arm's mean xᵀw hold it, at the start of a task "
        f"after N tasks that were played by each prior; {replications} replications.",
        "",
        "| law | prior | " + " | ".join(f"N = {size}" for size in SIZES) + " |",
        "|---" * (len(SIZES) + 2) + "|",
    ]
    for name, environment, horizon, variance in laws():
        learners = [
            Learner("factor (default)", BayesUCB(), Hierarchical()),
            Learner("isotropic", BayesUCB(), Hierarchical(covariance="isotropic")),
            Learner("told the variances", BayesUCB(), KnownVariances(task_variance=variance)),
        ]
        for learner in learners:
            found = coverage(environment, learner, horizon, replications, seed)
            cells = " | ".join(f"{value:.1%}" for value in found)
            lines.append(f"| {name} | {learner.name} | {cells} |")
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print("\n".join(coverage_page(given.replications, given.seed)))


if __name__ == "__main__":
    main()
