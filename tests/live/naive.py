"""Live use straight from its definition: every number solved afresh from lists of rewards."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headstart.arrays import Floats
from headstart.live.outcomes import Outcome


@dataclass(eq=False)
class Seen:
    """A reward that a task has learned."""

    x: Floats
    y: float
    weight: float

    def __iter__(self) -> Iterator[Any]:
        return iter((self.x, self.y, self.weight))


@dataclass
class NaiveTask:
    """What a task has seen, and how it counts: what the memory has of it, and since when.

    The bias is that of its prior, which was learned from `prior_tasks` others and the logarithm
    `prior_rewards` of their rewards.
    """

    bias: Floats
    prior_tasks: int
    prior_rewards: float
    last_used: float = 0.0
    seen: list[Seen] = field(default_factory=list)
    counted: list[Seen] = field(default_factory=list)
    position: float = 0.0


@dataclass
class Waiting:
    """A decision, what its task has learned for it already, and whether that was told."""

    name: str
    x: Floats
    time: float
    seen: Seen | None = None
    told: bool = False


@dataclass
class NaiveBandit:
    """OFUL from the pooled ridge regression over all tasks, as they were at the last refresh."""

    dimension: int
    regularization: float
    clock: Callable[[], float]
    deadline: float | None = None
    default: float | None = None
    idle: float | None = None
    half_life_seconds: float | None = None
    most_pending: int = 1000
    reward_range: tuple[float, float] = (-np.inf, np.inf)
    open: dict[str, NaiveTask] = field(default_factory=dict)
    finished: dict[str, NaiveTask] = field(default_factory=dict)
    pending: dict[str, Waiting] = field(default_factory=dict)
    settled: dict[str, float | None] = field(default_factory=dict)
    changes: dict[str, None] = field(default_factory=dict)
    set_aside: set[str] = field(default_factory=set)
    position: float = 0.0

    # The memory.

    def task(self, name: str) -> NaiveTask:
        return self.open[name] if name in self.open else self.finished[name]

    def counted_tasks(self) -> dict[str, NaiveTask]:
        return {n: t for n, t in {**self.open, **self.finished}.items() if t.counted}

    def weight_of(self, task: NaiveTask) -> float:
        half_life, age = self.half_life_seconds, self.position - task.position
        return 1.0 if half_life is None else float(2.0 ** (-age / half_life))

    def gram_and_moment(self, without: str | None = None) -> tuple[Floats, Floats]:
        gram, moment = np.zeros((self.dimension, self.dimension)), np.zeros(self.dimension)
        for name, task in self.counted_tasks().items():
            if name != without:
                for x, y, weight in task.counted:
                    gram = gram + self.weight_of(task) * weight * np.outer(x, x)
                    moment = moment + self.weight_of(task) * weight * y * x
        return gram, moment

    def bias(self, without: str | None = None) -> Floats:
        gram, moment = self.gram_and_moment(without)
        gram = gram + self.regularization * np.eye(self.dimension)
        return np.asarray(np.linalg.solve(gram, moment))

    def rewards(self, without: str | None = None) -> float:
        """How many rewards count, log₂; with a half-life, relative to one at the position 0."""
        counted = self.counted_tasks().items()
        own = [self.weight_of(t) * s.weight for n, t in counted if n != without for s in t.counted]
        age = 0.0 if self.half_life_seconds is None else self.position / self.half_life_seconds
        return float(np.log2(max(sum(own), 2.0**-1000))) + age

    def refresh(self) -> None:
        """Every task counts as it is now."""
        usual, enough = self.usual_square(), len(self.counted_tasks()) >= 5
        changes = list(self.changes)
        self.changes.clear()
        for name in changes:
            task = self.task(name)
            if not task.seen:
                task.counted = []
                self.set_aside.discard(name)
                self.drop_empty(name)
                continue
            squares = sum(weight * y * y for _, y, weight in task.seen)
            rounds = sum(weight for *_, weight in task.seen)
            if enough and usual > 0.0 and squares > 1e6 * usual * rounds:
                task.counted = []
                self.set_aside.add(name)
                continue
            self.set_aside.discard(name)
            task.position = 0.0 if self.half_life_seconds is None else self.clock()
            task.counted = [replace(each) for each in task.seen]
        present = [name for name in changes if name in self.open or name in self.finished]
        ends = [self.task(name).position for name in present if self.task(name).counted]
        self.position = max([self.position, *ends])
        if self.half_life_seconds is not None:
            self.position = max(self.position, self.clock())

    def usual_square(self) -> float:
        squares = rounds = 0.0
        for task in self.counted_tasks().values():
            for _, y, weight in task.counted:
                squares += self.weight_of(task) * weight * y * y
                rounds += self.weight_of(task) * weight
        return squares / rounds if rounds else 0.0

    # Tasks.

    def start(self, name: str) -> NaiveTask:
        if name in self.finished:
            self.open[name] = self.finished.pop(name)
        elif name not in self.open:
            self.refresh()
            self.open[name] = NaiveTask(self.bias(), len(self.counted_tasks()), self.rewards())
        self.catch_up(self.open[name], name)
        self.use(name)
        return self.open[name]

    def catch_up(self, task: NaiveTask, name: str) -> None:
        """A task that is about to be used gets a newer prior if others have doubled."""
        others = len(self.counted_tasks()) - bool(task.counted)
        rewards = self.rewards(without=name)
        doubled = others > 0 and rewards >= task.prior_rewards + 1.0 - 1e-9
        if others >= max(1, 2 * task.prior_tasks) or doubled:
            task.bias, task.prior_tasks = self.bias(without=name), others
            task.prior_rewards = rewards

    def use(self, name: str) -> None:
        self.open[name] = self.open.pop(name)
        self.open[name].last_used = self.clock()

    def finish(self, name: str) -> None:
        task = self.open.pop(name)
        self.finished[name] = task
        self.drop_empty(name)

    def drop_empty(self, name: str) -> None:
        """Nothing is kept of a finished task without rewards, past, to come, or in the memory."""
        waits = any(held.name == name for held in self.pending.values()) or name in self.changes
        task = self.finished.get(name)
        if task is not None and not waits and not task.seen and not task.counted:
            del self.finished[name]

    def forget(self, name: str) -> None:
        self.open.pop(name, None)
        self.finished.pop(name, None)
        self.changes.pop(name, None)
        self.set_aside.discard(name)
        self.pending = {each: held for each, held in self.pending.items() if held.name != name}
        self.refresh()

    def merge(self, other: "NaiveBandit") -> None:
        self.refresh()
        other.refresh()
        self.position = max(self.position, other.position)
        self.open |= other.open
        self.finished |= other.finished
        self.settled |= other.settled
        self.set_aside |= other.set_aside
        self.pending |= other.pending
        self.pending = dict(sorted(self.pending.items(), key=lambda held: held[1].time))

    # Calls.

    def run_out(self) -> None:
        """What time does: deadlines pass, idle tasks finish."""
        now = self.clock()
        if self.deadline is not None:
            for decision, held in list(self.pending.items()):
                if held.time <= now - self.deadline:
                    del self.pending[decision]
                    self.settled[decision] = held.seen.y if held.seen and held.told else None
                    self.drop_empty(held.name)
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
        self.pending[decision] = held = Waiting(name, x, self.clock())
        if self.default is not None:
            self.note_change(name)
            held.seen = Seen(x, self.default, 1.0)
            self.task(name).seen.append(held.seen)
        while len(self.pending) > self.most_pending:
            oldest = next(iter(self.pending))
            told = self.pending[oldest].told
            self.settled[oldest] = self.default if told else None
            self.give_up(oldest)

    def give_up(self, decision: str) -> None:
        held = self.pending.pop(decision)
        if held.seen is not None and not held.told:
            self.note_change(held.name)
            self.task(held.name).seen.remove(held.seen)
        self.drop_empty(held.name)

    def note_change(self, name: str) -> None:
        if name not in self.changes:
            self.set_aside.discard(name)
            self.changes[name] = None

    def reopen(self, name: str) -> None:
        if name in self.finished:
            self.open[name] = self.finished.pop(name)

    def learn(self, name: str, x: Floats, value: float, weight: float) -> None:
        self.reopen(name)
        self.note_change(name)
        self.open[name].seen.append(Seen(x, value, weight))
        self.use(name)

    def reward(self, decision: str, value: float, weight: float) -> Outcome:
        if decision in self.pending:
            held = self.pending[decision]
            if held.told and value == self.default:
                return Outcome.DUPLICATE
            if not self.reward_range[0] <= value <= self.reward_range[1]:
                return Outcome.OUT_OF_RANGE
            self.pay(decision, held, value, weight)
            return Outcome.PAID
        if decision not in self.settled:
            return Outcome.UNKNOWN
        paid = self.settled[decision]
        if paid is None:
            return Outcome.EXPIRED
        return Outcome.DUPLICATE if paid == value else Outcome.CONFLICT

    def pay(self, decision: str, held: Waiting, value: float, weight: float) -> None:
        if held.seen is None or value != self.default:
            del self.pending[decision]
            self.settled[decision] = value
        if held.seen is None:
            self.learn(held.name, held.x, value, weight)
            return
        self.reopen(held.name)
        if (value, weight) != (held.seen.y, held.seen.weight):
            self.note_change(held.name)
        held.seen.y, held.seen.weight, held.told = value, weight, True
        self.use(held.name)

    def cancel(self, decision: str) -> bool:
        if decision not in self.pending or self.pending[decision].told:
            return False
        self.give_up(decision)
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
            half_life_seconds=self.half_life_seconds,
            most_pending=self.most_pending,
            reward_range=self.reward_range,
        )


def total(tasks: Iterable[NaiveTask]) -> float:
    """How many rewards tasks have had."""
    return float(sum(len(task.seen) for task in tasks))
