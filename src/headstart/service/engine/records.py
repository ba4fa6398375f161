"""Records: what the store has, as messages."""

from collections.abc import Callable

import numpy as np
from sqlalchemy import Connection

from headstart.arrays import floats
from headstart.live.stored import Model, StoredMemory, StoredTasks
from headstart.service.engine.configuration import model_of
from headstart.service.messages import (
    BanditView,
    DecisionRecord,
    Item,
    PriorVersion,
    PriorView,
    TaskRecord,
    not_found,
)
from headstart.service.store.database import Database
from headstart.service.store.queries import bandits, decisions, priors, tasks
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


class Records:
    """What the store has, as messages; each call is a short transaction that only reads."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def bandit(self, name: str) -> BanditView:
        """A bandit as it is."""
        with self._database.reading() as connection:
            return bandits.view(connection, bandits.named(connection, name))

    def bandits(self) -> list[BanditView]:
        """All bandits, in the order of their names."""
        with self._database.reading() as connection:
            return [bandits.view(connection, row) for row in bandits.all_bandits(connection)]

    def items(self, bandit: str, *, after: str | None = None, limit: int = 1000) -> list[Item]:
        """Items of the catalogue by id, those behind `after`."""
        with self._database.reading() as connection:
            row = bandits.named(connection, bandit)
            items = bandits.items_of(connection, row.id, after=after, limit=limit)
        return [Item(id=i.id, features=i.features.tolist(), tags=i.tags) for i in items]

    def decision(self, bandit: str, decision: str) -> DecisionRecord:
        """A decision as it was made, and what became of it."""
        with self._database.reading() as connection:
            return decisions.record(connection, bandits.named(connection, bandit), decision)

    def task(self, bandit: str, task: str) -> TaskRecord:
        """What is known of a task."""
        with self._database.reading() as connection:
            row = bandits.named(connection, bandit)
            return task_record(connection, row, self._model(row), task)

    def prior(self, bandit: str, *, history: int = 100) -> PriorView:
        """The current prior, and its latest versions."""
        with self._database.reading() as connection:
            row = bandits.named(connection, bandit)
            return prior_view(connection, row, self._model(row), history)

    def _model(self, row: BanditRow) -> Model:
        return model_of(row.configuration, self._clock)
