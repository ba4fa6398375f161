"""Rewards: each ends as one outcome, and is learned once; or its decision expires.

A decision's reward may come in parts. Its task counts the total of the parts so far; another part,
or a correction of one, replaces it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import bindparam, update

from headstart.arrays import floats
from headstart.live import inputs
from headstart.live.outcomes import DecisionState, Outcome, outcome_of
from headstart.live.stored import Counted
from headstart.service.engine import parts
from headstart.service.engine.bandits import Bandit
from headstart.service.engine.parts import Parts
from headstart.service.engine.tasks import by_numbers, write_learned
from headstart.service.engine.transaction import Transaction
from headstart.service.messages import RewardAnswer, RewardRequest, ServiceError, invalid
from headstart.service.store import schema
from headstart.service.store.decisions import overdue, to_pay
from headstart.service.store.parts import Part, of_decisions
from headstart.service.store.prepared import Prepared
from headstart.service.store.schema import decisions as table
from headstart.service.store.tasks import TaskEntry

_PAID = ("status", "value", "weight", "paid_time", "round")
_PAY = Prepared(
    update(table)
    .where(table.c.bandit == bindparam("own"), table.c.id == bindparam("decision"))
    .values({name: bindparam(f"new_{name}") for name in _PAID}),
    ["own", "decision", *(f"new_{name}" for name in _PAID)],
)


@dataclass(slots=True)
class Payment:
    """A decision that waits for its reward, or has had it."""

    id: str
    task: int
    status: int
    value: float | None
    features: bytes
    time: float
    weight: float | None
    round: int | None  # None: the task has learned nothing for it
    observed: bool
    arm: str
    effect: float | None  # None: the arm is not in the catalogue
    chance: float | None  # the service's chance of the arm, in shadow mode
    paid_time: float | None
    parts: Parts = field(default_factory=dict)  # of the reward so far

    @property
    def item(self) -> str | None:
        """The item of the catalogue that was chosen."""
        return None if self.effect is None else self.arm

    @property
    def is_shadow(self) -> bool:
        """Whether it was made in shadow mode."""
        return self.chance is not None


class Payments:
    """The decisions that a transaction pays, and the tasks that learn from them."""

    def __init__(self, transaction: Transaction, bandit: Bandit, decisions: Sequence[str]) -> None:
        self._transaction = transaction
        self._bandit = bandit
        self._rows: list[tuple[Any, ...]] = []
        self._learned: dict[int, TaskEntry] = {}
        self._parts: dict[tuple[str, str], Part] = {}
        wanted = sorted(set(decisions))
        payments = self._read(wanted)
        numbers = {payment.task for payment in payments}
        self._tasks = by_numbers(transaction, bandit, numbers, lock=True)
        if not transaction.owns_store:
            # The task's row is the lock of its decisions: they are read once it is held.
            payments = self._read(wanted)
        self.payments = {payment.id: payment for payment in payments}
        self._read_parts([payment for payment in payments if payment.status == schema.PAID])

    def _read(self, decisions: list[str]) -> list[Payment]:
        rows = to_pay(self._transaction.connection, self._bandit.number, decisions)
        return [Payment(*row) for row in rows]

    def _read_parts(self, paid: Sequence[Payment]) -> None:
        """Read the parts of rewards so far; a reward that came whole is the part without a key."""
        ids = [payment.id for payment in paid]
        found = of_decisions(self._transaction.connection, self._bandit.number, ids)
        for payment in paid:
            assert payment.value is not None
            time = payment.time if payment.paid_time is None else payment.paid_time
            payment.parts = found.get(payment.id) or {"": Part(payment.value, time, 0, {})}

    def pay(self, request: RewardRequest) -> Outcome:
        """Pay a reward if it can be paid. Returns the outcome."""
        payment = self.payments.get(request.decision)
        if payment is None or payment.task not in self._tasks:
            return Outcome.UNKNOWN
        value = inputs.reward_of(request.value)
        weight = request.weight
        if weight is None or request.key is not None:
            weight = payment.weight or 1.0
        weight = inputs.weight_of(weight)
        if request.key is not None or request.metrics:
            parts.check(request, payment.parts, self._bandit.configuration)
        happened = self._transaction.now
        if request.time is not None:  # a wrong clock may be too early, or in the future
            happened = min(max(request.time, payment.time), happened)
        settings, key = self._bandit.model.settings, request.key or ""
        before = payment.parts.get(key)
        after = parts.with_reward(payment.parts, request, value, happened)
        total = parts.combined(after, self._bandit.configuration.parts)
        # An earlier reward does not prevent a correction.
        corrects = request.correction and (before, payment.weight) != (after[key], weight)
        paid = None if before is None or corrects else before.value
        outcome = outcome_of(
            DecisionState.PENDING if paid is None else DecisionState.PAID,
            value,
            settings,
            paid=paid,
            is_default=paid == settings.default_reward and not (key or payment.observed),
            in_time=not settings.has_expired(payment.time, happened),
            total=total,
        )
        if outcome is not Outcome.PAID:
            return outcome
        if before is not None and len(after) == 1:
            happened = before.time  # a reward that is corrected keeps its time
        if payment.round is None:
            outcome = self.learn(payment, total, weight, happened, schema.PAID)
        else:
            outcome = self._replace(payment, total, weight, happened)
        if outcome is Outcome.PAID:
            self._keep(payment, after, request)
        return outcome

    def _keep(self, payment: Payment, after: Parts, request: RewardRequest) -> None:
        """Note the parts of a paid reward, and count its metrics."""
        before, payment.parts = payment.parts, after
        for key in parts.to_store(before, after, request.key or ""):
            self._parts[payment.id, key] = after[key]
        if request.metrics and payment.round is not None:
            changes = parts.metric_changes(before, after, request.metrics)
            task = self._tasks[payment.task]
            sums, shadow = self._transaction.sums, payment.is_shadow
            sums.measured(self._bandit.number, task, payment.round, changes, shadow=shadow)

    def _replace(self, payment: Payment, value: float, weight: float, happened: float) -> Outcome:
        """Let the decision's task count a reward instead of its present one."""
        task, sums = self._tasks[payment.task], self._transaction.sums
        assert payment.value is not None
        assert payment.weight is not None
        assert payment.round is not None
        before = Counted(payment.value, payment.weight, payment.round)
        self._transaction.touch(self._bandit, [task])
        rows, features = self._bandit.rows(task), floats(payment.features)
        outcome = rows.replace(task.id, features, before, value, weight, payment.item)
        if outcome is Outcome.PAID:
            change = (before.number, before.value, value)
            sums.replaced(self._bandit.number, task, *change, shadow=payment.is_shadow)
            if payment.status == schema.PENDING:
                sums.rewarded(self._bandit.number, task.control)
            self._learned[task.id] = task
            self.settle(payment, schema.PAID, value, weight, happened, payment.round)
        return outcome

    def learn(
        self, payment: Payment, value: float, weight: float, happened: float, status: int
    ) -> Outcome:
        """Let the decision's task learn a reward: PAID, or OUT_OF_RANGE if it cannot."""
        task = self._tasks[payment.task]
        self._transaction.touch(self._bandit, [task])
        features = floats(payment.features)
        try:
            rows = self._bandit.rows(task)
            outcome = rows.learn(task.id, features, value, weight, payment.item)
        except ValueError:
            return Outcome.OUT_OF_RANGE
        if outcome is Outcome.PAID:
            sums, shadow = self._transaction.sums, payment.is_shadow
            sums.rewarded(self._bandit.number, task.control)
            sums.counted(self._bandit.number, task, value, shadow=shadow)
            self._learned[task.id] = task
            self.settle(payment, status, value, weight, happened, task.n_rewards)
        return outcome

    def settle(
        self,
        payment: Payment,
        status: int,
        value: float | None = None,
        weight: float | None = None,
        happened: float | None = None,
        number: int | None = None,
    ) -> None:
        """Note the new status of a decision."""
        if not payment.observed:
            counted = None if payment.round is None else payment.value
            sums, counts = self._transaction.sums, None if number is None else value
            sums.earned(self._bandit.number, payment.arm, payment.time, counted, counts)
        payment.status, payment.value = status, value
        payment.weight, payment.round = weight, number
        self._rows.append(
            (self._bandit.number, payment.id, status, value, weight, happened, number)
        )

    def task_of(self, payment: Payment) -> TaskEntry | None:
        """The task of a decision."""
        return self._tasks.get(payment.task)

    def write(self) -> None:
        """Store what was paid and learned."""
        _PAY.execute(self._transaction.connection, self._rows)
        parts.write(self._transaction.connection, self._bandit.number, self._parts)
        write_learned(self._transaction, self._bandit, list(self._learned.values()))


def reward(
    transaction: Transaction, bandit: Bandit, requests: Sequence[RewardRequest]
) -> list[RewardAnswer | ServiceError]:
    """Pay rewards in their order."""
    payments = Payments(transaction, bandit, [request.decision for request in requests])
    answers: list[RewardAnswer | ServiceError] = []
    for request in requests:
        try:
            outcome = payments.pay(request)
        except ValueError as error:
            answers.append(invalid(str(error)))
            continue
        except ServiceError as error:
            answers.append(error)
            continue
        if outcome is not Outcome.PAID:
            transaction.sums.refused(bandit.number, outcome)
        answers.append(RewardAnswer(decision=request.decision, outcome=outcome))
    payments.write()
    return answers


def expire(transaction: Transaction, bandit: Bandit, limit: int) -> int:
    """Let decisions expire whose deadline has passed, oldest first, at most this many.

    Decisions that count as their default keep it; others learn it, if there is one by now. Returns
    how many expired.
    """
    deadline = bandit.configuration.deadline_seconds
    if deadline is None:
        return 0
    before, default = transaction.now - deadline, bandit.configuration.default_reward
    ids = overdue(transaction.connection, bandit.number, before, limit)
    payments = Payments(transaction, bandit, ids)
    for payment in payments.payments.values():
        task = payments.task_of(payment)
        if payment.status != schema.PENDING:
            continue
        status = schema.EXPIRED
        if task is None:  # erased while another process decided for it
            payments.settle(payment, status)
            continue
        if payment.round is not None and payment.value is not None:
            transaction.sums.rewarded(bandit.number, task.control)
            counts = (payment.value, payment.weight, transaction.now, payment.round)
            payments.settle(payment, status, *counts)
        elif default is not None:
            payments.learn(payment, default, 1.0, transaction.now, status)
        if payment.status == schema.PENDING:
            payments.settle(payment, status)
        transaction.sums.expired(bandit.number, task.control)
    payments.write()
    return len(ids)
