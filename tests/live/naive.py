"""Live use straight from its definition: every number solved afresh from lists of rewards."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from headstart.arrays import Floats
from headstart.live.outcomes import Outcome


@dataclass
class NaiveTask:
    """What a task has seen, (x, y, weight) each, and how it counts: its first rewards, since when.

    The bias is that of its prior, which was learned from `prior_tasks` others.
    """

    bias: Floats
    prior_tasks: int
    last_used: float = 0.0
    seen: list[tuple[Floats, float, float]] = field(default_factory=list)
    counted: int = 0
    position: float = 0.0

    @property
    def changed(self) -> bool:
        return len(self.seen) > self.counted


@dataclass
class NaiveBandit:
    """OFUL from the pooled ridge regression over all tasks, as they were at the last refresh."""

    dimension: int
    regularization: float
    clock: Callable[[], float]
    deadline: float | None = None
    default: float | None = None
    idle: float | None = None
    horizon: int | None = None
    half_life_tasks: float | None = None
    half_life_seconds: float | None = None
    max_pending: int = 1000
    reward_range: tuple[float, float] = (-np.inf, np.inf)
    open: dict[str, NaiveTask] = field(default_factory=dict)
    finished: dict[str, NaiveTask] = field(default_factory=dict)
    pending: dict[str, tuple[str, Floats, float]] = field(default_factory=dict)
    settled: dict[str, float | None] = field(default_factory=dict)
    changes: dict[str, None] = field(default_factory=dict)
    set_aside: set[str] = field(default_factory=set)
    position: float = 0.0
    _next: float = 0.0

    # The memory.

    def task(self, name: str) -> NaiveTask:
        return self.open[name] if name in self.open else self.finished[name]

    def counted_tasks(self) -> dict[str, NaiveTask]:
        return {n: t for n, t in {**self.open, **self.finished}.items() if t.counted}

    def weight_of(self, task: NaiveTask) -> float:
        half_life = self.half_life_tasks or self.half_life_seconds
        age = self.position - task.position
        return 1.0 if half_life is None else float(2.0 ** (-age / half_life))

    def gram_and_moment(self, without: str | None = None) -> tuple[Floats, Floats]:
        gram, moment = np.zeros((self.dimension, self.dimension)), np.zeros(self.dimension)
        for name, task in self.counted_tasks().items():
            if name != without:
                for x, y, weight in task.seen[: task.counted]:
                    gram = gram + self.weight_of(task) * weight * np.outer(x, x)
                    moment = moment + self.weight_of(task) * weight * y * x
        return gram, moment

    def bias(self, without: str | None = None) -> Floats:
        gram, moment = self.gram_and_moment(without)
        gram = gram + self.regularization * np.eye(self.dimension)
        return np.asarray(np.linalg.solve(gram, moment))

    def refresh(self) -> None:
        """Every task counts as it is now."""
        usual, enough = self.usual_square(), len(self.counted_tasks()) >= 5
        for name in self.changes:
            task = self.task(name)
            squares = sum(weight * y * y for _, y, weight in task.seen)
            rounds = sum(weight for *_, weight in task.seen)
            if enough and usual > 0.0 and squares > 1e6 * usual * rounds:
                task.counted = 0
                self.set_aside.add(name)
                continue
            self.set_aside.discard(name)
            if self.half_life_seconds is None:
                self._next = max(self._next, self.position) + (not task.counted)
            task.position = self._next if self.half_life_seconds is None else self.clock()
            task.counted = len(task.seen)
        ends = [self.task(name).position for name in self.changes if name not in self.set_aside]
        self.position = max([self.position, *ends])
        if self.half_life_seconds is not None:
            self.position = max(self.position, self.clock())
        self.changes.clear()

    def usual_square(self) -> float:
        squares = rounds = 0.0
        for task in self.counted_tasks().values():
            for _, y, weight in task.seen[: task.counted]:
                squares += self.weight_of(task) * weight * y * y
                rounds += self.weight_of(task) * weight
        return squares / rounds if rounds else 0.0

    # Tasks.

    def start(self, name: str) -> NaiveTask:
        if name in self.finished:
            self.open[name] = self.finished.pop(name)
        elif name not in self.open:
            self.refresh()
            self.open[name] = NaiveTask(self.bias(), len(self.counted_tasks()))
        self.use(name)
        return self.open[name]

    def use(self, name: str) -> None:
        self.open[name] = self.open.pop(name)
        self.open[name].last_used = self.clock()

    def finish(self, name: str) -> None:
        task = self.open.pop(name)
        self.finished[name] = task
        self.drop_empty(name)

    def drop_empty(self, name: str) -> None:
        """Nothing is kept of a finished task without rewards, past or to come."""
        waits = any(owner == name for owner, *_ in self.pending.values())
        if name in self.finished and not waits and not self.finished[name].seen:
            del self.finished[name]

    def forget(self, name: str) -> None:
        self.open.pop(name, None)
        self.finished.pop(name, None)
        self.changes.pop(name, None)
        self.set_aside.discard(name)
        self.pending = {each: held for each, held in self.pending.items() if held[0] != name}
        self.refresh()

    def merge(self, other: "NaiveBandit") -> None:
        self.refresh()
        other.refresh()
        shift = 0.0 if self.half_life_tasks is None else self.position - other.position
        for task in (*other.open.values(), *other.finished.values()):
            task.position += shift
        self.position = max(self.position, other.position + shift)
        self.open |= other.open
        self.finished |= other.finished
        self.settled |= other.settled
        self.set_aside |= other.set_aside
        self.pending |= other.pending
        self.pending = dict(sorted(self.pending.items(), key=lambda held: held[1][2]))

    # Calls.

    def run_out(self) -> None:
        """What time does: deadlines pass, idle tasks finish."""
        now = self.clock()
        if self.deadline is not None:
            for decision, (name, x, time) in list(self.pending.items()):
                if time <= now - self.deadline:
                    del self.pending[decision]
                    self.settled[decision] = None
                    if self.default is not None:
                        was_open = name in self.open
                        self.learn(name, x, self.default, 1.0)
                        if not was_open and name in self.open:
                            self.finish(name)
                    self.drop_empty(name)
        if self.idle is not None:
            for name, task in list(self.open.items()):
                if task.last_used <= now - self.idle:
                    self.finish(name)

    def scores(self, name: str, arms: Floats) -> Floats:
        task = self.start(name)
        gram = self.regularization * np.eye(self.dimension)
        moment = self.regularization * task.bias
        for x, y, weight in task.seen:
            gram = gram + weight * np.outer(x, x)
            moment = moment + weight * y * x
        inverse = np.linalg.inv(gram)
        growth = np.linalg.slogdet(gram).logabsdet - self.dimension * np.log(self.regularization)
        radius = np.sqrt(growth - 2 * np.log(0.05))
        widths = np.sqrt(np.einsum("ka,ab,kb->k", arms, inverse, arms))
        return np.asarray(arms @ inverse @ moment + radius * widths)

    def hold(self, decision: str, name: str, x: Floats) -> None:
        while len(self.pending) >= self.max_pending:
            oldest = next(iter(self.pending))
            owner, *_ = self.pending.pop(oldest)
            self.settled[oldest] = None
            self.drop_empty(owner)
        self.pending[decision] = (name, x, self.clock())

    def learn(self, name: str, x: Floats, value: float, weight: float) -> None:
        if name in self.finished:
            self.open[name] = self.finished.pop(name)
        task = self.open[name]
        if not task.changed or name in self.set_aside:
            others = len(self.counted_tasks()) - bool(task.counted)
            if others >= max(1, 2 * task.prior_tasks):
                task.bias, task.prior_tasks = self.bias(without=name), others
            self.set_aside.discard(name)
            self.changes[name] = None
        task.seen.append((x, value, weight))
        self.use(name)
        if self.horizon is not None and len(task.seen) >= self.horizon:
            self.finish(name)

    def reward(self, decision: str, value: float, weight: float) -> Outcome:
        if decision in self.pending:
            if not self.reward_range[0] <= value <= self.reward_range[1]:
                return Outcome.OUT_OF_RANGE
            name, x, _ = self.pending.pop(decision)
            self.settled[decision] = value
            self.learn(name, x, value, weight)
            return Outcome.PAID
        if decision not in self.settled:
            return Outcome.UNKNOWN
        paid = self.settled[decision]
        if paid is None:
            return Outcome.EXPIRED
        return Outcome.DUPLICATE if paid == value else Outcome.CONFLICT

    def cancel(self, decision: str) -> bool:
        if decision not in self.pending:
            return False
        name, *_ = self.pending.pop(decision)
        self.drop_empty(name)
        return True

    def fresh(self) -> "NaiveBandit":
        """An empty one with the same settings."""
        return NaiveBandit(
            dimension=self.dimension,
            regularization=self.regularization,
            clock=self.clock,
            deadline=self.deadline,
            default=self.default,
            idle=self.idle,
            horizon=self.horizon,
            half_life_tasks=self.half_life_tasks,
            half_life_seconds=self.half_life_seconds,
            max_pending=self.max_pending,
            reward_range=self.reward_range,
        )


def total(tasks: Iterable[NaiveTask]) -> float:
    """How many rewards tasks have had."""
    return float(sum(len(task.seen) for task in tasks))
