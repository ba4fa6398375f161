"""Outcome: what became of a reward."""

from enum import StrEnum


class Outcome(StrEnum):
    """What became of a reward. Each is the string of its name in lower case.

    >>> bandit = hs.MetaBandit(dimension=1, seed=0)
    >>> decision = bandit.decide("ann", [[1.0]])
    >>> bandit.reward(decision.id, 1.0), bandit.reward(decision.id, 1.0)
    (<Outcome.PAID: 'paid'>, <Outcome.DUPLICATE: 'duplicate'>)
    >>> bandit.reward("no such id", 1.0) == "unknown"
    True
    """

    PAID = "paid"  # learned, now
    DUPLICATE = "duplicate"  # the decision was paid this value before
    CONFLICT = "conflict"  # the decision was paid another value before, which stays
    UNKNOWN = "unknown"  # no such decision, or one of another bandit
    EXPIRED = "expired"  # the decision's deadline has passed
    OUT_OF_RANGE = "out_of_range"  # not learned; the decision still waits for its reward
