"""Migrations: the tables of a store brought to the current version, step by step."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Column, Connection, insert, inspect, select, update
from sqlalchemy.schema import CreateColumn

from headstart.service.store import schema

# The step at index i leads from version i to version i + 1, in the transaction that is given, and
# says so in its docstring. The first makes the tables as they are now: a new store needs no other.
Step = Callable[[Connection], None]


def _create(connection: Connection) -> None:
    """All tables."""
    schema.metadata.create_all(connection)
    connection.execute(insert(schema.schema_version).values(version=schema.VERSION))


def _attributes_of_items(connection: Connection) -> None:
    """A column for the attributes of items."""
    connection.exec_driver_sql("ALTER TABLE items ADD COLUMN attributes TEXT")


def _compared_tasks(connection: Connection) -> None:
    """The gain is measured again: tasks counted as warm that had no prior to start from."""
    connection.exec_driver_sql("ALTER TABLE tasks ADD COLUMN share DOUBLE PRECISION")
    connection.exec_driver_sql(
        "ALTER TABLE gains ADD COLUMN log_chance DOUBLE PRECISION NOT NULL DEFAULT 0"
    )
    connection.exec_driver_sql("DELETE FROM gains")


def _effects_of_items(connection: Connection) -> None:
    """A column for the effect of a decision's item."""
    connection.exec_driver_sql("ALTER TABLE decisions ADD COLUMN effect DOUBLE PRECISION")


def _version_5(connection: Connection) -> None:
    """Rewards in parts, guardrails, sums by item, arms not chosen, the caller's own choice."""
    for table in (schema.reward_parts, schema.metric_gains, schema.item_days, schema.shadows):
        table.create(connection)
    bandits, tasks, decisions = schema.bandits.c, schema.tasks.c, schema.decisions.c
    for column in (bandits.paused, bandits.accepted, tasks.early_metrics, tasks.against):
        _add(connection, column)
    for name in ("others", "catalogue", "offered", "service_arm", "service_propensity", "chance"):
        _add(connection, decisions[name])
    day = "CAST(FLOOR(time / 86400) AS INTEGER)"
    if connection.dialect.name == "sqlite":  # which has no FLOOR everywhere
        day = "CAST(time / 86400 AS INTEGER)"
    value = "CASE WHEN round IS NOT NULL THEN value END"
    connection.exec_driver_sql(
        "INSERT INTO item_days (bandit, day, item, process, shown, rewards, sum, squares) "
        f"SELECT bandit, {day}, arm, 0, COUNT(*), COUNT({value}), COALESCE(SUM({value}), 0), "
        f"COALESCE(SUM(({value}) * ({value})), 0) FROM decisions WHERE observed = 0 "
        f"GROUP BY bandit, {day}, arm"
    )


def _add(connection: Connection, column: "Column[Any]") -> None:
    """Add a column to existing rows."""
    words = CreateColumn(column).compile(dialect=connection.dialect)
    connection.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {words}")


STEPS: Sequence[Step] = (
    _create,
    _attributes_of_items,
    _compared_tasks,
    _effects_of_items,
    _version_5,
)


def version_of(connection: Connection) -> int:
    """The version of a store's tables, 0 if there are none."""
    if not inspect(connection).has_table(schema.schema_version.name):
        return 0
    return int(connection.execute(select(schema.schema_version.c.version)).scalar_one())


def due(connection: Connection, steps: Sequence[Step] = STEPS) -> Sequence[Step]:
    """The steps to the current version; tables of a later version are refused."""
    found = version_of(connection)
    if found > len(steps):
        raise ValueError(
            f"the store has version {found} and this version of headstart knows {len(steps)}: "
            "install the newer headstart, or restore a backup"
        )
    return steps[found:] if found else steps[:1]


def migrate(connection: Connection, steps: Sequence[Step] = STEPS) -> None:
    """Bring the tables to the current version."""
    _lock(connection)
    wanted = due(connection, steps)
    for step in wanted:
        step(connection)
    if wanted:
        connection.execute(update(schema.schema_version).values(version=len(steps)))


def _lock(connection: Connection) -> None:
    """Let processes that start together migrate one after another."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7310417)")
