"""`make league`: play the league, and write its pages and its picture.

Every row that is played is stored in out/league. A run that was stopped goes on from there, as
long as the code, the seed and the share of replications are the same; `--only` plays some rows.
Once all rows are there, benchmarks/league.md, the table in docs/explanation/league.md and its
picture are written; `--write` does so again from what is stored, whichever code played it.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from benchmarks.league import learners as who
from benchmarks.league.page import users_page, whole_page
from benchmarks.league.picture import draw
from benchmarks.league.playing import Version, coverage, play_and_store, stored
from benchmarks.league.results import RIVALS
from benchmarks.league.rows import rows

from headstart.simulation import cores

ROOT = Path(__file__).parents[2]

# Everything was developed on seeds below 1,000, and the tables of earlier versions were made on
# 20,000, 30,000 and 40,000. The table is made once, on this one.
HELD_OUT_SEED = 50_000


def main() -> None:
    """Play what is missing, and write the pages once nothing is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of each row's replications")
    parser.add_argument("--seed", type=int, default=HELD_OUT_SEED)
    parser.add_argument("--only", default="", help="rows whose title contains this")
    parser.add_argument("--store", type=Path, default=ROOT / "out" / "league")
    parser.add_argument("--page", type=Path, default=ROOT / "benchmarks" / "league.md")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    parser.add_argument("--write", action="store_true", help="play nothing, write the pages")
    given = parser.parse_args()
    if not given.write:
        play_all(given.store, given.only, Version.current(given.seed, given.share))
    if given.only:
        return
    results = [result for number, _ in enumerate(rows()) for result in stored(number, given.store)]
    version = Version.of(results)
    page = whole_page(results, version, coverage(given.store, version))
    given.page.write_text(page, encoding="utf-8")
    users = given.docs / "explanation" / "league.md"
    users.write_text(users_page(users.read_text("utf-8"), results, version), encoding="utf-8")
    draw(results, given.docs / "figures" / "league.png")


def play_all(store: Path, only: str, version: Version) -> None:
    """Play the rows whose title contains `only`, and coverage where it is empty."""
    store.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with ProcessPoolExecutor(cores()) as processes:
        if not only:
            processes.submit(coverage, store, version)
        playing = [
            processes.submit(play_and_store, number, store, version)
            for number, row in enumerate(rows())
            if only in row.title
        ]
        for played in as_completed(playing):
            for result in stored(played.result(), store):
                ratio, low, high = result.ratio(who.OURS, RIVALS)
                seconds = time.monotonic() - start
                print(
                    f"{seconds:5.0f} s  {ratio:.2f} [{low:.2f}, {high:.2f}]  {result.title}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
