"""RunningTasks: the estimates of tasks that overlap, and what they learn from each other."""

from dataclasses import dataclass, replace

from headstart.core.arm_estimates import ArmEstimates
from headstart.core.prior import Prior
from headstart.core.running import RunningEstimate
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import (
    LivePriorEstimator,
    Memory,
    Policy,
    PriorEstimator,
    by_parts,
    starting_prior,
)
from headstart.simulation.turns import Arrived, Turns


@dataclass(eq=False)
class _RunningTask:
    """One task: its statistics, the memory of other tasks, and the estimate, if current."""

    statistics: TaskStatistics
    others: Memory | None
    estimate: tuple[RunningEstimate, ArmEstimates] | None = None


class RunningTasks:
    """Tasks that overlap, played by one policy and one prior; `completed` is the memory of others.

    A task starts from the tasks that were completed when it began. With `share`, it uses the memory
    of all other tasks at every turn, with their rewards so far: then its estimate is the posterior
    given all rewards of all tasks.
    """

    def __init__(
        self, policy: Policy, prior: PriorEstimator, memory: Memory, *, share: bool
    ) -> None:
        self._prior, self._mean_widths = prior, by_parts(policy) is not None
        self._moves = prior.running_bias(memory) is not None
        self.completed, self._share = memory, share
        # With `share`: completed tasks and all rewards of running ones.
        self._all = memory
        self._tasks: dict[int, _RunningTask] = {}

    def read(self, turns: Turns) -> ArmEstimates:
        """The estimates for the arms of the task whose turn it is."""
        if turns.task not in self._tasks:
            none = TaskStatistics.zeros(turns.dimension, turns.lead)
            statistics = none if turns.about is None else replace(none, about=turns.about)
            known = self._all if self._share else self.completed
            self._tasks[turns.task] = _RunningTask(statistics, known)
        task = self._tasks[turns.task]
        if task.estimate is None:
            estimate = RunningEstimate(self._start(task), task.statistics)
            arms = estimate.prepare(turns.n_arms, mean_widths=self._mean_widths)
            task.estimate = (estimate, arms)
        estimate, estimates = task.estimate
        estimate.read(turns.arms)
        return estimates

    def learn(self, arrived: Arrived) -> None:
        """Learn rewards that have arrived."""
        task = self._tasks[arrived.task]
        others = self._others(task)
        rewards = arrived.rewards.reshape(task.statistics.lead)
        features = arrived.features.reshape(*rewards.shape, -1)
        new = TaskStatistics.from_data(features[..., None, :], rewards[..., None])
        task.statistics = task.statistics + new
        if self._moves:
            task.estimate = None
        if task.estimate is not None:
            task.estimate[0].observe(features, rewards)
        if self._share:
            self._all = self._prior.absorb(others, task.statistics)
            for other in self._tasks.values():
                if other is not task:
                    other.others = other.estimate = None
        if arrived.ended:
            self.completed = self._prior.absorb(self.completed, task.statistics)
            del self._tasks[arrived.task]

    def _start(self, task: _RunningTask) -> Prior:
        """The prior from other tasks; a bias that moves includes the task's own rewards."""
        others = self._others(task)
        start = starting_prior(self._prior, others, task.statistics.about)
        if not self._moves:
            return start
        moved = self._prior.prior(self._prior.absorb(others, task.statistics))
        return replace(start, bias=moved.bias)

    def _others(self, task: _RunningTask) -> Memory:
        """The memory of other tasks: without the rewards of this one."""
        if task.others is None:
            assert isinstance(self._prior, LivePriorEstimator)  # others change if tasks share
            known = bool(task.statistics.count.any())
            task.others = (
                self._prior.absorb(self._all, task.statistics, -1.0) if known else self._all
            )
        return task.others
