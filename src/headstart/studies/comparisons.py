"""Comparisons: paired differences of learners, with intervals and Holm's correction.

All learners of a study play the same tasks with the same noise, so a difference is taken within
each replication, and its interval is Student's t over replications.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.special import stdtr

from headstart import checks
from headstart.arrays import Floats
from headstart.intervals import CONFIDENCE, Interval, interval
from headstart.studies.study import LearnerSpec, Study


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A learner's mean less the reference's: below 0 it has less regret.

    `p_value` is that of the paired t test of no difference, `corrected` Holm's, which holds for all
    comparisons of a family together. At one replication both are 1.

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
        """Whether the difference is not 0, at the level of 5 % for the family as a whole."""
        return self.corrected <= 1.0 - CONFIDENCE


def at_best(
    values: xr.DataArray, *, largest: bool = False, swept: Collection[str] | None = None
) -> xr.DataArray:
    """Every learner at its best λ in hindsight, (learner, replication).

    `values` are (learner, regularization, replication), such as `totals(results)`; best is the
    least mean, or the `largest`. The coordinate `regularization` of the learners is that λ, NaN
    where a learner has none of the grid: all but `swept` (those of a study: `Study.swept`), unless
    given those with the same numbers at every λ. The minimum over a grid is a little optimistic:
    each λ was chosen by the same replications.

    >>> import xarray as xr
    >>> from headstart.studies import at_best
    >>> totals = xr.DataArray(
    ...     [[[4.0, 6.0], [1.0, 3.0]]],
    ...     dims=("learner", "regularization", "replication"),
    ...     coords={"learner": ["RR"], "regularization": [0.1, 1.0]},
    ... )
    >>> best = at_best(totals)
    >>> best.regularization.item(), best.mean().item()
    (1.0, 2.0)
    """
    means = values.mean("replication")
    index = means.argmax("regularization") if largest else means.argmin("regularization")
    chosen = values.isel(regularization=index).transpose("learner", "replication")
    if swept is None:
        same = (values == values.isel(regularization=0)).all(["regularization", "replication"])
        follows = ~same if values.sizes["regularization"] > 1 else xr.ones_like(same)
    else:
        follows = values["learner"].isin(list(swept))
    return chosen.assign_coords(regularization=chosen["regularization"].where(follows))


def compare(
    values: xr.DataArray, reference: str, learners: Sequence[str] | None = None
) -> list[Comparison]:
    """Every learner against the reference: values (learner, replication), one family.

    `learners` are those to compare, in order; all but the reference unless given.

    >>> import xarray as xr
    >>> from headstart.studies import compare
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal([[5.0], [3.0]], 1.0, (2, 20))
    >>> regret = xr.DataArray(values, {"learner": ["ITL", "RR"]}, ("learner", "replication"))
    >>> [found.learner for found in compare(regret, "ITL")]
    ['RR']
    """
    known = [str(name) for name in values["learner"].to_numpy()]
    checks.one_of("reference", reference, known)
    chosen = [name for name in known if name != reference] if learners is None else learners
    pairs = [(checks.one_of("learner", name, known), reference) for name in chosen]
    return compare_pairs(values, pairs)


def compare_pairs(values: xr.DataArray, pairs: Sequence[tuple[str, str]]) -> list[Comparison]:
    """Pairs of learners, first less second, as one family: values (learner, replication).

    >>> import xarray as xr
    >>> from headstart.studies import compare_pairs
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal([[5.0], [3.0]], 1.0, (2, 20))
    >>> regret = xr.DataArray(values, {"learner": ["ITL", "RR"]}, ("learner", "replication"))
    >>> (found,) = compare_pairs(regret, [("RR", "ITL")])
    >>> found.reference
    'ITL'
    """
    differences = [
        np.asarray((values.sel(learner=one) - values.sel(learner=other)).to_numpy())
        for one, other in pairs
    ]
    p_values = [paired_p_value(each) for each in differences]
    return [
        Comparison(
            learner=one, reference=other, difference=interval(each), p_value=p, corrected=holm
        )
        for (one, other), each, p, holm in zip(
            pairs, differences, p_values, corrected(p_values), strict=True
        )
    ]


def paired_p_value(differences: Floats) -> float:
    """The two-sided p-value of Student's t test that differences (R,) have mean 0.

    It is below 5 % where the 95 % interval excludes 0. Differences that are all 0 have 1.
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

    The k-th smallest is multiplied by n − k + 1, made to increase, and at most 1.
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    stepped = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    result = np.empty_like(p)
    result[order] = stepped
    return [float(value) for value in result]


def playing(study: Study) -> list[str]:
    """The learners of a study that learn: all but OPT."""
    return [learner.name for learner in _learning(study)]


def default_reference(study: Study) -> str | None:
    """The first learner that starts every task from zero, else the first that learns, else None.

    A `Uniform` policy ignores its prior and is taken last.
    """
    return next((one.name for one in sorted(_learning(study), key=_rank)), None)


def _learning(study: Study) -> list[LearnerSpec]:
    return [one for one in study.learners if one.policy is not None or one.agent is not None]


def _rank(learner: LearnerSpec) -> int:
    ignores = learner.policy is not None and learner.policy.kind == "Uniform"
    prior = learner.prior
    zero = prior is not None and prior.kind in {"Fixed", "Fixed.zero"}
    from_zero = zero and prior is not None and "bias" not in prior.settings
    return 2 if ignores else 0 if from_zero else 1
