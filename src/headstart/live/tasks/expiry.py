"""Expiry: pending decisions that have waited too long, or of which there are too many."""

from headstart.live.outcomes import Outcome
from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.layout import LAST_USED, NONE
from headstart.live.tasks.pending import owner
from headstart.live.tasks.removal import drop
from headstart.live.tasks.rewarding import reward


def expire(tasks: Tasks) -> None:
    """Settle the decisions whose deadline has passed."""
    if tasks.settings.deadline_seconds is None:
        return
    now, pending = tasks.settings.clock(), tasks.pending
    while (place := pending.oldest()) != NONE:
        if not tasks.settings.has_expired(float(pending.times[place]), now):
            return
        _settle(tasks, place)


def run_out(tasks: Tasks) -> None:
    """Settle the decisions whose deadline has passed, and finish the tasks that are idle."""
    expire(tasks)
    _finish_idle(tasks)


def drop_excess(tasks: Tasks) -> None:
    """Let the oldest decisions expire where there are more than `max_pending`.

    They are not paid the default: their deadline has not passed.
    """
    pending = tasks.pending
    while len(pending) > tasks.settings.max_pending:
        place = pending.oldest()
        decision = pending.decision(place)
        drop(tasks, place)
        tasks.settled.note(decision, None)


def _settle(tasks: Tasks, place: int) -> None:
    """Pay the default reward to a decision, or give its reward up."""
    decision, default = tasks.pending.decision(place), tasks.settings.default_reward
    whose = owner(tasks.pending, place)
    finished = tasks.finished.names[-2 - whose] if whose < NONE else None
    if default is None or reward(tasks, decision, default, 1.0) is not Outcome.PAID:
        drop(tasks, place)
    if finished is not None and finished in tasks.slots:
        tasks.finish(finished)  # no user came back
    tasks.settled.note(decision, None)


def _finish_idle(tasks: Tasks) -> None:
    """Finish the tasks that were not used during the idle time."""
    if tasks.settings.idle_seconds is None:
        return
    latest = tasks.settings.clock() - tasks.settings.idle_seconds
    while tasks.slots:
        name, slot = next(iter(tasks.slots.items()))
        if tasks.rows[slot, LAST_USED] > latest:
            return
        tasks.finish(name)


def cancel(tasks: Tasks, decision: str) -> bool:
    """Give up a pending decision; false if it is not pending."""
    place = tasks.pending.find(decision)
    if place != NONE:
        drop(tasks, place)
    return place != NONE
