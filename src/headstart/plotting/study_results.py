"""StudyResults: a study with its results, as reports use them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property

import xarray as xr

from headstart import environments
from headstart.studies.comparisons import default_reference, playing
from headstart.studies.results import at_best, at_training, totals
from headstart.studies.study import Study


@dataclass(frozen=True)
class StudyResults:
    """A study and its results, (learner, regularization, trained, replication, task, round).

    `given` is the learner that differences are taken from: by default the first that starts
    every task from zero. `trained` is the number N of training tasks: by default the last.

    A learner's best λ has the least regret after these N tasks. It stays the same when regret is
    shown against N: each curve is one learner that could be played.
    """

    study: Study
    results: xr.Dataset
    given: str | None = None
    trained: int | None = None

    @property
    def learners(self) -> list[str]:
        """All learners except OPT, whose regret is 0; OPT if there is nothing else."""
        return playing(self.study) or [learner.name for learner in self.study.learners]

    @property
    def reference(self) -> str | None:
        """The learner that differences are taken from; None if there are fewer than two."""
        if len(self.learners) < 2:
            return None
        return self.given or default_reference(self.study)

    @property
    def size(self) -> int:
        """The number N of training tasks."""
        return self.study.training_tasks[-1] if self.trained is None else self.trained

    @property
    def after(self) -> str:
        """For titles and captions, such as “, after N = 20 tasks”; empty for a sequence."""
        if self.study.protocol == "sequence":
            return ""
        return f", after N = {self.size} task{'' if self.size == 1 else 's'}"

    @cached_property
    def regrets(self) -> xr.DataArray:
        """Regret summed over tasks and rounds, without OPT: (learner, λ, replication)."""
        return self._totals.sel(learner=self.learners)

    @property
    def replications(self) -> int:
        """The number of independent replications; a cohort counts as one."""
        return self.regrets.sizes["replication"]

    @property
    def counted(self) -> str:
        """What intervals count."""
        return "replications" if self.replications == self.study.replications else "cohorts"

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

    def compared(self, value: float | None) -> xr.DataArray:
        """Regrets at one λ, or at each learner's best (None): (learner, replication)."""
        if value is None:
            return self._at_best(self.regrets)
        return self.regrets.sel(regularization=value, method="nearest")

    def _at(self, values: xr.DataArray, value: float | None) -> xr.DataArray:
        if value is None:
            return self._at_best(values).drop_vars("regularization")
        return values.sel(regularization=value, method="nearest", drop=True)

    def _at_best(self, values: xr.DataArray) -> xr.DataArray:
        return at_best(self._totals, swept=self.study.swept, of=values)

    @cached_property
    def _totals(self) -> xr.DataArray:
        """Regret summed over tasks and rounds, of all learners: (learner, λ, replication)."""
        return totals(self.results, trained=self.trained)

    @property
    def unit(self) -> str:
        """The unit of reward and regret."""
        return unit_of(self.study.environment.plain())


def choose_values(study: Study, given: Sequence[float]) -> list[float]:
    """Values of λ in a study's grid; raises for others."""
    for value in given:
        if not any(abs(value - known) <= 1e-6 * known for known in study.regularization):
            grid = ", ".join(f"{known:.3g}" for known in study.regularization)
            raise ValueError(f"λ must be one of the study's, {grid}, got {value:g}")
    return [min(study.regularization, key=lambda known: abs(known - value)) for value in given]


# The unit of a linear reward in the published data sets; a 0/1 reward counts wins everywhere.
_UNITS = {"Ratings.lastfm": "plays", "Ratings.movielens": "stars"}


def unit_of(environment: Mapping[str, object]) -> str:
    """The unit of reward in an environment, given as the table of a study."""
    if _setting(environment, "reward") == "winner":
        return "wins"
    unit = _UNITS.get(str(environment["class"]), "units of reward")
    return f"log(1 + {unit})" if _setting(environment, "transform") == "log" else unit


def _setting(environment: Mapping[str, object], name: str) -> object:
    """A setting of an environment, or its default."""
    if name in environment:
        return environment[name]
    found = getattr(environments, str(environment["class"]).split(".")[0], None)
    if found is None or not is_dataclass(found):
        return None
    return next((field.default for field in fields(found) if field.name == name), None)
