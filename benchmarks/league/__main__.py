"""`make league`: play the league, and write its pages and its picture.

Every row that is played is stored in out/league. A run that was stopped goes on from there, as
long as the code, the seed and the share of replications are the same; `--only` plays some rows.
Once all rows are there, benchmarks/league.md, the table in docs/explanation/league.md and its
picture are written.
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
    given = parser.parse_args()
    version = Version.current(given.seed, given.share)
    given.store.mkdir(parents=True, exist_ok=True)
    numbers = [n for n, row in enumerate(rows()) if given.only in row.title]
    start = time.monotonic()
    with ProcessPoolExecutor(cores()) as processes:
        covered = None if given.only else processes.submit(coverage, version, given.store)
        playing = [processes.submit(play_and_store, n, given.store, version) for n in numbers]
        for played in as_completed(playing):
            for result in stored(played.result(), given.store):
                ratio, low, high = result.ratio(who.OURS, RIVALS)
                seconds = time.monotonic() - start
                print(
                    f"{seconds:5.0f} s  {ratio:.2f} [{low:.2f}, {high:.2f}]  {result.title}",
                    flush=True,
                )
    if covered is None:
        return
    results = [result for n in numbers for result in stored(n, given.store)]
    given.page.write_text(whole_page(results, version, covered.result()))
    users = given.docs / "explanation" / "league.md"
    users.write_text(users_page(users.read_text(), results, version))
    draw(results, given.docs / "figures" / "league.png")


if __name__ == "__main__":
    main()
