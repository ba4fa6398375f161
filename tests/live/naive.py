"""Live use straight from its definition: every number solved afresh from lists of rewards."""

from dataclasses import dataclass, field

import numpy as np

from headstart.arrays import Floats


@dataclass
class NaiveTask:
    """The features, rewards and weights that a task has seen, and the bias it began with."""

    bias: Floats
    x: list[Floats] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)


@dataclass
class NaiveBandit:
    """OFUL from the pooled ridge regression over finished tasks, frozen when a task opens."""

    dimension: int
    regularization: float
    noise_scale: float = 1.0
    failure_probability: float = 0.05
    open: dict[str, NaiveTask] = field(default_factory=dict)
    finished: list[NaiveTask] = field(default_factory=list)
    pending: dict[int, tuple[str, Floats]] = field(default_factory=dict)

    def gram_and_moment(self, tasks: list[NaiveTask]) -> tuple[Floats, Floats]:
        gram = self.regularization * np.eye(self.dimension)
        moment = np.zeros(self.dimension)
        for task in tasks:
            for x, y, weight in zip(task.x, task.y, task.weight, strict=True):
                gram = gram + weight * np.outer(x, x)
                moment = moment + weight * y * x
        return gram, moment

    def bias(self) -> Floats:
        gram, moment = self.gram_and_moment(self.finished)
        return np.asarray(np.linalg.solve(gram, moment))

    def task(self, name: str) -> NaiveTask:
        return self.open.setdefault(name, NaiveTask(self.bias()))

    def scores(self, name: str, arms: Floats) -> Floats:
        task = self.task(name)
        gram, moment = self.gram_and_moment([task])
        inverse = np.linalg.inv(gram)
        parameter = inverse @ (moment + self.regularization * task.bias)
        growth = np.linalg.slogdet(gram).logabsdet - self.dimension * np.log(self.regularization)
        radius = self.noise_scale * np.sqrt(growth - 2 * np.log(self.failure_probability))
        widths = np.sqrt(np.einsum("ka,ab,kb->k", arms, inverse, arms))
        return np.asarray(arms @ parameter + radius * widths)

    def reward(self, decision: int, value: float, weight: float) -> None:
        name, x = self.pending.pop(decision)
        task = self.open[name]
        task.x.append(x)
        task.y.append(value)
        task.weight.append(weight)

    def finish(self, name: str) -> None:
        task = self.open.pop(name)
        if task.x:
            self.finished.append(task)
        self.pending = {key: held for key, held in self.pending.items() if held[0] != name}
