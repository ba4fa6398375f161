"""Recording: the arrays of a recorded simulation, by name."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import xarray as xr

from headstart.arrays import Floats, Integers
from headstart.core.statistics import TaskStatistics
from headstart.studies.folder import read_dataset
from headstart.studies.results import cohort_means

# What a diagnosis needs besides regrets: arms and parameters.
REQUIRED = (
    "regret",
    "gram",
    "moment",
    "sum_of_squares",
    "bias",
    "bias_error",
    "parameter",
    "policy",
    "has_bound",
)


def is_recording(dataset: xr.Dataset) -> bool:
    """Whether a dataset holds what a diagnosis needs besides regrets."""
    return all(name in dataset for name in REQUIRED)


def read(path: Path) -> xr.Dataset:
    """A recording or results: the file itself, or `results.nc` of a study's folder."""
    if path.suffix == ".toml":
        raise ValueError(
            f"{path} is a study, but a diagnosis needs its results: first `headstart run {path}`, "
            "then give the folder that it names"
        )
    if not path.exists():
        raise ValueError(f"no such study's folder or file of results: {path}")
    file = path / "results.nc" if path.is_dir() else path
    if not file.exists():
        raise ValueError(
            f"{path} has no results.nc: it is not a study's folder, or the run is not finished"
        )
    return read_dataset(file)


@dataclass(frozen=True, eq=False)
class Recording:
    """Every task's statistics, parameter, bias and confidence sets, as `record` made them.

    `late` tasks are the second half, when learners have tasks to learn from.
    """

    dataset: xr.Dataset

    @property
    def names(self) -> list[str]:
        """The learners."""
        return [str(name) for name in self.dataset["learner"].to_numpy()]

    @property
    def agents(self) -> list[str]:
        """The agents without a prior; only their regrets are known."""
        if "agent" not in self.dataset.coords:  # recorded by an older version
            return []
        return [str(name) for name in self.dataset["agent"].to_numpy()]

    def regret(self, name: str) -> Floats:
        """The regrets of a learner or of another agent, (R, n, T)."""
        if name not in self.agents:
            return self.of(name, "regret")
        mine = self.dataset["agent_regret"].sel(agent=name)
        return np.asarray(mine.transpose("replication", "task", "round").to_numpy())

    def directions(self, learner: str) -> Floats | None:
        """Along how many directions tasks differ, (R,); None if the prior does not say."""
        if "directions" not in self.dataset:
            return None
        found = np.asarray(self.dataset["directions"].sel(learner=learner).to_numpy())
        return None if np.isnan(found).any() else found

    @property
    def horizon(self) -> int:
        """T."""
        return int(self.dataset.sizes["round"])

    @property
    def n_tasks(self) -> int:
        """How many tasks every replication has, n."""
        return int(self.dataset.sizes["task"])

    @property
    def cohorts(self) -> Integers | None:
        """The cohort of every replication, (R,), if some share tasks; else None."""
        return self.dataset["cohort"].to_numpy() if "cohort" in self.dataset.coords else None

    @property
    def counted(self) -> str:
        """How many independent replications or cohorts intervals count."""
        n = self.dataset.sizes["replication"]
        if self.cohorts is None:
            return f"{n} replications"
        return f"{len(np.unique(self.cohorts))} cohorts of {n} replications"

    def independent(self, values: Floats) -> Floats:
        """Values (R, …) with the mean of each cohort as one replication."""
        return values if self.cohorts is None else cohort_means(values, self.cohorts)

    @property
    def mean_is_sampled(self) -> bool:
        """Whether w̄ is the mean over the sampled tasks, since the environment states none."""
        return bool(np.allclose(self.mean_parameter, self.parameters.mean(1), rtol=1e-9, atol=0))

    @property
    def late(self) -> slice:
        """The second half of the tasks."""
        return slice(self.n_tasks // 2, None)

    @cached_property
    def parameters(self) -> Floats:
        """The true parameters, (R, n, d)."""
        return np.asarray(self.dataset["parameter"].to_numpy())

    @cached_property
    def mean_parameter(self) -> Floats:
        """w̄ of every replication, (R, d)."""
        return np.asarray(self.dataset["mean_parameter"].to_numpy())

    def of(self, learner: str, variable: str, confidence_set: str | None = None) -> Floats:
        """A variable of one learner, (R, n, …)."""
        mine = self.dataset[variable].sel(learner=learner)
        if confidence_set is not None:
            mine = mine.sel(set=confidence_set)
        return np.asarray(mine.transpose("replication", "task", ...).to_numpy())

    def policy(self, learner: str) -> str:
        """The policy of a learner, with its settings."""
        return str(self.dataset["policy"].sel(learner=learner).item())

    def regularization(self, learner: str) -> float | None:
        """The λ of a learner's prior; None if it has no number for it."""
        if "prior_regularization" not in self.dataset:  # recorded by an older version
            return None
        value = float(self.dataset["prior_regularization"].sel(learner=learner))
        return None if np.isnan(value) else value

    @property
    def study_learners(self) -> list[str]:
        """All learners of the recorded study, including those not in the recording."""
        names = self.dataset.attrs.get("learners")
        return self.names if names is None else [str(name) for name in json.loads(str(names))]

    def has_bound(self, learner: str) -> bool:
        """Whether Lemma 2 bounds the learner's regret."""
        return bool(self.dataset["has_bound"].sel(learner=learner))

    def statistics(self, learner: str, tasks: slice) -> TaskStatistics:
        """The statistics of some of a learner's tasks, with leading axes (R, n)."""
        gram = self.of(learner, "gram")[:, tasks]
        return TaskStatistics(
            gram=gram,
            moment=self.of(learner, "moment")[:, tasks],
            count=np.full(gram.shape[:2], float(self.horizon)),
            sum_of_squares=self.of(learner, "sum_of_squares")[:, tasks],
        )

    def attribute(self, name: str) -> float:
        """A number of the recording, such as `noise_scale`."""
        return float(self.dataset.attrs[name])
