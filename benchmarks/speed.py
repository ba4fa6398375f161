"""How fast headstart simulates, against its peers and against the compiled limit, in one run.

Rates are rounds (choose and update) per CPU-second on one core. Machines differ and are shared, so
only ratios within a run mean anything: the limit is measured again right before each of ours.
"""

import argparse
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from benchmarks import peers
from threadpoolctl import threadpool_limits

import headstart as hs
from headstart.interfaces import Memory, PriorEstimator
from headstart.plotting.style import figure, styles

HERE = Path(__file__).parent
SIZES = ((20, 5), (50, 100), (200, 20))
REPLICATIONS, HORIZON = 256, 50
LIMIT = "compiled whole loop (the limit)"
LEARNERS: dict[str, PriorEstimator] = {
    "ITL": hs.priors.Fixed.zero(),
    "AVG-OFUL": hs.priors.Average(),
    "RR-OFUL": hs.priors.Pooled(),
}


@dataclass(frozen=True)
class Replay:
    """An environment whose `sample` returns one task every time: sampling is not measured."""

    task: hs.Task

    @property
    def dimension(self) -> int:
        """The number of features."""
        return self.task.dimension

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> hs.Task:
        """The task."""
        return self.task


@dataclass(frozen=True)
class Rate:
    """Rounds per CPU-second, and its share of the limit measured right beside it."""

    rounds: float
    share: float


def measure_ours(dimension: int, n_arms: int, *, repeats: int = 5) -> dict[str, Rate]:
    """Simulate each learner and run the limit in turn; medians of the rates and of the shares."""
    environment = hs.environments.Synthetic(dimension=dimension, n_arms=n_arms, reward="linear")
    task = environment.sample(HORIZON, REPLICATIONS, np.random.default_rng(0))
    rounds = max(2_000, 2**25 // (8 * dimension * n_arms))
    problem = peers.make_problem(rounds, dimension, n_arms)
    # Enough tasks for the cost of starting and ending a simulation to vanish.
    n_tasks = max(2, min(20, 2**31 // task.arms.nbytes // dimension))

    def limit() -> float:
        start = process_time()
        peers.compiled_loop(*problem, 1.0, 1.0)
        return rounds / (process_time() - start)

    def ours(learner: hs.Learner) -> float:
        start = process_time()
        hs.simulate(
            Replay(task),
            [learner],
            n_tasks=n_tasks,
            horizon=HORIZON,
            replications=REPLICATIONS,
            workers=1,
        )
        return n_tasks * HORIZON * REPLICATIONS / (process_time() - start)

    found = {}
    for name, prior in LEARNERS.items():
        learner = hs.Learner(name, hs.policies.OFUL(), prior)
        limit(), ours(learner)
        pairs = [(ours(learner), limit()) for _ in range(repeats)]
        found[name] = Rate(median(a for a, _ in pairs), median(a / b for a, b in pairs))
    return found


def speed_table() -> Iterator[str]:
    """Rates of all systems at the three sizes, and ours as shares of the limit."""
    ours = {size: measure_ours(*size) for size in SIZES}
    rates = {
        candidate.name: {
            size: peers.rounds_per_cpu_second(
                candidate.play, partial(peers.make_problem, dimension=size[0], n_arms=size[1])
            )
            for size in SIZES
        }
        for candidate in peers.available()
    }
    shared = "contextualbandits.linreg"
    yield "| system |" + "".join(f" d={d}, K={k} |" for d, k in SIZES) + " one round does |"
    yield "|---|" + "---:|" * len(SIZES) + "---|"
    for name in LEARNERS:
        cells = "".join(f" **{ours[size][name].rounds:,.0f}** |" for size in SIZES)
        yield f"| **headstart {name}** |{cells} `simulate`, {REPLICATIONS} replications |"
    for candidate in peers.available():
        cells = "".join(f" {rates[candidate.name][size]:,.0f} |" for size in SIZES)
        yield f"| {candidate.name} |{cells} {candidate.note} |"
    for name, reason in peers.missing().items():
        yield f"| {name} |" + " – |" * len(SIZES) + f" not measured: {reason} |"
    yield ""
    yield "| ratio |" + "".join(f" d={d}, K={k} |" for d, k in SIZES)
    yield "|---|" + "---:|" * len(SIZES)
    for name in LEARNERS:
        cells = "".join(f" {ours[size][name].share:.2f} |" for size in SIZES)
        yield f"| {name} / the limit |{cells}"
    if shared in rates:
        cells = "".join(
            f" {ours[size]['ITL'].rounds / rates[shared][size]:.1f} |" for size in SIZES
        )
        yield f"| ITL / {shared}, the fastest shared-model peer |{cells}"


def growth_table(path: Path) -> Iterator[str]:
    """Rates against d and against K with the exponents of the cost, and the figure."""
    dimensions, arm_counts = (5, 10, 20, 50, 100, 200), (2, 5, 20, 50, 100, 200)
    by_dimension = {d: measure_ours(d, 5, repeats=3) for d in dimensions}
    by_arms = {k: measure_ours(20, k, repeats=3) for k in arm_counts}
    yield "| learner | cost against d (50 to 200, K = 5) | cost against K (20 to 200, d = 20) |"
    yield "|---|---|---|"
    for name in LEARNERS:
        along_d = _exponent({d: by_dimension[d][name].rounds for d in dimensions if d >= 50})
        along_k = _exponent({k: by_arms[k][name].rounds for k in arm_counts if k >= 20})
        yield f"| {name} | d^{along_d:.2f} | K^{along_k:.2f} |"
    itl = [by_dimension[d]["ITL"] for d in dimensions]
    ours = {name: [by_dimension[d][name].rounds for d in dimensions] for name in LEARNERS}
    limits = [rate.rounds / rate.share for rate in itl]
    plot_growth(dimensions, ours, limits, _peer_rates(dimensions), path)


def _peer_rates(dimensions: Sequence[int]) -> dict[str, list[float]]:
    """Rates of the peers of the figure that are installed, against d."""
    return {
        name: [
            peers.rounds_per_cpu_second(
                peers.PEERS[name].play,
                partial(peers.make_problem, dimension=d, n_arms=5),
                cpu_seconds=0.3,
            )
            for d in dimensions
        ]
        for name in ("NumPy loop", "contextualbandits.linreg")
        if name not in peers.missing()
    }


def plot_growth(
    dimensions: Sequence[int],
    ours: Mapping[str, Sequence[float]],
    limits: Sequence[float],
    others: Mapping[str, Sequence[float]],
    path: Path,
) -> None:
    """Rates against d: learners in their colours, the limit and peers in black and grey."""
    with figure(path, width=4.2, height=3.4, legend=True) as (axes,):
        for name, own in styles(list(ours), len(dimensions)).items():
            axes.plot(dimensions, ours[name], label=f"headstart {name}", **own)
        axes.plot(dimensions, limits, ":", color="black", label="compiled limit")
        dashes = ((0, (5, 1)), (0, (3, 1, 1, 1)))
        for (name, rates), dash in zip(others.items(), dashes, strict=False):
            axes.plot(dimensions, rates, color="#7F7F7F", linewidth=1, linestyle=dash, label=name)
        axes.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="rounds per CPU-second")
        axes.set_title("K = 5 arms, one core")


def _exponent(rates: dict[int, float]) -> float:
    slope, _ = np.polyfit(np.log(list(rates)), -np.log(list(rates.values())), 1)
    return float(slope)


def memory_table() -> Iterator[str]:
    """Peak memory of a process that simulates, by replications and by tasks."""
    yield "| 1,000 replications of 50 rounds, d = 20, K = 5 | peak memory of the process |"
    yield "|---|---:|"
    for n_tasks in (1, 20, 40):
        command = [sys.executable, "-m", "benchmarks.speed", "--simulate-tasks", str(n_tasks)]
        done = subprocess.run(command, capture_output=True, check=True, text=True, cwd=HERE.parent)
        peak = int(done.stdout)
        yield f"| RR-OFUL, {n_tasks} tasks | {peak / 1e6:,.0f} MB |"
    for n_tasks in (1, 100):
        memory = _memory_after(n_tasks)
        size = sum(array.nbytes for array in memory.values())
        yield f"| RR-OFUL's memory after {n_tasks} tasks, one replication | {size:,} bytes |"


def _memory_after(n_tasks: int) -> Memory:
    prior = hs.priors.Pooled()
    memory = prior.empty(20)
    for _ in range(n_tasks):
        memory = prior.absorb(memory, hs.TaskStatistics.zeros(20))
    return memory


def _simulate_tasks(n_tasks: int) -> None:
    learner = hs.Learner("RR-OFUL", hs.policies.OFUL(), hs.priors.Pooled())
    environment = hs.environments.Synthetic()
    hs.simulate(environment, [learner], n_tasks=n_tasks, horizon=50, replications=1_000, workers=1)
    # Not getrusage: its peak begins with that of the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    print(1024 * int(status.split("VmHWM:")[1].split()[0]))


def main() -> None:
    """Print the tables and write them with the figure next to this file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulate-tasks", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.simulate_tasks:
        _simulate_tasks(arguments.simulate_tasks)
        return
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "scipy"))
    lines = [
        "# Speed of simulation",
        "",
        "Written by `make bench`. Rounds (choose and update) per CPU-second, one core, one run. "
        "Absolute numbers are this machine's; the ratios are what counts.",
        "",
        f"Python {platform.python_version()}, {versions}.",
        "",
    ]
    print("\n".join(lines))
    with threadpool_limits(1):
        for part in (speed_table(), growth_table(HERE / "speed.png"), memory_table()):
            for line in part:
                print(line, flush=True)
                lines.append(line)
            print()
            lines.append("")
    lines.append("![rounds per CPU-second against the dimension](speed.png)")
    (HERE / "speed.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
