"""Records: what the store has, as messages."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection, func, select

from headstart.live.stored import Model, StoredMemory, StoredTasks, default_names, floats
from headstart.service.engine.configuration import decode, dimension_of, model_of
from headstart.service.messages import (
    BanditView,
    Contribution,
    DecisionRecord,
    Item,
    PriorVersion,
    PriorView,
    TaskRecord,
    not_found,
)
from headstart.service.store import schema
from headstart.service.store.database import Database


def bandit_row(connection: Connection, name: str) -> Any:
    """The row of a bandit."""
    table = schema.bandits
    row = connection.execute(select(table).where(table.c.name == name)).one_or_none()
    if row is None:
        raise not_found(f"there is no bandit {name!r}")
    return row


def bandit_rows(connection: Connection) -> list[Any]:
    """The rows of all bandits, in the order of their names."""
    table = schema.bandits
    return list(connection.execute(select(table).order_by(table.c.name)))


def bandit_view(connection: Connection, row: Any) -> BanditView:
    """A bandit, with numbers that are sums over its minutes."""
    configuration = decode(row.configuration)
    table = schema.minutes
    sums = [func.coalesce(func.sum(table.c[n]), 0) for n in ("opened", "decisions", "rewards")]
    found = connection.execute(select(*sums).where(table.c.bandit == row.id)).one()
    items = schema.items
    n_items = connection.execute(
        select(func.count()).select_from(items).where(items.c.bandit == row.id)
    ).scalar_one()
    dimension = dimension_of(configuration)
    return BanditView(
        name=row.name,
        configuration=configuration,
        dimension=dimension,
        feature_names=feature_names(row),
        created=row.created,
        changed=row.changed,
        items=n_items,
        tasks=int(found[0]),
        decisions=int(found[1]),
        rewards=int(found[2]),
        prior_version=row.prior_version,
    )


def feature_names(row: Any) -> list[str]:
    """The names of a bandit's features."""
    configuration = decode(row.configuration)
    return configuration.feature_names or list(default_names(dimension_of(configuration)))


def decision_record(connection: Connection, bandit: Any, decision: str) -> DecisionRecord:
    """A decision as it was made, and what became of it."""
    table, tasks = schema.decisions, schema.tasks
    query = (
        select(table, tasks.c.name, tasks.c.control)
        .join(tasks, tasks.c.id == table.c.task)
        .where(table.c.id == decision, table.c.bandit == bandit.id)
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        raise not_found(f"bandit {bandit.name!r} has no decision {decision!r}")
    x = floats(row.features)
    parts = np.zeros((2, len(x)))
    if row.parts is not None:
        parts = np.frombuffer(row.parts, dtype="<f4").astype(np.float64).reshape(2, len(x))
    mean = float(parts.sum()) if row.mean is None else row.mean
    half = 0.0 if row.half is None else row.half
    names = feature_names(bandit)
    return DecisionRecord(
        id=row.id,
        bandit=bandit.name,
        task=row.name,
        arm=row.arm,
        rank=row.rank,
        observed=bool(row.observed),
        time=row.time,
        propensity=row.propensity,
        mean=mean,
        low=mean - half,
        high=mean + half,
        prior_version=row.prior_version,
        control=bool(row.control),
        contributions=[
            Contribution(feature=name, value=value, from_prior=prior, from_rewards=rewards)
            for name, value, prior, rewards in zip(names, x.tolist(), *parts.tolist(), strict=True)
        ],
        status=schema.DECISION_STATUS[row.status],  # type: ignore[arg-type]
        value=row.value,
        weight=row.weight,
        paid_time=row.paid_time,
        round=row.round,
    )


def task_record(connection: Connection, bandit: Any, model: Model, name: str) -> TaskRecord:
    """What is known of a task."""
    table = schema.tasks
    query = select(table).where(table.c.bandit == bandit.id, table.c.name == name)
    row = connection.execute(query).one_or_none()
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
        control=bool(row.control),
        status=schema.TASK_STATUS[row.status],  # type: ignore[arg-type]
        opened=row.opened,
        last_used=row.last_used,
        n_rewards=row.n_rewards,
        reward_sum=row.reward_sum,
        feature_names=feature_names(bandit),
        parameter=estimate.parameter.tolist(),
        prior_mean=estimate.prior.bias.tolist(),
        spread=spread.tolist(),
        noise_scale=view.noise_scale,
        side=None if side is None else side.tolist(),
    )


def prior_view(connection: Connection, bandit: Any, model: Model, history: int) -> PriorView:
    """The current prior, and the latest versions."""
    table = schema.priors
    query = (
        select(*(column for column in table.c if column.name not in ("memory", "fits")))
        .where(table.c.bandit == bandit.id)
        .order_by(table.c.version.desc())
        .limit(max(history, 1))
    )
    versions = [_version(row) for row in connection.execute(query)]
    current = versions[0] if versions else _first(model, bandit.created)
    fields = {name: getattr(current, name) for name in PriorVersion.__struct_fields__}
    return PriorView(feature_names=feature_names(bandit), history=versions[:history], **fields)


def _version(row: Any) -> PriorVersion:
    return PriorVersion(
        version=row.version,
        time=row.time,
        mean=floats(row.mean).tolist(),
        spread=floats(row.spread).tolist(),
        noise_scale=row.noise_scale,
        n_tasks=row.n_tasks,
        effective_tasks=row.effective_tasks,
        source=row.source,
    )


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


def items_of(connection: Connection, bandit: Any, after: str | None, limit: int) -> list[Item]:
    """Items of the catalogue in the order of their ids."""
    table = schema.items
    query = select(table).where(table.c.bandit == bandit.id).order_by(table.c.item).limit(limit)
    if after is not None:
        query = query.where(table.c.item > after)
    return [
        Item(
            id=row.item, features=floats(row.features).tolist(), tags=msgspec.json.decode(row.tags)
        )
        for row in connection.execute(query)
    ]


class Records:
    """What the store has, as messages; each call is a short transaction that only reads."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def bandit(self, name: str) -> BanditView:
        """A bandit as it is."""
        with self._database.reading() as connection:
            return bandit_view(connection, bandit_row(connection, name))

    def bandits(self) -> list[BanditView]:
        """All bandits, in the order of their names."""
        with self._database.reading() as connection:
            return [bandit_view(connection, row) for row in bandit_rows(connection)]

    def items(self, bandit: str, *, after: str | None = None, limit: int = 1000) -> list[Item]:
        """Items of the catalogue by id, those behind `after`."""
        with self._database.reading() as connection:
            row = bandit_row(connection, bandit)
            return items_of(connection, row, after, limit)

    def decision(self, bandit: str, decision: str) -> DecisionRecord:
        """A decision as it was made, and what became of it."""
        with self._database.reading() as connection:
            row = bandit_row(connection, bandit)
            return decision_record(connection, row, decision)

    def task(self, bandit: str, task: str) -> TaskRecord:
        """What is known of a task."""
        with self._database.reading() as connection:
            row = bandit_row(connection, bandit)
            return task_record(connection, row, self._model(row), task)

    def prior(self, bandit: str, *, history: int = 100) -> PriorView:
        """The current prior, and its latest versions."""
        with self._database.reading() as connection:
            row = bandit_row(connection, bandit)
            return prior_view(connection, row, self._model(row), history)

    def _model(self, row: Any) -> Model:
        return model_of(decode(row.configuration), self._clock)
