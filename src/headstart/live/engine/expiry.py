"""Expiry: pending decisions that have waited too long, or of which there are too many."""

from headstart.live.engine.layout import NONE
from headstart.live.engine.rewarding import reward
from headstart.live.engine.tasks import Tasks
from headstart.live.outcomes import Outcome


def expire(tasks: Tasks) -> None:
    """Settle the decisions whose deadline has passed."""
    deadline, pending = tasks.settings.deadline_seconds, tasks.pending
    if deadline is None:
        return
    latest = tasks.settings.clock() - deadline
    while (place := pending.oldest()) != NONE and pending.times[place] <= latest:
        _settle(tasks, place)


def run_out(tasks: Tasks) -> None:
    """Settle the decisions whose deadline has passed, and finish the tasks that are idle."""
    expire(tasks)
    tasks.finish_idle()


def make_places(tasks: Tasks, n: int) -> None:
    """Have n free places; the oldest decisions expire where there are too many.

    They are not paid the default: their deadline has not passed.
    """
    pending = tasks.pending
    while len(pending) + n > tasks.settings.max_pending and (place := pending.oldest()) != NONE:
        decision = pending.decision(place)
        tasks.drop(place)
        tasks.settled.note(decision, None)
    pending.reserve(n)


def _settle(tasks: Tasks, place: int) -> None:
    """Pay the default reward to a decision, or give its reward up."""
    decision, default = tasks.pending.decision(place), tasks.settings.default_reward
    owner = tasks.pending.owner(place)
    finished = tasks.finished.names[-2 - owner] if owner < NONE else None
    if default is None or reward(tasks, decision, default, 1.0) is not Outcome.PAID:
        tasks.drop(place)
    if finished is not None and finished in tasks.slots:
        tasks.finish(finished)  # no user came back
    tasks.settled.note(decision, None)
