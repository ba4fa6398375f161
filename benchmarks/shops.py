"""Clicks in shops: headstart beside what a shop would use instead, on the same visits.

`python -m benchmarks.shops` plays the 30 shops below, one world each, and prints the table of
clicks per 1,000 visits; `--standard` plays 30 worlds of the standard shop (200 items, three
segments, 5 % clicks from a logistic truth, 1,000 users). What is counted is the probability of a
click on what was shown, so that the luck of single clicks does not blur the comparison.
"""

import argparse
import json
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from benchmarks.shop_players import PLAYERS, chosen

from headstart.arrays import Floats
from headstart.environments import Shop
from headstart.intervals import interval

# Everything was developed on the first, and settings of rivals were chosen there. The published
# tables are made on the second, once.
DEVELOPMENT_SEED = 1
FINAL_SEED = 20_261_116

OURS = "headstart"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A shop and how many users it has."""

    shop: Shop = field(default_factory=Shop)
    n_users: int = 1000


STANDARD = "standard"
CASES: Mapping[str, Case] = {
    STANDARD: Case(),
    "linear": Case(shop=Shop(truth="linear")),
    "linear, 20 % clicks": Case(shop=Shop(truth="linear", click_rate=0.2)),
    "linear, 1 % clicks": Case(shop=Shop(truth="linear", click_rate=0.01)),
    "1 % clicks": Case(shop=Shop(click_rate=0.01)),
    "2 % clicks, no segments": Case(shop=Shop(click_rate=0.02, n_segments=1)),
    "10 % clicks": Case(shop=Shop(click_rate=0.1)),
    "20 % clicks": Case(shop=Shop(click_rate=0.2)),
    "20 items": Case(shop=Shop(n_items=20, n_categories=4, n_brands=6)),
    "20 items, strong effects": Case(shop=Shop(n_items=20, n_categories=4, item_effect=0.8)),
    "50 items, 10 % clicks": Case(shop=Shop(n_items=50, click_rate=0.1)),
    "500 items": Case(shop=Shop(n_items=500)),
    "1,000 items, 2 % clicks": Case(shop=Shop(n_items=1000, click_rate=0.02)),
    "2,000 items": Case(shop=Shop(n_items=2000)),
    "no segments": Case(shop=Shop(n_segments=1)),
    "5 segments": Case(shop=Shop(n_segments=5)),
    "no item effects": Case(shop=Shop(item_effect=0.0)),
    "strong item effects": Case(shop=Shop(item_effect=0.8)),
    "strong item effects, linear": Case(shop=Shop(item_effect=0.8, truth="linear")),
    "weak features, item effects": Case(shop=Shop(strength=0.4, item_effect=0.6)),
    "no tastes": Case(shop=Shop(taste=0.0)),
    "strong tastes": Case(shop=Shop(taste=0.8)),
    "strong tastes, 40 visits": Case(shop=Shop(taste=0.8, mean_visits=40.0), n_users=300),
    "100 users": Case(n_users=100),
    "300 users, 10 % clicks": Case(shop=Shop(click_rate=0.1), n_users=300),
    "2,000 users of 5 visits": Case(shop=Shop(mean_visits=5.0), n_users=2000),
    "drift": Case(shop=Shop(drift=0.3)),
    "drift, linear, 10 % clicks": Case(shop=Shop(drift=0.3, truth="linear", click_rate=0.1)),
    "a third replaced, 20 % missing": Case(shop=Shop(replaced=0.33, season=2000, missing=0.2)),
    "late and lost clicks": Case(shop=Shop(late=0.8, late_seconds=1800.0, lost=0.3)),
}


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a player earned in a world, in clicks per 1,000 visits.

    `later` is that of the later half of the users; `largest_share` is the share of visits that were
    shown the item that was shown most.
    """

    shop: str
    world: int
    player: str
    clicks: float
    later: float
    largest_share: float
    seconds: float


def play(name: str, world_number: int, player: str, *, seed: int, n_users: int | None) -> Result:
    """One player in one world."""
    case = CASES[name] if n_users is None else replace(CASES[name], n_users=n_users)
    numbers = (seed, list(CASES).index(name), world_number)
    world = case.shop.world(np.random.default_rng(numbers), case.n_users)
    began = time.perf_counter()
    items = chosen(world, PLAYERS[player](world, world_number))
    seconds = time.perf_counter() - began
    earned = np.array([world.probability(v, [item])[0] for v, item in enumerate(items.tolist())])
    return Result(
        shop=name,
        world=world_number,
        player=player,
        clicks=1000.0 * float(earned.mean()),
        later=1000.0 * float(earned[world.visitors >= world.n_users // 2].mean()),
        largest_share=float(np.bincount(items).max() / len(items)),
        seconds=seconds,
    )


def table(results: Sequence[Result], ours: str = OURS) -> Iterator[str]:
    """The players, in Markdown: what they earn, and what ours earns relative to each."""
    by_world = {(r.shop, r.world, r.player): r for r in results}
    worlds = sorted({(r.shop, r.world) for r in results})
    yield (
        f"| player | clicks per 1,000: all users / later half | {ours} / player, 95 % | ahead in "
        "| worst | largest share of one item | seconds per world |"
    )
    yield "|---|---|---|---|---|---|---|"
    for player in dict.fromkeys(r.player for r in results):
        played = [at for at in worlds if (*at, player) in by_world]
        rows = [by_world[*at, player] for at in played]
        means = {
            name: float(np.mean([getattr(row, name) for row in rows]))
            for name in ("clicks", "later", "largest_share", "seconds")
        }
        paired = [at for at in played if (*at, ours) in by_world]
        ratios = np.array(
            [by_world[*at, ours].clicks / by_world[*at, player].clicks for at in paired]
        )
        compared = "– | – | –" if player == ours or not paired else _compared(ratios, paired)
        yield (
            f"| {player} | {means['clicks']:.1f} / {means['later']:.1f} | {compared} "
            f"| {means['largest_share']:.2f} | {means['seconds']:.1f} |"
        )


def _compared(ratios: Floats, worlds: Sequence[tuple[str, int]]) -> str:
    found = interval(np.log(ratios))
    mean, low, high = (float(np.exp(value)) for value in (found.mean, found.low, found.high))
    worst = int(ratios.argmin())
    return (
        f"{mean:.3f} [{low:.3f}, {high:.3f}] | {int((ratios > 1.0).sum())} of {len(ratios)} "
        f"| {ratios[worst]:.2f} ({worlds[worst][0]})"
    )


def by_shop(results: Sequence[Result]) -> Iterator[str]:
    """Clicks per 1,000 visits by shop and player, in Markdown."""
    players = list(dict.fromkeys(r.player for r in results))
    yield "| shop | " + " | ".join(players) + " |"
    yield "|---" * (len(players) + 1) + "|"
    for name in dict.fromkeys(r.shop for r in results):
        means = (
            [r.clicks for r in results if r.shop == name and r.player == player]
            for player in players
        )
        cells = (f"{np.mean(clicks):.1f}" if clicks else "–" for clicks in means)
        yield f"| {name} | " + " | ".join(cells) + " |"


def _read(path: Path, seed: int, n_users: int | None) -> list[Result]:
    """The results that a file has of the same worlds."""
    if not path.exists():
        return []
    found = json.loads(path.read_text())
    if (found["seed"], found["users"]) != (seed, n_users):
        raise SystemExit(f"{path} has results of seed {found['seed']}, users {found['users']}")
    return [Result(**row) for row in found["results"]]


def _write(path: Path, results: Sequence[Result], seed: int, n_users: int | None) -> None:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    ).stdout.strip()
    content = {"seed": seed, "users": n_users, "commit": commit}
    rows = [asdict(result) for result in results]
    path.write_text(json.dumps(content | {"results": rows}, indent=1) + "\n")


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--standard", action="store_true", help="30 worlds of the standard shop")
    parser.add_argument("--worlds", type=int, help="how many worlds of each shop")
    parser.add_argument("--shops", nargs="*", help="names of shops, or parts of names")
    parser.add_argument("--players", nargs="*", choices=PLAYERS, default=list(PLAYERS))
    parser.add_argument(
        "--users", type=int, help="users of every world, in place of the shop's own"
    )
    parser.add_argument("--seed", type=int, default=DEVELOPMENT_SEED)
    parser.add_argument("--final", action="store_true", help="the seed of published tables")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument(
        "--json", type=Path, help="where results are kept; players not named are taken from it"
    )
    given = parser.parse_args()
    seed = FINAL_SEED if given.final else given.seed
    names = [STANDARD] if given.standard else list(CASES)
    if given.shops:
        names = [name for name in names if any(part in name for part in given.shops)]
    n_worlds = given.worlds or (30 if given.standard else 1)
    runs = [
        (name, w, player) for name in names for w in range(n_worlds) for player in given.players
    ]
    kept = [] if given.json is None else _read(given.json, seed, given.users)
    results = [r for r in kept if (r.shop, r.world, r.player) not in set(runs)]
    began = time.perf_counter()
    with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(play, *run, seed=seed, n_users=given.users) for run in runs]
        for n, done in enumerate(as_completed(waiting), 1):
            result = done.result()
            results.append(result)
            print(
                f"{n}/{len(runs)} {time.perf_counter() - began:.0f} s: {result.shop}, world "
                f"{result.world}, {result.player}: {result.clicks:.1f} / {result.later:.1f}, "
                f"one item {result.largest_share:.2f}, {result.seconds:.1f} s",
                flush=True,
            )
            if given.json is not None:
                _write(given.json, results, seed, given.users)
    order = {name: i for i, name in enumerate([*CASES, *PLAYERS])}
    results.sort(key=lambda r: (order[r.shop], r.world, order[r.player]))
    print(*table(results), sep="\n")
    if len(names) > 1:
        print("", *by_shop(results), sep="\n")


if __name__ == "__main__":
    main()
