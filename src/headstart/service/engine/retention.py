"""Retention: decisions, sums by item, keys and jobs are deleted once they are old."""

from sqlalchemy import delete, exists, select, tuple_

from headstart.service.engine.bandits import Bandit
from headstart.service.engine.transaction import Transaction
from headstart.service.store.blocks import first_id
from headstart.service.store.schema import (
    decisions,
    fits,
    idempotency,
    item_days,
    jobs,
    reward_parts,
)

# How many rows one transaction takes.
ROWS = 500
# How long an idempotency key is remembered.
KEY_SECONDS = 7 * 86_400.0
# How long an ended job is kept, unless its fit counts.
JOB_SECONDS = 90 * 86_400.0
# How many days the sums of items are kept: a year, and the days before to compare with.
ITEM_DAYS = 400


def delete_old(transaction: Transaction, bandit: Bandit) -> int:
    """Delete decisions past a bandit's retention, with the parts of their rewards."""
    kept = bandit.configuration.retention_seconds
    if kept is None:
        return 0
    oldest = first_id(transaction.now - kept)
    some = (
        select(decisions.c.id)
        .where(decisions.c.bandit == bandit.number, decisions.c.id < oldest)
        .order_by(decisions.c.id)
        .limit(ROWS)
    )
    ids = list(transaction.connection.execute(some).scalars())
    for table, column in ((decisions, decisions.c.id), (reward_parts, reward_parts.c.decision)):
        own = table.c.bandit == bandit.number
        transaction.connection.execute(delete(table).where(own, column.in_(ids)))
    return len(ids)


def delete_days(transaction: Transaction, bandit: int) -> int:
    """Delete a bandit's old sums by item."""
    c = item_days.c
    key = [c.bandit, c.day, c.item, c.process]
    oldest = int(transaction.now // 86_400) - ITEM_DAYS
    some = select(*key).where(c.bandit == bandit, c.day < oldest).limit(ROWS)
    statement = delete(item_days).where(tuple_(*key).in_(some))
    return transaction.connection.execute(statement).rowcount


def delete_keys(transaction: Transaction) -> int:
    """Delete idempotency keys that are too old to be used again."""
    some = (
        select(idempotency.c.bandit, idempotency.c.key)
        .where(idempotency.c.time < transaction.now - KEY_SECONDS)
        .limit(ROWS)
    )
    rows = transaction.connection.execute(some).all()
    for row in rows:
        own = (idempotency.c.bandit == row.bandit) & (idempotency.c.key == row.key)
        transaction.connection.execute(delete(idempotency).where(own))
    return len(rows)


def delete_jobs(transaction: Transaction) -> int:
    """Delete jobs that ended long ago, except those of promoted fits; fits keep their reports."""
    counts = exists().where(fits.c.job == jobs.c.id, fits.c.status == "promoted")
    some = (
        select(jobs.c.id)
        .where(jobs.c.ended < transaction.now - JOB_SECONDS, ~counts)
        .order_by(jobs.c.ended)
        .limit(ROWS)
    )
    statement = delete(jobs).where(jobs.c.id.in_(some.scalar_subquery()))
    return transaction.connection.execute(statement).rowcount
