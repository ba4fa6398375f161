"""Population: what all tasks say about the next, as a memory and the prior that it gives."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import (
    FittedPriorEstimator,
    LivePriorEstimator,
    Memory,
    starting_prior,
)
from headstart.kernels import Components
from headstart.live.decision import Name
from headstart.live.memory import scales as scaling
from headstart.live.processes.threads import one_blas_thread
from headstart.live.settings import Settings
from headstart.live.tasks.layout import Layout

_log = logging.getLogger("headstart.live")

# A task is set aside where its rewards are, in root mean square, larger than those of all others by
# more than this factor, once there are a few others: a reward in the wrong unit, not a taste.
_OUTLYING = 1e3
_TASKS_TO_COMPARE = 5
# What is left of a sum from which tasks were taken is 0 below this share of it.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Contribution:
    """What the memory counts for a task: its statistics, at a position of the memory."""

    task: TaskStatistics
    position: float  # in tasks or in seconds, by the kind of half-life


@dataclass(frozen=True, eq=False)
class Change:
    """A task whose contribution is to be replaced."""

    name: Name
    before: Contribution | None
    after: Contribution | None


@dataclass(frozen=True, eq=False)
class Start:
    """What a new task starts from: a prior, and the row that it gives."""

    prior: Prior
    components: Components | None
    row: Floats
    is_finite: bool


@dataclass(frozen=True, eq=False)
class State:
    """A memory over tasks, with what it weighs. States are never changed, only replaced."""

    memory: Memory
    position: float = 0.0  # up to which all contributions have been discounted
    n_tasks: int = 0
    weight: float = 0.0  # Σ of the tasks' weights: their number where nothing is forgotten
    rounds: float = 0.0  # ΣT and Σq, with the weights
    squares: float = 0.0


class Population:
    """The memory over open and finished tasks, each of which counts once."""

    def __init__(self, layout: Layout, estimator: LivePriorEstimator, settings: Settings) -> None:
        self.layout = layout
        self.estimator = estimator
        self.state = State(estimator.empty(layout.dimension))
        given = settings.scales
        self.scales = None if given is None or given == "learn" else np.array(given)
        self.scales_known = given != "learn"
        self._half_life = settings.half_life_seconds or settings.half_life_tasks or math.inf
        self._start: Start | None = None

    @property
    def start(self) -> Start:
        """What a new task starts from, by the memory as it is."""
        if self._start is None:
            self._start = self.starting_from(self.state.memory)
        return self._start

    def starting_from(self, memory: Memory, side: Floats | None = None) -> Start:
        """What a task with this side information starts from, by a memory."""
        with one_blas_thread:
            prior = scaling.unscaled(starting_prior(self.estimator, memory, side), self.scales)
        moves = self.estimator.running_bias(memory) is not None
        if prior.mixture is not None and moves:
            raise ValueError("a prior must not have a mixture where its bias moves in a task")
        components = None if prior.mixture is None else prior.mixture.components()
        row = self.layout.first_row(prior)
        finite = bool(np.isfinite(row[: self.layout.scalars.start]).all())
        return Start(prior, components, row, finite)

    def install(self, state: State, start: Start | None = None) -> None:
        """Go on with another memory."""
        self.state, self._start = state, start

    def weight(self, contribution: Contribution, position: float) -> float:
        """How much a contribution counts at a position: half as much per half-life."""
        if math.isinf(self._half_life):
            return 1.0
        return float(2.0 ** ((contribution.position - position) / self._half_life))

    def replaced(self, state: State, changes: Sequence[Change]) -> State:
        """The memory in which tasks have other contributions than before."""
        if not changes:
            return state
        ends = [change.after.position for change in changes if change.after is not None]
        state = self.discounted(state, max(ends, default=state.position))
        for change in changes:
            for each, sign in ((change.before, -1), (change.after, 1)):
                if each is not None:
                    weight = self.weight(each, state.position)
                    state = self.counted(state, each.task, weight, sign)
        return state

    def counted(self, state: State, task: TaskStatistics, weight: float, sign: int) -> State:
        """The memory with one task of this weight more, or with sign −1 less."""
        if state.n_tasks + sign == 0:
            return State(self.estimator.empty(self.layout.dimension), state.position)
        totals = np.array([state.weight, state.rounds, state.squares])
        added = np.array([1.0, float(task.count), float(task.sum_of_squares)])
        after = totals + sign * weight * added
        after[after < _ROUNDING * totals] = 0.0
        with one_blas_thread:
            memory = self.estimator.absorb(state.memory, self._scaled(task), sign * weight)
        return State(memory, state.position, state.n_tasks + sign, *after.tolist())

    def refitted(self, state: State) -> State:
        """The memory with a fit begun anew, so that nothing of it is left of tasks taken out."""
        if not isinstance(self.estimator, FittedPriorEstimator) or not state.n_tasks:
            return state
        with one_blas_thread:
            return replace(state, memory=self.estimator.refit(state.memory))

    def without(self, contribution: Contribution | None, state: State | None = None) -> Memory:
        """The memory of all tasks but one."""
        state = self.state if state is None else state
        if contribution is None:
            return state.memory
        weight = self.weight(contribution, state.position)
        memory = self.estimator.absorb(state.memory, self._scaled(contribution.task), -weight)
        if isinstance(self.estimator, FittedPriorEstimator):
            with one_blas_thread:
                return self.estimator.refit(memory)
        return memory

    def bias_with(self, contribution: Contribution | None, task: TaskStatistics) -> Floats:
        """The bias by all tasks, of which one counts with the given statistics."""
        memory = self.estimator.absorb(self.without(contribution), self._scaled(task))
        return scaling.unscaled(self.estimator.prior(memory), self.scales).bias

    def discounted(self, state: State, position: float) -> State:
        """The memory at a later position, at which all tasks count less."""
        if position <= state.position:
            return state
        if math.isinf(self._half_life):
            return replace(state, position=position)
        if state.n_tasks == 0:
            return State(state.memory, position)
        factor = 2.0 ** ((state.position - position) / self._half_life)
        return State(
            self.estimator.scale(state.memory, factor),
            position,
            state.n_tasks,
            factor * state.weight,
            factor * state.rounds,
            factor * state.squares,
        )

    def merged(self, state: State, other: State) -> State:
        """The memory of the tasks of both."""
        position = max(state.position, other.position)
        one, two = self.discounted(state, position), self.discounted(other, position)
        return State(
            self.estimator.merge(one.memory, two.memory),
            position,
            one.n_tasks + two.n_tasks,
            one.weight + two.weight,
            one.rounds + two.rounds,
            one.squares + two.squares,
        )

    def learn_scales(self, scales: Floats, names: Sequence[str]) -> None:
        """Use these scales from now on, with an empty memory: sums in other units do not add."""
        self.scales, self.scales_known = scales, True
        far = ", ".join(f"{names[i]}: {each:g}" for i, each in enumerate(scales) if each != 1.0)
        _log.warning("features are far apart; scales relative to the others: %s", far)
        self.install(State(self.estimator.empty(self.layout.dimension)))

    def is_outlying(self, task: TaskStatistics, state: State) -> bool:
        """Whether a task's rewards are so much larger than those of others that it is set aside."""
        if state.n_tasks < _TASKS_TO_COMPARE or state.squares == 0.0:
            return False
        usual = state.squares / state.rounds
        return float(task.sum_of_squares) > _OUTLYING**2 * usual * float(task.count)

    @staticmethod
    def warn_set_aside(name: Name) -> None:
        """Say that a task is not counted."""
        _log.warning("task %r is set aside: its rewards are a thousand times the others'", name)

    def _scaled(self, task: TaskStatistics) -> TaskStatistics:
        return scaling.scaled(task, self.scales)
