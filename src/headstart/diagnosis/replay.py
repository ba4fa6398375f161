"""Replay: a finished study played again, number for number, and recorded for the theory.

A study's results are regrets. Misalignment, estimation errors and coverage need every task's arms,
statistics and parameter. These are far larger, but follow from the study and its seed.
"""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import xarray as xr

from headstart import own_code
from headstart.diagnosis.recorder import record
from headstart.interfaces import Environment
from headstart.progress import Progress
from headstart.studies.comparisons import playing
from headstart.studies.digests import changed, sources
from headstart.studies.folder import read_dataset
from headstart.studies.results import at_best, measured, totals
from headstart.studies.shards import build_agents, shard_seed
from headstart.studies.study import Study
from headstart.studies.toml import from_toml

# Enough for narrow intervals; more takes longer.
_REPLICATIONS = 100


def recording_of(
    path: Path, *, regularization: float | None = None, progress: Progress | None = None
) -> xr.Dataset:
    """The recording in a file, or of the results in it or in `results.nc` of a study's folder."""
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
    found = read_dataset(file)
    is_recording = "gram" in found
    return (
        found if is_recording else replay(found, regularization=regularization, progress=progress)
    )


def replay(
    results: xr.Dataset, *, regularization: float | None = None, progress: Progress | None = None
) -> xr.Dataset:
    """Record a study again, from its results.

    Every learner plays at its best λ after the largest number of training tasks, as `headstart run`
    and `headstart report` show it, without the replications that chose it; or all play at a given λ
    of the study's grid. A train-then-test study is replayed as its training tasks. Shards are
    replayed until there are 100 replications. Your own code and data must not have changed, and a
    sequence's regrets are checked against the results.
    """
    if "study" not in results.attrs:
        raise ValueError(
            "the results do not say which study made them; `headstart run` writes that"
        )
    study = from_toml(str(results.attrs["study"]), str(results.attrs.get("folder", "")))
    _check_sources(study, results)
    if regularization is not None and regularization not in study.regularization:
        grid = study.regularization
        raise ValueError(f"regularization must be one of {grid}, got {regularization}")
    chosen = _chosen(study, results, regularization)
    n = min(study.n_shards, -(-_REPLICATIONS // study.shard))
    with own_code.importable(study.folder):
        environment = study.environment_built()
        replayed = [
            _replay_shard(study, environment, chosen, number, _part(progress, number, n))
            for number in range(n)
        ]
    recorded = xr.concat(
        replayed,
        "replication",
        data_vars="minimal",
        coords="minimal",
        compat="equals",
        combine_attrs="drop_conflicts",
    )
    for name in ("feature_bound", "mean_bound"):
        recorded.attrs[name] = max(float(shard.attrs[name]) for shard in replayed)
    if regularization is None and len(study.regularization) > 1 and study.swept:
        recorded = recorded.isel(
            replication=np.isin(recorded["replication"].to_numpy(), measured(results))
        )
    recorded.attrs["seed"] = study.seed
    recorded.attrs["environment"] = study.name
    recorded.attrs["learners"] = json.dumps(playing(study))
    recorded.attrs["rule"] = (
        "each learner at its λ of least regret" if regularization is None else "all at the same λ"
    )
    if study.protocol == "sequence":
        names = recorded["learner"].to_numpy()
        values = xr.DataArray([chosen[str(name)] for name in names], {"learner": names}, "learner")
        _check_regrets(recorded, results.sel(learner=values["learner"], regularization=values))
    return recorded


def _part(progress: Progress | None, number: int, n: int) -> Progress:
    """The progress of one of n equal parts."""

    def tell(done: int, total: int) -> None:
        if progress is not None:
            progress(number * total + done, n * total)

    return tell


def _replay_shard(
    study: Study,
    environment: Environment,
    regularization: Mapping[str, float],
    number: int,
    progress: Progress,
) -> xr.Dataset:
    # A learner's name in the study determines its random stream.
    names = {study.agent(one, regularization[one.name]): one.name for one in study.learners}
    replications = study.in_shard(number)
    n_tasks = study.tasks if study.protocol == "sequence" else max(*study.training_tasks, 2)
    recorded = record(
        environment,
        partial(build_agents, study, environment, names),
        n_tasks=n_tasks,
        horizon=study.horizon,
        noise_scale=_noise_scale(study, environment),
        replications=len(replications),
        seed=shard_seed(study.seed, number),
        regularizations=study.regularization if len(study.regularization) > 1 else (),
        progress=progress,
    )
    labels = {
        dimension: [names[str(name)] for name in recorded[dimension].to_numpy()]
        for dimension in ("learner", "agent")
    }
    return recorded.assign_coords({**labels, "replication": list(replications)})


def _chosen(study: Study, results: xr.Dataset, regularization: float | None) -> dict[str, float]:
    """The λ of every learner, by name: the one with least regret unless given."""
    best = at_best(totals(results))["regularization"].fillna(study.regularization[0])
    return {
        str(name): float(best.sel(learner=name)) if regularization is None else regularization
        for name in best["learner"].to_numpy()
    }


def _noise_scale(study: Study, environment: Environment) -> float:
    """The largest R of the study's policies; else the environment's."""
    policies = [learner.policy for learner in study.learners if learner.policy is not None]
    settings = [policy.settings.get("noise_scale") for policy in policies]
    scales = [float(scale) for scale in settings if isinstance(scale, int | float)]
    return max(scales) if scales else float(getattr(environment, "noise_scale", 1.0))


def _check_sources(study: Study, results: xr.Dataset) -> None:
    """Check that your own code and data have not changed; headstart's code may have."""
    before = json.loads(str(results.attrs.get("sources", "{}")))
    if before:
        now = sources(study)
        names = changed(before | {"headstart": now["headstart"]}, now)
        if names:
            raise ValueError(
                f"{', '.join(names)} changed since the results were made; run the study again first"
            )


def _check_regrets(replayed: xr.Dataset, results: xr.Dataset) -> None:
    """Check the regrets, up to choices that another machine's rounding may change."""
    every = totals(results.drop_vars("cohort", errors="ignore"))
    expected = every.sel(learner=replayed["learner"], replication=replayed["replication"])
    before = expected.mean("replication")
    now = replayed["regret"].sum(["task", "round"]).mean("replication")
    if not np.allclose(before, now, rtol=0.05, atol=1e-6):
        difference = np.abs((before - now).to_numpy())
        worst = str(replayed["learner"].to_numpy()[int(np.argmax(difference))])
        raise ValueError(
            f"{worst} had a regret of {float(before.sel(learner=worst)):.4g} in the results and "
            f"{float(now.sel(learner=worst)):.4g} when played again: other code made the results"
        )
