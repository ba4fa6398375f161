"""One row of the league's table: the regrets of every learner, and their ratios."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from benchmarks import league_learners as who
from benchmarks.league_rows import Row

from headstart.arrays import Floats

# N, and by column the regret (R,) and the setting: what is sent between processes.
Played = tuple[int, dict[str, Floats], dict[str, str]]


@dataclass(frozen=True)
class Result:
    """One row of the table: regret per test task, (R,), of every column that plays there."""

    row: Row
    size: int
    regret: Mapping[str, Floats]
    settings: Mapping[str, str]

    def mean(self, column: str) -> float:
        """The mean regret."""
        return float(self.regret[column].mean())

    @property
    def best(self) -> str:
        """The best of the tuned methods."""
        return min(who.TUNED, key=self.mean)

    def ratio(self, column: str, against: str) -> tuple[float, float, float]:
        """The ratio of mean regrets, with a 95 % interval from 2,000 paired bootstrap samples."""
        one, two = self.regret[column], self.regret[against]
        again = np.random.default_rng(0).integers(len(one), size=(2000, len(one)))
        low, high = np.quantile(one[again].mean(-1) / two[again].mean(-1), (0.025, 0.975))
        return float(one.mean() / two.mean()), float(low), float(high)


def title(result: Result) -> str:
    """The row in words."""
    return f"{result.row.group}: {result.row.name}, N = {result.size}"
