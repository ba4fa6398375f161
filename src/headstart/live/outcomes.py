"""Outcome: what happened to a reward, and the rule that decides it."""

from enum import IntEnum, StrEnum

from headstart.live.settings import Settings


class Outcome(StrEnum):
    """What happened to a reward. Each is the string of its name in lower case.

    Attributes
    ----------
    PAID
        Learned; a default reward that counted before is replaced.
    DUPLICATE
        The decision was paid this value before.
    CONFLICT
        The decision was paid another value before, which stays.
    UNKNOWN
        No such decision, or one of another bandit.
    EXPIRED
        The decision's deadline has passed.
    OUT_OF_RANGE
        Not learned; the decision still waits for its reward.

    Examples
    --------
    >>> bandit = hs.MetaBandit(dimension=1, seed=0)
    >>> decision = bandit.decide("ann", [[1.0]])
    >>> bandit.reward(decision.id, 1.0), bandit.reward(decision.id, 1.0)
    (<Outcome.PAID: 'paid'>, <Outcome.DUPLICATE: 'duplicate'>)
    >>> bandit.reward("no such id", 1.0) == "unknown"
    True
    """

    PAID = "paid"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    UNKNOWN = "unknown"
    EXPIRED = "expired"
    OUT_OF_RANGE = "out_of_range"


class DecisionState(IntEnum):
    """The state of a decision, wherever it is kept."""

    PENDING = 0
    PAID = 1
    EXPIRED = 2


def outcome_of(
    state: int | None,
    value: float,
    settings: Settings,
    *,
    paid: float | None = None,
    is_default: bool = False,
    in_time: bool = True,
    total: float | None = None,
) -> Outcome:
    """The outcome of a reward, in live use and in the service.

    `state` is None if there is no such decision; `paid` is what it was paid, `is_default` whether
    that was its default, which another reward may replace, and `in_time` whether the reward
    occurred before the deadline. For one part of several, `total` is the decision's reward
    including it. PAID means that the task should learn the reward; if its sums would not stay
    finite, the outcome is OUT_OF_RANGE instead.
    """
    if state is None:
        return Outcome.UNKNOWN
    if state == DecisionState.PAID:
        if paid == value:
            return Outcome.DUPLICATE
        if not (is_default and in_time):
            return Outcome.CONFLICT
    if not in_time:
        return Outcome.EXPIRED
    learned = value if total is None else total
    return Outcome.PAID if settings.in_range(learned) else Outcome.OUT_OF_RANGE
