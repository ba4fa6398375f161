"""Rewards of real people: headstart as it comes beside two ridge regressions that are tuned.

`python -m benchmarks.people` plays what people chose, rated and answered (`people_data`), one task
per person, and prints reward per round. A quarter of the people serves to tune the ridges; the
others come in several orders, the same for all players. Intervals are over people, paired. With
`--page` the table also goes into benchmarks/people.md.
"""

import argparse
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks import people_players
from benchmarks.people_data import DATA, Rounds, people_of
from benchmarks.people_players import OURS, Headstart, Player, settings_of_ridges, tuned

from headstart.arrays import Floats
from headstart.intervals import interval

TWO_LEVEL, ONE_MODEL = "two-level ridge", "one model"
RIDGES = (TWO_LEVEL, ONE_MODEL)
FIRST = "headstart"
TUNING_ORDERS = 2
PAGE = Path(__file__).with_suffix(".md")
_BEGIN, _END = "<!-- written by `make people` -->\n", "<!-- end -->"


@dataclass(frozen=True, kw_only=True)
class Played:
    """What every player earned per round, by person, the mean over orders."""

    data: str
    rewards: dict[str, Floats]  # (people,)
    milliseconds: dict[str, float]  # of CPU per decision


def play(
    data: str, players: Sequence[str], *, n_orders: int, seed: int = 0, most: int | None = None
) -> Played:
    """Play a data set; most: of its people, for a quick look."""
    people = people_of(data)
    in_order = people(np.random.default_rng(seed))
    drawn = np.random.default_rng(seed).permutation(len(in_order))[:most]
    for_tuning, others = drawn[: len(drawn) // 4], drawn[len(drawn) // 4 :]
    dimension, items = in_order[0].arms.shape[2], in_order[0].items is not None

    def order(who: np.ndarray, number: int) -> list[tuple[int, Rounds]]:
        rng = np.random.default_rng([seed, number])
        rounds = people(rng)
        return [(int(person), rounds[person]) for person in rng.permutation(who)]

    before = [order(for_tuning, number) for number in range(TUNING_ORDERS)]
    ridges = {
        name: tuned(
            dimension, settings_of_ridges(people_differ=name == TWO_LEVEL, items=items), before
        )
        for name in RIDGES
        if name in players
    }

    def made(name: str, number: int) -> Player:
        return ridges[name]() if name in ridges else Headstart(dimension, number, **OURS[name])

    totals = {name: np.zeros(len(others)) for name in players}
    seconds = dict.fromkeys(players, 0.0)
    n_rounds = 0
    for number in range(TUNING_ORDERS, TUNING_ORDERS + n_orders):
        coming = order(others, number)
        n_rounds += sum(len(rounds.arms) for _, rounds in coming)
        for name in players:
            began = time.process_time()
            earned = people_players.play(made(name, number), coming)
            seconds[name] += time.process_time() - began
            totals[name] += [earned[person] for person in others.tolist()]
    return Played(
        data=data,
        rewards={name: total / n_orders for name, total in totals.items()},
        milliseconds={name: 1e3 * total / n_rounds for name, total in seconds.items()},
    )


def table(results: Sequence[Played]) -> list[str]:
    """Reward per round, and how much the first player earns more than each other one."""
    first, *others = results[0].rewards
    beside = [f"{first} − {name}" for name in others]
    heads = ["data", "people", *results[0].rewards, *beside, "ms per decision"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for one in results:
        mine = one.rewards[first]
        cells = [one.data, f"{len(mine)}", *(f"{r.mean():.4f}" for r in one.rewards.values())]
        cells += [f"{interval(mine - one.rewards[name]):+.4f}" for name in others]
        cells += [" / ".join(f"{ms:.2f}" for ms in one.milliseconds.values())]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def written(page: str, results: Sequence[Played], n_orders: int) -> str:
    """The page with this table instead of the one before."""
    before, _, after = page.partition(_BEGIN)
    _, _, after = after.partition(_END)
    command = ["git", "describe", "--always", "--dirty"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    head = f"At commit {commit}, mean of {n_orders} orders:"
    return "\n".join([f"{before}{_BEGIN}", head, "", *table(results), "", f"{_END}{after}"])


def main() -> None:
    """Play and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    parser.add_argument("--players", nargs="+", default=[FIRST, *RIDGES])
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--people", type=int, help="of each data set; all by default")
    parser.add_argument("--page", action="store_true", help="write the table to people.md")
    given = parser.parse_args()
    results = []
    for data in given.data:
        one = play(data, given.players, n_orders=given.orders, most=given.people)
        results.append(one)
        print(*table([one])[2:], sep="\n", flush=True)
    print("", *table(results), sep="\n")
    if given.page:
        PAGE.write_text(written(PAGE.read_text(), results, given.orders))


if __name__ == "__main__":
    main()
