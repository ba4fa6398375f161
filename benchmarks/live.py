"""Live use, measured: decisions and rewards through the public interface, with validation.

One thread, one run with the fastest shared-model peer. Machines differ and are shared, so that only
ratios within a run mean anything: what is compared is measured in turn, and medians are shown.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
import pandas as pd
from benchmarks import peers
from benchmarks.speed import HERE, HORIZON, REPLICATIONS, SIZES, Replay
from threadpoolctl import threadpool_limits

import headstart as hs

PEER = "contextualbandits.linreg"
_FINISHED = 10_000


def seconds(run: Callable[[], object]) -> float:
    """CPU-seconds of one run."""
    start = process_time()
    run()
    return process_time() - start


def play(bandit: hs.MetaBandit, arms: peers.FloatArray, rewards: peers.FloatArray) -> None:
    """Decide and reward, one by one, as an application would."""
    for shown, values in zip(arms, rewards, strict=True):
        decision = bandit.decide("user", shown)
        bandit.reward(decision.id, float(values[decision.arm_index]))


def warm(dimension: int, **settings: object) -> hs.MetaBandit:
    """A bandit with one open task."""
    bandit = hs.MetaBandit(dimension=dimension, seed=0, **settings)  # type: ignore[arg-type]
    decision = bandit.decide("user", np.eye(dimension)[:1])
    bandit.reward(decision.id, 0.0)
    return bandit


def pair_table() -> Iterator[str]:
    """Microseconds for a decision and its reward, and how much faster than the peer."""
    kinds: dict[str, dict[str, object]] = {
        "MetaBandit, as it comes": {},
        "MetaBandit, OFUL": {"policy": hs.policies.OFUL(), "prior": hs.priors.Fixed.zero()},
    }
    missing = peers.missing()
    yield "| decide + reward, µs |" + "".join(f" d={d}, K={k} |" for d, k in SIZES)
    yield "|---|" + "---:|" * len(SIZES)
    ours: dict[str, list[float]] = {name: [] for name in kinds}
    ratios: dict[str, list[float]] = {name: [] for name in kinds}
    theirs = []
    for d, k in SIZES:
        rounds = {20: 4_000, 50: 1_000, 200: 500}[d]
        problem = peers.make_problem(rounds, d, k)

        def peer(problem: peers.Problem = problem) -> None:
            peers.PEERS[PEER].play(*problem, 1.0, 1.0)

        measured: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
        for repeat in range(8):
            there = float("nan") if PEER in missing else seconds(peer) / rounds
            for name, settings in kinds.items():
                bandit = warm(d, **settings)
                here = seconds(lambda b=bandit, p=problem: play(b, *p)) / rounds  # type: ignore[misc]
                if repeat:  # the first compiles
                    measured[name].append((here, there))
        for name, pairs in measured.items():
            ours[name].append(median(a for a, _ in pairs))
            ratios[name].append(median(b / a for a, b in pairs))
        theirs.append(median(b for pairs in measured.values() for _, b in pairs))
    for name, times in ours.items():
        yield f"| **{name}** |" + "".join(f" **{1e6 * t:.1f}** |" for t in times)
    yield f"| {PEER}, caller does the argmax |" + "".join(f" {1e6 * t:.1f} |" for t in theirs)
    for name, factors in ratios.items():
        yield f"| {PEER} / {name} |" + "".join(f" {f:.1f}× |" for f in factors)


def many_table(n: int = 1_000, dimension: int = 20, n_arms: int = 5) -> Iterator[str]:
    """`decide_many` and `reward_many` against the simulation, both with OFUL from zero."""
    environment = hs.environments.Synthetic(dimension=dimension, n_arms=n_arms, reward="linear")
    task = environment.sample(HORIZON, REPLICATIONS, np.random.default_rng(0))
    learner = hs.Learner("ITL", hs.policies.OFUL(), hs.priors.Fixed.zero())
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((20, n, n_arms, dimension)) / np.sqrt(dimension)
    names = [f"user-{i}" for i in range(n)]
    bandit = hs.MetaBandit(
        dimension=dimension, policy=hs.policies.OFUL(), prior=hs.priors.Fixed.zero(), seed=0
    )

    def live() -> float:
        def run() -> None:
            for shown in arms:
                decided = bandit.decide_many(names, shown)
                bandit.reward_many(decided.ids, np.ones(n))

        return len(arms) * n / seconds(run)

    def simulated() -> float:
        def run() -> None:
            hs.simulate(
                Replay(task),
                [learner],
                n_tasks=10,
                horizon=HORIZON,
                replications=REPLICATIONS,
                workers=1,
            )

        return 10 * HORIZON * REPLICATIONS / seconds(run)

    live(), simulated()
    pairs = [(live(), simulated()) for _ in range(7)]
    yield f"| {n:,} tasks at once, d = {dimension}, K = {n_arms} | rounds per CPU-second |"
    yield "|---|---:|"
    yield f"| `decide_many` + `reward_many` | {median(a for a, _ in pairs):,.0f} |"
    yield f"| `simulate` | {median(b for _, b in pairs):,.0f} |"
    yield f"| ratio | {median(a / b for a, b in pairs):.2f} |"


def menu_table(n_items: int = 3_883, n_users: int = 200, shown: int = 20) -> Iterator[str]:
    """CPU time of a call where a mask leaves few items of a large catalogue with attributes."""
    rng = np.random.default_rng(0)
    genres = [f"genre {i}" for i in range(18)]
    features = hs.Features(
        item=[hs.Tags("genres", levels=genres), hs.Number("year", mean=1980.0, scale=15.0)],
        about=[hs.Category("age", levels=["young", "middle", "old"])],
        cross=[("age", "genres")],
    )
    items = {
        f"item {i}": {
            "genres": rng.choice(genres, rng.integers(1, 4), replace=False).tolist(),
            "year": float(rng.integers(1930, 2000)),
        }
        for i in range(n_items)
    }
    catalogue, ids = hs.Catalogue(items, features=features), list(items)
    bandit = hs.MetaBandit(features=features, seed=0)
    decisions: list[float] = []
    rewards: list[float] = []
    for user in range(n_users):
        about = {"age": ["young", "middle", "old"][user % 3]}
        for _ in range(15):
            mask = [ids[i] for i in rng.choice(n_items, shown, replace=False)]
            made: list[hs.Decision] = []

            def decide(mask: list[str] = mask, about: dict[str, str] = about) -> None:
                made.append(bandit.decide(user, catalogue, mask=mask, about=about))  # noqa: B023

            decisions.append(seconds(decide))
            value = float(len(items[str(made[0].arm)]["genres"]) + rng.normal())
            rewards.append(seconds(lambda: bandit.reward(made[0].id, value)))  # noqa: B023
    yield f"| {shown} of {n_items:,} items, d = {features.dimension} | mean, ms | median | 99 % |"
    yield "|---|---:|---:|---:|"
    for name, times in (("decide", decisions), ("reward", rewards)):
        known = 1e3 * np.array(times[len(times) // 4 :])  # the first users compile, and are few
        middle, most = np.quantile(known, [0.5, 0.99])
        yield f"| `{name}` | {known.mean():.2f} | {middle:.2f} | {most:.2f} |"


def fit_table(rows: int = 1_000_000, dimension: int = 20, tasks: int = 10_000) -> Iterator[str]:
    """Rows per second of `fit`'s pass over the log, against one gram of the same numbers."""
    from headstart.logs import Columns, LogReading, sources  # noqa: PLC0415

    if find_spec("pyarrow") is None:
        yield "`fit` was not measured: there is no pyarrow."
        return
    rng = np.random.default_rng(0)
    features = rng.standard_normal((rows, dimension))
    frame = pd.DataFrame(features, columns=[f"x{a}" for a in range(dimension)])
    frame["task"] = rng.integers(tasks, size=rows)
    frame["reward"] = rng.standard_normal(rows)
    names = [f"x{a}" for a in range(dimension)]
    columns = Columns(features=names)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        frame.to_parquet(path, row_group_size=1 << 17, compression=None)
        size = path.stat().st_size
        runs: dict[str, Callable[[], object]] = {
            "a plain gram, XᵀX, of an array in memory": lambda: features.T @ features,
            "reading the Parquet file, and nothing else": lambda: [
                batch.num_rows
                for piece in sources.pieces(path, columns.names())
                for batch in piece.batches()
            ],
            "`fit`'s pass over the Parquet file": lambda: LogReading(
                path, columns, dimension
            ).statistics(),
            "`fit`'s pass over a pandas frame": lambda: LogReading(
                frame, columns, dimension
            ).statistics(),
        }
        yield f"| {rows:,} rows, {tasks:,} tasks, d = {dimension} | rows per CPU-second | GB/s |"
        yield "|---|---:|---:|"
        for name, run in runs.items():
            run()
            rate = rows / median(seconds(run) for _ in range(3))
            yield f"| {name} | {rate:,.0f} | {rate * size / rows / 1e9:.2f} |"


def lock_table() -> Iterator[str]:
    """The cost of the lock for one thread."""
    problem = peers.make_problem(4_000, 20, 5)
    bandits = [warm(20), warm(20)]
    bandits[1]._lock = nullcontext()  # type: ignore[assignment]
    pairs = [
        tuple(seconds(lambda b=b: play(b, *problem)) / 4_000 for b in bandits)  # type: ignore[misc]
        for _ in range(9)
    ]
    yield "| one thread, d = 20, K = 5 | µs for decide + reward |"
    yield "|---|---:|"
    yield f"| with the lock | {1e6 * median(a for a, _ in pairs):.2f} |"
    yield f"| without | {1e6 * median(b for _, b in pairs):.2f} |"


def memory_table() -> Iterator[str]:
    """Resident memory of open tasks, and of finished ones."""
    yield "| tasks | bytes per task | of which 2.2 · 8 · d² | the rest |"
    yield "|---|---:|---:|---:|"
    for count, dimension in ((1_000_000, 10), (200_000, 20), (2_000, 200)):
        command = [sys.executable, "-m", "benchmarks.live", "--open", str(count), str(dimension)]
        done = subprocess.run(command, capture_output=True, check=True, text=True, cwd=HERE.parent)
        opened, finished = map(int, done.stdout.split())
        each, squares = opened / count, 2.2 * 8 * dimension**2
        rest = f"{each - squares:,.0f}"
        yield f"| {count:,} open, d = {dimension} | {each:,.0f} | {squares:,.0f} | {rest} |"
        yield f"| {_FINISHED:,} finished, d = {dimension} | {finished / _FINISHED:,.1f} | | |"


def _resident() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.split("VmRSS:")[1].split()[0])


def _open(count: int, dimension: int) -> None:
    """Open tasks, and print the memory they take; then finish as many, and print what remains."""
    bandit = hs.MetaBandit(dimension=dimension, prior=hs.priors.Fixed.zero(), seed=0)
    x = np.ones(dimension)
    bandit.observe("first", x, 1.0)
    before = _resident()
    for i in range(count):
        bandit.observe(f"user-{i}", x, 1.0)
    opened = _resident() - before
    few = hs.MetaBandit(dimension=dimension, prior=hs.priors.Fixed.zero(), seed=0)
    for i in range(_FINISHED + 1_000):
        if i == 1_000:  # by then everything that grows once has grown
            before = _resident()
        few.observe(f"user-{i}", x, 1.0)
        few.finish(f"user-{i}")
    print(opened, _resident() - before)


def main() -> None:
    """Print the tables and write them next to this file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--open", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.open:
        _open(*arguments.open)
        return
    lines = [
        "# Speed of live use",
        "",
        "Written by `make bench`. One thread, one run, CPU time; the ratios are what counts.",
        "",
    ]
    parts = (pair_table, many_table, menu_table, fit_table, lock_table, memory_table)
    with threadpool_limits(1):
        for part in parts:
            for line in part():
                print(line, flush=True)
                lines.append(line)
            print()
            lines.append("")
    (HERE / "live.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
