"""The league's targets, and whether they were reached."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.league import learners as who
from benchmarks.league.results import RIVALS, Result


@dataclass(frozen=True)
class Target:
    """At most `limit` times the regret of another column, on every row of some."""

    text: str
    among: Callable[[Result], bool]
    limit: float
    against: str = RIVALS
    column: str = who.OURS


def _in(*groups: str, part: str = "", least: int = 0) -> Callable[[Result], bool]:
    """Whether a result is of these groups, with this part in its name, after so many tasks."""
    return lambda r: r.row.group in groups and part in r.row.name and r.size >= least


TARGETS = (
    Target(
        "linear, other sets, shared, about", _in("linear", "other sets", "shared", "about"), 1.05
    ),
    Target("T < d", _in("linear", part="T = 10"), 1.05),
    Target("winner", _in("winner"), 1.02),
    Target("real data", _in("real"), 1.05),
    Target("fixed arms", _in("fixed arms"), 1.2, who.BEST_Z),
    Target("fixed arms", _in("fixed arms"), 1.2, who.BEST_Z, who.LIVE),
    Target("linear, N ≥ 10", _in("linear", least=10), 1.1, who.INFORMED),
    Target("linear", _in("linear"), 1.02, who.ISOTROPIC),
    Target("rank 2, N ≥ 10", _in("shared", part="rank 2", least=10), 0.65, who.ISOTROPIC),
    Target("side information, 90 %", _in("about", part="90%", least=30), 0.5, who.OURS, who.SIDE),
    Target("side information, 0 %", _in("about", part=" 0%", least=30), 1.03, who.OURS, who.SIDE),
)


def targets(results: Sequence[Result]) -> Iterator[str]:
    """A table: on how many rows each holds, and where the whole interval is above the limit."""
    yield "| rows | ratio | limit | within it | largest | beyond doubt above it |"
    yield "|---|---|---|---|---|---|"
    for target in TARGETS:
        pair = (target.column, target.against)
        found = [
            (result.ratio(*pair), result)
            for result in results
            if target.among(result) and all(result.settings(column) for column in pair)
        ]
        if not found:
            continue
        (largest, low, high), where = max(found, key=lambda item: item[0][0])
        within = sum(ratio <= target.limit for (ratio, _, _), _ in found)
        above = [result.title for (_, low, _), result in found if low > target.limit]
        yield (
            f"| {target.text} | {target.column} / {target.against} | {target.limit:g} | "
            f"{within} of {len(found)} | {largest:.2f} [{low:.2f}, {high:.2f}] ({where.title}) | "
            f"{'; '.join(above) or '–'} |"
        )
