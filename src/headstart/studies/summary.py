"""Summary: every learner of a study at its best λ, and paired differences to one of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import pandas as pd
import xarray as xr

from headstart import checks
from headstart.frames import as_html, frame
from headstart.intervals import Interval, interval
from headstart.studies.comparisons import Comparison, compare, default_reference, playing
from headstart.studies.results import at_best, totals
from headstart.studies.study import Study


@dataclass(frozen=True, kw_only=True)
class LearnerSummary:
    """A learner at its best λ (`at_best`).

    Attributes
    ----------
    learner : str
        Its name.
    regularization : float or None
        That λ; None if the learner does not use the grid.
    regret, reward : Interval
        Their means over replications, and 95 % intervals.

    Examples
    --------
    >>> from headstart.intervals import interval
    >>> from headstart.studies import LearnerSummary
    >>> regret = interval(np.array([3.0, 4.0, 5.0]))
    >>> LearnerSummary(learner="RR", regularization=1.0, regret=regret, reward=regret).regret.mean
    4.0
    """

    learner: str
    regularization: float | None
    regret: Interval
    reward: Interval


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Learners at their best, and each against the reference, if there is one.

    Attributes
    ----------
    trained : int or None
        The number N of training tasks; None for a sequence.
    learners : sequence of LearnerSummary
        The learners at their best.
    reference : str or None
        The name of the reference.
    comparisons : sequence of Comparison
        The other learners against it.
    cohorts : bool
        Whether intervals count cohorts of replications that share users.

    Examples
    --------
    >>> from headstart.studies import Summary
    >>> summary = Summary(trained=None, learners=[], reference="ITL", comparisons=[])
    >>> summary.reference
    'ITL'
    >>> summary.to_frame().empty
    True
    """

    trained: int | None
    learners: Sequence[LearnerSummary]
    reference: str | None
    comparisons: Sequence[Comparison]
    cohorts: bool = False

    def to_frame(self) -> pd.DataFrame:
        """A row per learner: its λ, regret and reward, and the difference from the reference."""
        compared = {one.learner: one for one in self.comparisons}
        return frame(_row(one, compared.get(one.learner)) for one in self.learners)

    def _repr_html_(self) -> str:
        return as_html(self.to_frame())


def _row(one: LearnerSummary, comparison: Comparison | None) -> dict[str, object]:
    row: dict[str, object] = {
        "learner": one.learner,
        "regularization": one.regularization,
        "regret": one.regret.mean,
        "regret_error": one.regret.error,
        "reward": one.reward.mean,
        "reward_error": one.reward.error,
    }
    found = None if comparison is None else comparison.record()
    for name, of in _COMPARED.items():
        row[name] = None if found is None else found[of]
    return row


# Columns of a summary, and the numbers of a comparison that they have.
_COMPARED = {
    "difference": "mean", "low": "low", "high": "high", "p_corrected": "p_corrected",
}  # fmt: skip


def summarise(
    study: Study, results: xr.Dataset, *, reference: str | None = None, trained: int | None = None
) -> Summary:
    """Summarise regrets: every learner at its best λ, and against the reference.

    OPT, which has no regret, is not compared.

    Parameters
    ----------
    study : Study
        The study.
    results : xarray.Dataset
        Its results.
    reference : str, optional
        The name of a learner; by default the first one that starts every task from zero.
    trained : int, optional
        The number of training tasks, by default the study's last.

    Returns
    -------
    Summary

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart import studies
    >>> from headstart.specs import Spec
    >>> oful = Spec(kind="OFUL")
    >>> study = studies.Study(
    ...     name="small",
    ...     environment=Spec(kind="Synthetic", settings={"reward": "linear"}),
    ...     learners=(
    ...         studies.LearnerSpec(name="ITL", policy=oful, prior=Spec(kind="Fixed")),
    ...         studies.LearnerSpec(name="RR", policy=oful, prior=Spec(kind="Pooled")),
    ...     ),
    ...     horizon=20,
    ...     tasks=5,
    ...     replications=10,
    ... )
    >>> results = studies.run(study, Path("out/small"), workers=1)
    >>> summary = studies.summarise(study, results)
    >>> summary.reference, summary.comparisons[0].certain
    ('ITL', True)
    """
    study.check_trained(trained)
    regret, reward = (totals(results, name, trained) for name in ("regret", "reward"))
    best, gained = (at_best(regret, swept=study.swept, of=of) for of in (regret, reward))
    chosen = default_reference(study) if reference is None else reference
    learners = playing(study)
    after = study.training_tasks[-1] if trained is None else trained
    if chosen is not None:
        checks.one_of("reference", chosen, learners)
    return Summary(
        trained=after if study.protocol == "train-then-test" else None,
        learners=[_learner(name, best, gained) for name in map(str, best["learner"].to_numpy())],
        reference=chosen,
        comparisons=[]
        if chosen is None
        else compare(best, chosen, [name for name in learners if name != chosen]),
        cohorts="cohort" in results.coords,
    )


def _learner(name: str, best: xr.DataArray, reward: xr.DataArray) -> LearnerSummary:
    mine = best.sel(learner=name)
    value = float(mine["regularization"])
    return LearnerSummary(
        learner=name,
        regularization=None if math.isnan(value) else value,
        regret=interval(mine.to_numpy()),
        reward=interval(reward.sel(learner=name).to_numpy()),
    )


def plain(summary: Summary) -> dict[str, object]:
    """As a JSON table; a number that is not finite is null."""
    return finite(asdict(summary))


def finite(table: Mapping[str, object]) -> dict[str, object]:
    """A table with null for numbers that are not finite, which JSON cannot represent."""
    return {name: _finite(value) for name, value in table.items()}


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return finite(value)
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
