"""The regrets of one row at one N: means, and ratios with intervals, all cross-fitted."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from benchmarks.league import learners as who
from benchmarks.league.rows import Row

from headstart.arrays import Floats, Integers

_N_SAMPLES = 2000

# Columns of the page that are one of several others: the best of all rivals at all settings.
RIVALS = "best rival"


@dataclass(frozen=True, eq=False)
class Result:
    """What was played: the row, N, and the regret per test task by learner and replication."""

    row: Row
    size: int
    regret: xr.DataArray

    @property
    def title(self) -> str:
        """The row in words."""
        return f"{self.row.title}, N = {self.size}"

    @property
    def replications(self) -> int:
        """The number of replications, R."""
        return int(self.regret.sizes["replication"])

    @property
    def columns(self) -> list[str]:
        """The methods that played."""
        return list(dict.fromkeys(who.column(str(name)) for name in self.regret.learner.values))

    def settings(self, column: str) -> list[str]:
        """The learners of a column, one per setting."""
        among = who.TUNED if column == RIVALS else (column,)
        names = [str(name) for name in self.regret.learner.values]
        return [name for name in names if who.column(name) in among]

    def values(self, column: str) -> Floats:
        """The regrets of a column at each of its settings, (S, R)."""
        return np.asarray(self.regret.sel(learner=self.settings(column)).to_numpy())

    def chosen(self, column: str) -> list[str]:
        """The settings that the two halves of the replications choose."""
        names, values = self.settings(column), self.values(column)
        return [names[int(values[:, half::2].mean(1).argmin())] for half in (0, 1)]

    def mean(self, column: str) -> float:
        """The mean regret, cross-fitted."""
        once = np.ones((1, self.replications), dtype=np.int64)
        return float(crossfitted(self.values(column), once)[0])

    def ratio(self, column: str, against: str) -> tuple[float, float, float]:
        """The ratio of mean regrets, with a 95 % interval from a paired bootstrap.

        Every sample chooses the settings again. It is drawn within each half of the
        replications, so that no replication is both chosen on and scored on.
        """
        counts = _samples(self.replications)
        one, two = (crossfitted(self.values(c), counts) for c in (column, against))
        low, high = np.quantile(one[1:] / two[1:], (0.025, 0.975))
        return float(one[0] / two[0]), float(low), float(high)


def crossfitted(values: Floats, counts: Integers) -> Floats:
    """The mean regret of a method whose setting is chosen on other replications, (B,).

    For the regrets (S, R) at S settings, where replications count `counts` (B, R) times: the
    setting of least regret in one half of the replications is scored on the other half, and the
    other way round. Halves are the even and the odd ones.
    """
    total = np.zeros(len(counts))
    sums = [counts[:, half::2] @ values[:, half::2].T for half in (0, 1)]
    for chosen_on, scored_on in (sums, sums[::-1]):
        chosen = chosen_on.argmin(1)
        total += scored_on[np.arange(len(counts)), chosen]
    return np.asarray(total / counts.sum(1))


def _samples(replications: int) -> Integers:
    """How often each replication counts, (B, R): once, then in every bootstrap sample."""
    rng = np.random.default_rng(0)
    counts = np.ones((1 + _N_SAMPLES, replications), dtype=np.int64)
    for half in (0, 1):
        size = counts[:, half::2].shape[1]
        counts[1:, half::2] = rng.multinomial(size, np.full(size, 1.0 / size), _N_SAMPLES)
    return counts
