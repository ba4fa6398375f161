"""Comparisons: paired differences of learners, with intervals and Holm's correction.

All learners of a study play the same tasks with the same noise, so differences are taken within
each replication, and their interval is Student's t over replications.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import stdtr

from headstart import checks
from headstart.arrays import Floats
from headstart.frames import as_html, frame
from headstart.habits import hints
from headstart.intervals import CONFIDENCE, Interval, interval
from headstart.learners import MetaLinEXP3
from headstart.policies import Uniform
from headstart.priors import Fixed
from headstart.simulation.learner import Learner
from headstart.studies.results import DIMENSIONS, at_best, independent
from headstart.studies.study import LearnerSpec, Study

# What is compared: values by learner and replication, or results that have them.
Values = xr.DataArray | xr.Dataset | pd.DataFrame


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A learner's mean minus the reference's; below 0, it has less regret.

    Attributes
    ----------
    learner, reference : str
        Their names.
    difference : Interval
        The mean of the differences over replications, and its 95 % interval.
    p_value : float
        The p-value of the paired t test of no difference; 1 with one replication.
    corrected : float
        Holm's p-value, which holds for all comparisons of a family together.

    Examples
    --------
    >>> import xarray as xr
    >>> from headstart.studies import compare
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal([[5.0], [3.0]], 1.0, (2, 20))
    >>> regret = xr.DataArray(values, {"learner": ["ITL", "RR"]}, ("learner", "replication"))
    >>> (found,) = compare(regret, "ITL")
    >>> found.learner, found.certain, found.difference.high < 0
    ('RR', True, True)
    """

    learner: str
    reference: str
    difference: Interval
    p_value: float
    corrected: float

    @property
    def certain(self) -> bool:
        """Whether the difference is not 0, at the 5 % level for the family as a whole."""
        return self.corrected <= 1.0 - CONFIDENCE

    def record(self) -> dict[str, str | float | None]:
        """Its numbers by name, for tables."""
        return {
            "learner": self.learner,
            "reference": self.reference,
            **self.difference.record(),
            "p": self.p_value,
            "p_corrected": self.corrected,
        }


class Comparisons(tuple[Comparison, ...]):
    """Comparisons of one family: a tuple that is also a table.

    Parameters
    ----------
    iterable : iterable of Comparison, optional
        The comparisons.

    Examples
    --------
    >>> import xarray as xr
    >>> values = np.random.default_rng(0).normal([[5.0], [3.0], [4.0]], 1.0, (3, 20))
    >>> regret = xr.DataArray(
    ...     values, {"learner": ["ITL", "RR", "AVG"]}, ("learner", "replication")
    ... )
    >>> hs.compare(regret, "ITL").to_frame()[["learner", "reference", "mean"]].round(1)
      learner reference  mean
    0      RR       ITL  -1.8
    1     AVG       ITL  -0.5
    """

    __slots__ = ()

    def to_frame(self) -> pd.DataFrame:
        """A row per comparison: the difference with its interval, p, and corrected p."""
        return frame(one.record() for one in self)

    def _repr_html_(self) -> str:
        return as_html(self.to_frame())


@hints()
def compare(
    values: Values,
    reference: str | None = None,
    learners: Sequence[str] | None = None,
    *,
    all_pairs: bool = False,
) -> Comparisons:
    """Compare every learner with the reference, as one family.

    Parameters
    ----------
    values : DataArray over (learner, replication), Dataset or DataFrame
        The values; rounds and tasks are summed. For the results of `simulate`, the regret is used,
        for those of a study the regret of each learner `at_best`. A DataFrame has a column per
        learner and a row per replication.
    reference : str, optional
        The name of a learner, by default the first.
    learners : sequence of str, optional
        The learners to compare, in order; by default all but the reference.
    all_pairs : bool, default False
        Compare every learner with every later one.

    Returns
    -------
    Comparisons
        Differences of means with intervals and p-values.

    Examples
    --------
    >>> agents = [hs.learners.itl(), hs.learners.rr_oful(), hs.learners.avg_oful()]
    >>> world = hs.environments.Synthetic(reward="linear")
    >>> results = hs.simulate(world, agents, n_tasks=5, horizon=20, replications=10)
    >>> [found.learner for found in hs.compare(results, "ITL")]
    ['RR-OFUL', 'AVG-OFUL']
    >>> [(one.learner, one.reference) for one in hs.compare(results, all_pairs=True)]
    [('ITL', 'RR-OFUL'), ('ITL', 'AVG-OFUL'), ('RR-OFUL', 'AVG-OFUL')]
    """
    table = _by_replication(values)
    known = [str(name) for name in table["learner"].to_numpy()]
    if len(known) < 2 and learners is None:
        raise ValueError(f"values must have at least two learners to compare, got {known}")
    if all_pairs:
        if reference is not None:
            raise ValueError(
                f"give all_pairs or a reference, not both, got reference {reference!r}"
            )
        return compare_pairs(table, list(combinations(learners or known, 2)))
    against = checks.one_of("reference", known[0] if reference is None else reference, known)
    chosen = [name for name in known if name != against] if learners is None else learners
    return compare_pairs(table, [(name, against) for name in chosen])


def compare_pairs(values: Values, pairs: Sequence[tuple[str, str]]) -> Comparisons:
    """Compare pairs of learners, first minus second, as one family.

    Parameters
    ----------
    values : DataArray over (learner, replication), Dataset or DataFrame
        As for `compare`.
    pairs : sequence of (str, str)
        The names of the learners.

    Returns
    -------
    Comparisons

    Examples
    --------
    >>> import xarray as xr
    >>> from headstart.studies import compare_pairs
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal([[5.0], [3.0]], 1.0, (2, 20))
    >>> regret = xr.DataArray(values, {"learner": ["ITL", "RR"]}, ("learner", "replication"))
    >>> (found,) = compare_pairs(regret, [("RR", "ITL")])
    >>> found.reference
    'ITL'
    """
    table = _by_replication(values)
    known = [str(name) for name in table["learner"].to_numpy()]
    for name in (name for pair in pairs for name in pair):
        checks.one_of("learner", name, known)
    differences = [
        np.asarray((table.sel(learner=one) - table.sel(learner=other)).to_numpy())
        for one, other in pairs
    ]
    return compare_differences(pairs, differences)


def compare_differences(
    pairs: Sequence[tuple[str, str]], differences: Sequence[Floats]
) -> Comparisons:
    """Pairs of learners by the differences of their values in each replication, as one family."""
    p_values = [paired_p_value(each) for each in differences]
    return Comparisons(
        Comparison(
            learner=one, reference=other, difference=interval(each), p_value=p, corrected=holm
        )
        for (one, other), each, p, holm in zip(
            pairs, differences, p_values, corrected(p_values), strict=True
        )
    )


def _by_replication(values: Values) -> xr.DataArray:
    """Values (learner, replication): regrets of results, summed over tasks and rounds."""
    table = values.get("regret") if isinstance(values, xr.Dataset) else values
    if isinstance(table, pd.DataFrame):
        table = _of_frame(table)
    if not isinstance(table, xr.DataArray) or "learner" not in table.coords:
        raise ValueError(
            "values must be a labelled array over (learner, replication), such as results.regret, "
            f"got {type(values).__name__}"
        )
    if table.isnull().any():
        raise ValueError("values must not be missing or NaN: each learner plays every replication")
    table = table.sum([name for name in ("task", "round") if name in table.dims])
    if "cohort" in table.coords:
        table = independent(table.to_dataset(name="values"))["values"]
    table = table.squeeze(
        [n for n in table.dims if n not in {"learner", "replication"} and table.sizes[n] == 1],
        drop=True,
    )
    if set(table.dims) == {"learner", "regularization", "replication"}:
        table = at_best(table)
    if set(table.dims) != {"learner", "replication"}:
        others = [f"{name}=…" for name in table.dims if name not in {"learner", "replication"}]
        hint = f"; choose with values.sel({', '.join(others)})" if others else ""
        raise ValueError(
            f"values must be over (learner, replication), got dimensions {table.dims}{hint}"
        )
    return table.transpose("learner", "replication")


def _of_frame(table: pd.DataFrame) -> xr.DataArray:
    """A column per learner and a row per replication; or regrets with both as columns."""
    if {"learner", "replication", "regret"} <= {*table.index.names, *table.columns}:
        rows = table.reset_index() if any(table.index.names) else table
        over = [name for name in DIMENSIONS if name in rows]
        regret = rows.set_index(over)["regret"].to_xarray()
        regret = regret.sel(learner=rows["learner"].unique())
        if "cohort" in rows:
            cohorts = rows.groupby("replication")["cohort"].first().to_xarray()
            regret = regret.assign_coords(cohort=cohorts)
        return regret
    return xr.DataArray(
        checks.floats("values", table.to_numpy()).T,
        {"learner": [str(name) for name in table.columns]},
        ("learner", "replication"),
    )


def paired_p_value(differences: Floats) -> float:
    """The two-sided p-value of Student's t test that differences (R,) have mean 0.

    It is below 5 % exactly if the 95 % interval excludes 0. If all differences are 0, it is 1.
    """
    found = interval(differences)
    if found.replications < 2 or found.mean == 0.0:
        return 1.0
    if found.error == 0.0:
        return 0.0
    statistic = abs(found.mean) / found.error
    return float(2.0 * stdtr(found.replications - 1, -statistic))


def corrected(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction of n p-values, in the given order.

    The k-th smallest is multiplied by n − k + 1; then a running maximum, and 1 as a limit, apply.
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    stepped = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    result = np.empty_like(p)
    result[order] = stepped
    return [float(value) for value in result]


def playing(study: Study) -> list[str]:
    """The learners of a study that learn: all except OPT."""
    return [learner.name for learner in _learning(study)]


def default_reference(study: Study) -> str | None:
    """The first learner that starts every task from zero, else the first that learns, else None.

    A `Uniform` policy ignores its prior and comes last.
    """
    return next((one.name for one in sorted(_learning(study), key=_rank)), None)


def _learning(study: Study) -> list[LearnerSpec]:
    return [one for one in study.learners if one.specs()]


def _rank(learner: LearnerSpec) -> int:
    """0 if it starts every task from zero, 2 if it plays at random, else 1."""
    parts = [part for spec in learner.specs().values() for part in spec.nested()]
    asked = set().union(*(part.placeholders() for part in parts)) - {"regularization"}
    # What asks the environment does not start from zero; own code may be gone.
    if asked or any(":" in part.kind for part in parts):
        return 1
    agent = learner.build(learner.name, lambda _: 1.0)
    if isinstance(agent, MetaLinEXP3):
        return 0 if agent.start == "none" else 1
    if not isinstance(agent, Learner):
        return 1
    if isinstance(agent.policy, Uniform):
        return 2
    return 0 if isinstance(agent.prior, Fixed) and not np.any(agent.prior.bias) else 1
