"""Expiry: decisions past their deadline, decisions past their retention, old keys and jobs."""

from sqlalchemy import delete, exists, select

from headstart.live.outcomes import Outcome
from headstart.service.engine.bandits import Bandit
from headstart.service.engine.requests.rewards import Payments
from headstart.service.engine.transaction import Transaction
from headstart.service.store import schema
from headstart.service.store.blocks import first_id
from headstart.service.store.queries.decisions import overdue
from headstart.service.store.schema import decisions, fits, idempotency, jobs

# How many rows one transaction takes.
ROWS = 500
# How long an idempotency key is remembered.
KEY_SECONDS = 7 * 86_400.0
# How long a job is kept that has ended, unless its fit counts.
JOB_SECONDS = 90 * 86_400.0


def expire(transaction: Transaction, bandit: Bandit) -> int:
    """Have decisions expire whose deadline has passed, with the default reward if there is one."""
    deadline = bandit.configuration.deadline_seconds
    if deadline is None:
        return 0
    before = transaction.now - deadline
    return _expire(
        transaction, bandit, overdue(transaction.connection, bandit.number, before, ROWS)
    )


def _expire(transaction: Transaction, bandit: Bandit, ids: list[str]) -> int:
    payments = Payments(transaction, bandit, ids)
    default = bandit.configuration.default_reward
    for payment in payments.payments.values():
        task = payments.task_of(payment)
        if payment.status != schema.PENDING or task is None:
            continue
        status, learned = schema.EXPIRED, None
        if default is not None:
            learned = payments.learn(payment, default, 1.0, transaction.now, status)
        if learned is not Outcome.PAID:
            payments.settle(payment, status)
        transaction.sums.expired(bandit.number, task.control)
    payments.write()
    return len(ids)


def delete_old(transaction: Transaction, bandit: Bandit) -> int:
    """Delete decisions that are past the retention of a bandit."""
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
    own = decisions.c.bandit == bandit.number
    statement = delete(decisions).where(own, decisions.c.id.in_(some.scalar_subquery()))
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
    """Delete jobs that ended long ago, but for those of promoted fits; fits keep their reports."""
    counts = exists().where(fits.c.job == jobs.c.id, fits.c.status == "promoted")
    some = (
        select(jobs.c.id)
        .where(jobs.c.ended < transaction.now - JOB_SECONDS, ~counts)
        .order_by(jobs.c.ended)
        .limit(ROWS)
    )
    statement = delete(jobs).where(jobs.c.id.in_(some.scalar_subquery()))
    return transaction.connection.execute(statement).rowcount
