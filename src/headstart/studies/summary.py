"""Summary: every learner of a study at its best λ, and paired differences to one of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property

import pandas as pd
import xarray as xr

from headstart import checks
from headstart.frames import as_html, frame
from headstart.intervals import Interval, interval
from headstart.studies.comparisons import Comparisons, compare, default_reference, playing
from headstart.studies.results import at_best, at_training, totals
from headstart.studies.study import Study


@dataclass(frozen=True, eq=False)
class Summary:
    """A study and its results: every learner at its best λ, and against a reference.

    A learner's best λ (`at_best`) has the least regret after `trained` tasks. It stays the same
    when regret is shown against N: each curve is one learner that could be played.

    Parameters
    ----------
    study : Study
        The study.
    results : xarray.Dataset
        Its results, (learner, regularization, trained, replication, task, round).
    reference : str, optional
        The learner that differences are taken from; by default the first one that starts every task
        from zero. None if there are fewer than two learners.
    trained : int, optional
        The number N of training tasks, by default the study's last; None for a sequence.

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
    >>> summary = studies.Summary(study, results)
    >>> summary.reference, summary.comparisons[0].certain
    ('ITL', True)
    >>> summary.regret("RR").mean < summary.regret("ITL").mean
    True
    """

    study: Study
    results: xr.Dataset
    reference: str | None = None
    trained: int | None = None

    def __post_init__(self) -> None:
        self.study.check_trained(self.trained)
        reference, trained = self.reference, self.trained
        if reference is not None:
            checks.one_of("reference", reference, self.learners)
        elif len(self.learners) > 1:
            reference = default_reference(self.study)
        if self.study.protocol == "sequence":
            trained = None
        elif trained is None:
            trained = self.study.training_tasks[-1]
        object.__setattr__(self, "reference", reference)
        object.__setattr__(self, "trained", trained)

    @property
    def learners(self) -> list[str]:
        """All learners except OPT, whose regret is 0; OPT if there is nothing else."""
        return playing(self.study) or [learner.name for learner in self.study.learners]

    @property
    def with_opt(self) -> list[str]:
        """All learners."""
        return [str(name) for name in self.results["learner"].to_numpy()]

    def regularization(self, learner: str) -> float | None:
        """The best λ of a learner; None if it does not use the grid."""
        value = float(self._best["regularization"].sel(learner=learner))
        return None if math.isnan(value) else value

    def regret(self, learner: str) -> Interval:
        """The regret of a learner at its best λ, summed over tasks and rounds."""
        return interval(self._best.sel(learner=learner).to_numpy())

    def reward(self, learner: str) -> Interval:
        """The reward of a learner at the same λ."""
        reward = self._at_best(totals(self.results, "reward", self.trained))
        return interval(reward.sel(learner=learner).to_numpy())

    @cached_property
    def comparisons(self) -> Comparisons:
        """The other learners against the reference, each at its best λ."""
        if self.reference is None:
            return Comparisons()
        return compare(self.compared(None), self.reference)

    @property
    def after(self) -> str:
        """For titles and captions, such as “, after N = 20 tasks”; empty for a sequence."""
        if self.trained is None:
            return ""
        return f", after N = {self.trained} task{'' if self.trained == 1 else 's'}"

    @property
    def replications(self) -> int:
        """The number of independent replications; a cohort counts as one."""
        return self._totals.sizes["replication"]

    @property
    def counted(self) -> str:
        """What intervals count: replications, or cohorts of them that share users."""
        return "replications" if self.replications == self.study.replications else "cohorts"

    @cached_property
    def regrets(self) -> xr.DataArray:
        """Regret summed over tasks and rounds, without OPT: (learner, λ, replication)."""
        return self._totals.sel(learner=self.learners)

    def compared(self, value: float | None) -> xr.DataArray:
        """Regrets at one λ, or at each learner's best (None): (learner, replication)."""
        return self._at(self.regrets, value)

    def chosen(self, value: float | None, variable: str = "regret") -> xr.DataArray:
        """A variable at one λ, or at each learner's best (None).

        Over (learner, replication, task, round); OPT is left out of regrets.
        """
        values = at_training(self.results, self.trained)[variable]
        if variable == "regret":
            values = values.sel(learner=self.learners)
        return self._at(values, value)

    def by_training(self, value: float | None) -> xr.DataArray:
        """Regrets over (learner, trained, replication), at one λ or at each learner's best."""
        sizes = self.results["trained"].to_numpy().tolist()
        by_size = [totals(self.results, trained=n).sel(learner=self.learners) for n in sizes]
        every = xr.concat(by_size, "trained", join="exact").assign_coords(trained=sizes)
        return self._at(every, value)

    def _at(self, values: xr.DataArray, value: float | None) -> xr.DataArray:
        if value is None:
            return self._at_best(values).drop_vars("regularization")
        return values.sel(regularization=value, method="nearest", drop=True)

    def _at_best(self, values: xr.DataArray) -> xr.DataArray:
        return at_best(self._totals, swept=self.study.swept, of=values)

    @cached_property
    def _best(self) -> xr.DataArray:
        return self._at_best(self._totals)

    @cached_property
    def _totals(self) -> xr.DataArray:
        """Regret summed over tasks and rounds, of all learners: (learner, λ, replication)."""
        return totals(self.results, trained=self.trained)

    def to_frame(self) -> pd.DataFrame:
        """A row per learner: its λ, regret and reward, and the difference from the reference."""
        compared = {one.learner: one.record() for one in self.comparisons}
        names = {"difference": "mean", **{of: of for of in ("low", "high", "p_corrected")}}
        rows = []
        for name in self.with_opt:
            regret, reward = self.regret(name), self.reward(name)
            row: dict[str, object] = {
                "learner": name,
                "regularization": self.regularization(name),
                "regret": regret.mean,
                "regret_error": regret.error,
                "reward": reward.mean,
                "reward_error": reward.error,
            }
            found = compared.get(name, {})
            rows.append(row | {column: found.get(of) for column, of in names.items()})
        return frame(rows)

    def _repr_html_(self) -> str:
        return as_html(self.to_frame())

    def plain(self) -> dict[str, object]:
        """As a JSON table; a number that is not finite is null."""
        learners = [
            {
                "learner": name,
                "regularization": self.regularization(name),
                "regret": asdict(self.regret(name)),
                "reward": asdict(self.reward(name)),
            }
            for name in self.with_opt
        ]
        return finite(
            {
                "trained": self.trained,
                "learners": learners,
                "reference": self.reference,
                "comparisons": [asdict(one) for one in self.comparisons],
                "cohorts": self.counted == "cohorts",
            }
        )


def finite(table: Mapping[str, object]) -> dict[str, object]:
    """A table with null for numbers that are not finite, which JSON cannot represent."""
    return {name: _finite(value) for name, value in table.items()}


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return finite(value)
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
