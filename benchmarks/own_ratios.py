"""Ratios between columns of the league that have nothing to tune, with more replications.

Most of the league's time is spent on the grids of tuned rivals. Targets that compare our priors
with each other, or with baselines that are told the variances, do not need them.
Run with `python -m benchmarks.own_ratios`; prints a table in Markdown.
"""

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice

from benchmarks import league_learners as who
from benchmarks.league_results import Result, title
from benchmarks.league_rows import Row, rows
from benchmarks.regret import HELD_OUT_SEED, evaluate_row, other_settings

from headstart.policies import BayesUCB
from headstart.priors import Hierarchical
from headstart.simulation import Agent, Learner, cores

PAIRS = (
    (who.OURS, who.ISOTROPIC),
    (who.OURS, who.FULL),
    (who.OURS, who.TOLD),
    (who.OURS, who.INFORMED),
    (who.OURS, who.ORACLE),
    (who.SIDE, who.OURS),
    (who.SIDE, who.ISOTROPIC),
)


def play(number: int, *, replications: int, seed: int) -> list[str]:
    """The table's lines of the row of this number."""
    row = next(islice(rows(), number, None))
    learners: list[Agent] = [Learner(who.OURS, BayesUCB(), Hierarchical()), *other_settings(row)]
    if row.truth is not None:
        learners += who.told(row.truth)
    regret = evaluate_row(row, row.environment, learners, replications, seed)
    results = [Result(row, size, found, {}) for size, found in regret.items()]
    return [line for result in results for line in lines(result)]


def lines(result: Result) -> Iterator[str]:
    """One line of the table per pair that was played."""
    for column, against in PAIRS:
        if column in result.regret and against in result.regret:
            ratio, low, high = result.ratio(column, against)
            number = len(result.regret[column])
            yield (
                f"| {title(result)} | {column} / {against} | {ratio:.3f} [{low:.3f}, {high:.3f}] "
                f"| {number} |"
            )


def compared(row: Row) -> bool:
    """Whether a target compares columns of this row without tuned rivals."""
    gaussian = row.group == "linear" and row.name.startswith("variance")
    return gaussian or row.group == "side" or (row.group == "linear" and row.structured)


def main() -> None:
    """Play, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--seed", type=int, default=HELD_OUT_SEED)
    parser.add_argument("--only", default="", help="rows whose title contains this")
    given = parser.parse_args()
    numbers = [
        number
        for number, row in enumerate(rows())
        if compared(row) and given.only in f"{row.group}: {row.name}"
    ]
    playing = partial(play, replications=given.replications, seed=given.seed)
    print("| row | columns | ratio of mean regrets | replications |")
    print("|---|---|---|---|", flush=True)
    with ProcessPoolExecutor(cores()) as processes:
        for found in processes.map(playing, numbers):
            print("\n".join(found), flush=True)


if __name__ == "__main__":
    main()
