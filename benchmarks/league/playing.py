"""Playing a row of the league, and storing what was played."""

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import xarray as xr
from benchmarks.coverage import coverage_page
from benchmarks.league import learners as who
from benchmarks.league.results import Result
from benchmarks.league.rows import Row, rows

from headstart import evaluate
from headstart.interfaces import Environment
from headstart.policies import BayesUCB
from headstart.priors import Hierarchical
from headstart.simulation import Learner
from headstart.simulation.agent import Agents

N_TESTS = 2
_DIRTY = "-dirty"


@dataclass(frozen=True)
class Version:
    """What the numbers of a row follow from: the code, the seed, the share of replications."""

    commit: str
    seed: int
    share: float

    @classmethod
    def current(cls, seed: int, share: float) -> "Version":
        """That of the working tree."""
        command = ["git", "describe", "--always", f"--dirty={_DIRTY}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return cls(done.stdout.strip(), seed, share)

    @classmethod
    def of(cls, results: Sequence[Result]) -> "Version":
        """That of stored results; more than one commit where they were played by several."""
        attrs = [result.regret.attrs for result in results]
        commits = sorted({str(each["commit"]) for each in attrs})
        return cls(" and ".join(commits), int(attrs[0]["seed"]), float(attrs[0]["share"]))

    def made(self, found: xr.DataArray, row: Row) -> bool:
        """Whether these numbers are of this version; never where edits are not committed."""
        known = {name: found.attrs.get(name) for name in asdict(self)}
        return (
            not self.commit.endswith(_DIRTY)
            and known == asdict(self)
            and found.attrs.get("title") == row.title
        )


def play(row: Row, *, replications: int, seed: int) -> xr.DataArray:
    """The regret per test task of every learner of a row, over (learner, trained, replication)."""

    def regret(environment: Environment, agents: Agents) -> xr.DataArray:
        results = evaluate(
            environment,
            agents,
            n_training_tasks=row.sizes,
            n_test_tasks=N_TESTS,
            horizon=row.horizon,
            replications=replications,
            seed=seed,
            workers=1,
        )
        return results["regret"].sum("round").mean("task")

    found = regret(row.environment, lambda prepared: who.of_row(row, prepared))
    if row.offset:
        ours = Learner(who.OFFSET, BayesUCB(), Hierarchical())
        constant = row.unit**0.5  # as large as the arms
        more = regret(who.PreparableWithConstant(row.environment, constant), [ours])
        found = xr.concat([found, more], "learner")
    return found


def play_and_store(number: int, store: Path, version: Version) -> int:
    """Play the row of this number, unless it is stored; returns the number."""
    row, path = next(islice(rows(), number, None)), _path(store, number)
    if path.exists() and version.made(xr.load_dataarray(path), row):
        return number
    replications = max(4, round(version.share * row.replications))
    found = play(row, replications=replications, seed=version.seed)
    found.assign_attrs(title=row.title, **asdict(version)).to_netcdf(path)
    return number


def stored(number: int, store: Path) -> Iterator[Result]:
    """What is stored of a row, by N."""
    row = next(islice(rows(), number, None))
    found = xr.load_dataarray(_path(store, number))
    if found.attrs["title"] != row.title:
        raise ValueError(f"{_path(store, number)} must hold {row.title!r}, got {found.title!r}")
    for size in row.sizes:
        yield Result(row, size, found.sel(trained=size))


def coverage(store: Path, version: Version) -> str:
    """The table of coverage, unless it is stored."""
    path = store / f"coverage-{version.commit}-{version.seed}-{version.share:g}.md"
    if version.commit.endswith(_DIRTY) or not path.exists():
        lines = coverage_page(max(4, round(120 * version.share)), version.seed)
        path.write_text("\n".join(lines), encoding="utf-8")
    return path.read_text(encoding="utf-8")


def _path(store: Path, number: int) -> Path:
    return store / f"{number:02d}.nc"
