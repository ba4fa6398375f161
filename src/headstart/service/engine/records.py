"""Records: what is known of a task, and of the prior, as messages."""

import numpy as np
from sqlalchemy import Connection

from headstart.arrays import floats
from headstart.live.stored import Model, StoredMemory, StoredTasks
from headstart.service.messages import PriorVersion, PriorView, TaskRecord, not_found
from headstart.service.store.queries import priors, tasks
from headstart.service.store.queries.bandits import BanditRow


def task_record(connection: Connection, bandit: BanditRow, model: Model, name: str) -> TaskRecord:
    """What is known of a task."""
    row = tasks.state_of(connection, bandit.id, name)
    if row is None:
        raise not_found(f"bandit {bandit.name!r} has no task {name!r}")
    rows = StoredTasks(model)
    side = None if row.side is None else floats(row.side)
    rows.load(row.id, row.state, side=side)
    view = rows.view(row.id)
    estimate = view.estimate
    spread = view.noise_scale * estimate.widths(np.eye(model.dimension))
    return TaskRecord(
        task=row.name,
        control=row.control,
        status=row.status,
        opened=row.opened,
        last_used=row.last_used,
        n_rewards=row.n_rewards,
        reward_sum=row.reward_sum,
        feature_names=bandit.feature_names,
        parameter=estimate.parameter.tolist(),
        prior_mean=estimate.prior.bias.tolist(),
        spread=spread.tolist(),
        noise_scale=view.noise_scale,
        side=None if side is None else side.tolist(),
    )


def prior_view(connection: Connection, bandit: BanditRow, model: Model, history: int) -> PriorView:
    """The current prior, and the latest versions."""
    versions = priors.versions(connection, bandit.id, max(history, 1))
    current = versions[0] if versions else _first(model, bandit.created)
    fields = {name: getattr(current, name) for name in PriorVersion.__struct_fields__}
    return PriorView(feature_names=bandit.feature_names, history=versions[:history], **fields)


def _first(model: Model, time: float) -> PriorVersion:
    """The prior before any task has taught."""
    learned = StoredMemory.empty(model).learned(model)
    return PriorVersion(
        version=0,
        time=time,
        mean=learned.mean.tolist(),
        spread=learned.spread.tolist(),
        noise_scale=learned.noise_scale,
        n_tasks=0,
        effective_tasks=0.0,
        source="start",
    )
