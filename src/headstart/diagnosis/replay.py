"""Replay: a finished study played again, number for number, with what the theory needs kept.

A study's results are regrets. Misalignment, estimation errors and coverage need every task's
arms, statistics and parameter, which are far larger and follow from the study and its seed.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from headstart.diagnosis.recording import record
from headstart.interfaces import Environment
from headstart.simulation.learner import Learner, Optimal
from headstart.studies.results import totals
from headstart.studies.shards import SweptLearners, shard_seed
from headstart.studies.study import Study
from headstart.studies.toml import from_toml

# Enough for intervals; more only takes longer.
_REPLICATIONS = 100


def replay(results: xr.Dataset, *, regularization: float | None = None) -> xr.Dataset:
    """A recording of the study whose results these are, at one λ of its grid.

    The λ is that of least regret, averaged over learners, unless given. Tests from a memory are
    replayed as their training tasks. As many shards are replayed as make 100 replications. A
    sequence's regrets are checked against the results.
    """
    if "study" not in results.attrs:
        raise ValueError(
            "results must carry the study that made them, as `headstart run` writes it"
        )
    study = from_toml(str(results.attrs["study"]))
    strength = _least_regret(results) if regularization is None else regularization
    if strength not in study.regularization:
        raise ValueError(f"regularization must be one of {study.regularization}, got {strength}")
    environment = study.environment_built()
    shards = range(min(study.n_shards, -(-_REPLICATIONS // study.shard)))
    parts = [_replay_shard(study, environment, strength, number) for number in shards]
    whole = xr.concat(
        parts,
        "replication",
        data_vars="minimal",
        coords="minimal",
        compat="equals",
        combine_attrs="drop_conflicts",
    )
    for name in ("feature_bound", "mean_bound"):
        whole.attrs[name] = max(float(part.attrs[name]) for part in parts)
    whole.attrs["seed"] = study.seed
    whole.attrs["environment"] = f"{study.name} at λ = {strength:g}"
    if study.protocol == "sequence":
        _check(whole, results, strength)
    return whole


def _replay_shard(
    study: Study, environment: Environment, strength: float, number: int
) -> xr.Dataset:
    swept = SweptLearners(study, environment)
    names = swept.names(strength)

    def chosen(prepared: Environment) -> Sequence[Learner | Optimal]:
        return [learner for learner in swept.build(prepared) if learner.name in names]

    first = number * study.shard
    n_tasks = study.tasks if study.protocol == "sequence" else max(*study.training_tasks, 2)
    part = record(
        environment,
        chosen,
        n_tasks=n_tasks,
        horizon=study.horizon,
        noise_scale=_noise_scale(study, environment),
        replications=min(study.shard, study.replications - first),
        seed=shard_seed(study.seed, number),
        regularizations=study.regularization if len(study.regularization) > 1 else (),
    )
    size = part.sizes["replication"]
    return part.assign_coords(
        learner=[names[str(name)] for name in part["learner"].to_numpy()],
        replication=np.arange(first, first + size),
    )


def _least_regret(results: xr.Dataset) -> float:
    """The λ at which the learners together have the least regret."""
    mean = totals(results).mean(["learner", "replication"])
    return float(mean["regularization"].to_numpy()[int(np.argmin(mean.to_numpy()))])


def _noise_scale(study: Study, environment: Environment) -> float:
    """R as the study's policies have it, or the environment."""
    for learner in study.learners:
        said = None if learner.policy is None else learner.policy.settings.get("noise_scale")
        if isinstance(said, int | float):
            return float(said)
    return float(getattr(environment, "noise_scale", 1.0))


def _check(replayed: xr.Dataset, results: xr.Dataset, strength: float) -> None:
    """The same regrets, up to what another machine's rounding can do to a choice here and there."""
    then = totals(results).sel(regularization=strength)
    then = then.sel(learner=replayed["learner"], replication=replayed["replication"])
    past = then.mean("replication")
    now = replayed["regret"].sum(["task", "round"]).mean("replication")
    if not np.allclose(past, now, rtol=0.05, atol=1e-6):
        worst = str(replayed["learner"].to_numpy()[int(np.argmax(np.abs((past - now).to_numpy())))])
        raise ValueError(
            f"{worst} had a regret of {float(past.sel(learner=worst)):.4g} in the results and "
            f"{float(now.sel(learner=worst)):.4g} when played again: they were made by other code"
        )
