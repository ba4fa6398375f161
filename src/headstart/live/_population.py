"""Population: what all tasks say about the next one, as a memory and the prior it gives.

The prior treats all features alike: it learns w' = Dw with D = diag(scales), from features x' =
D⁻¹x. A task itself never needs x': its prior is for w, with Λ = DΛ'D and h = D⁻¹h'.
"""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Mixture, Prior
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import (
    FittedPriorEstimator,
    LivePriorEstimator,
    Memory,
    PriorEstimator,
    n_about,
    starting_prior,
)
from headstart.kernels import Components
from headstart.live import _item_effects
from headstart.live._counted import Contribution
from headstart.live._item_effects import ItemEffects, ItemSums
from headstart.live._rows import PRIOR_REWARDS, PRIOR_TASKS, Layout
from headstart.live.inputs import Name
from headstart.live.settings import Settings
from headstart.processes import one_blas_thread

_log = logging.getLogger("headstart.live")

# A task is set aside if the root mean square of its rewards exceeds the others' by more than this
# factor, once there are a few others: a reward in the wrong unit, not a taste.
_OUTLYING = 1e3
_TASKS_TO_COMPARE = 5
# After tasks are subtracted from a sum, a remainder below this share of it counts as 0, and a
# remainder below the other has too few digits: everything is counted again.
_ROUNDING, _WORN = 1e-12, 1e-8
# How many bytes of starts of tasks with side information are cached.
_STARTS_BYTES = 1 << 24
# From this many tasks on, a task's own rewards count so little in the prior of all tasks that this
# serves as the prior of the others too; and a prior is old once there are an eighth more tasks, an
# eighth of them have changed, or they have twice as many rewards.
_MANY_TASKS = 32
_MORE_TASKS = 1.125
# Rewards have doubled, as a difference of log₂, despite rounding; and instead of log₂(0).
_TWICE = 1.0 - 1e-9
_NO_REWARDS = 2.0**-1000
# How many clicks, and how many rewards without one, are added to a rate of clicks.
_CLICKS = 10.0
# How many rewards it takes to learn the scales.
_ROUNDS_TO_LEARN = 32


@dataclass(frozen=True, eq=False)
class Change:
    """A task whose contribution is to be replaced."""

    name: Name
    before: Contribution | None
    after: Contribution | None


@dataclass(frozen=True, eq=False)
class Start:
    """What a new task starts from: a prior, and the resulting row."""

    prior: Prior
    components: Components | None
    row: Floats
    is_finite: bool


@dataclass(frozen=True, eq=False)
class State:
    """A memory over tasks and its weights. States are never changed, only replaced."""

    memory: Memory
    position: float = 0.0  # up to which all contributions have been discounted
    n_tasks: int = 0
    weight: float = 0.0  # Σ of the tasks' weights: their number where nothing is forgotten
    rounds: float = 0.0  # ΣT and Σq, with the weights
    squares: float = 0.0
    peak: float = 0.0  # the largest Σq since the sums began: their rounding is a share of it
    items: ItemSums | None = None  # of the tasks that count rewards by item, if any

    @property
    def is_worn(self) -> bool:
        """Whether so much was subtracted that what is left has too few digits."""
        return self.squares < _WORN * self.peak


class Population:
    """The memory over open and finished tasks, each of which counts once.

    A `State` is the memory at one time. Most methods are functions of a state, so that a thread may
    compute the next one while calls continue with the present one.
    """

    def __init__(self, dimension: int, estimator: PriorEstimator, settings: Settings) -> None:
        if not isinstance(estimator, LivePriorEstimator):
            raise ValueError(
                "prior needs the methods absorb (with a weight), scale and merge for live use, "
                f"got {estimator!r}"
            )
        self.layout = Layout(dimension)
        self.estimator: LivePriorEstimator = estimator
        self.settings = settings
        self.state = State(estimator.empty(dimension))
        # A task whose prior was learned from fewer others, or fewer rewards, gets a newer one; if
        # there are not many tasks, `is_outdated` decides.
        self.oldest, self.oldest_rewards = 0.0, -math.inf
        self.has_many = False
        self.scales: Floats | None = None
        self.scales_known = settings.scales is None
        # AVG and RR move the bias with the task's own rewards.
        self.bias_moves = estimator.running_bias(self.state.memory) is not None
        self._half_life = settings.half_life_seconds or math.inf
        self._start: Start | None = None
        self._starts: dict[bytes, Start] = {}  # by side information
        # S̄ of the latest start, the same for all tasks, or (0, 0).
        self.mean_covariance: Floats = np.empty((0, 0))
        # The effects of items, with the sums that they follow from.
        self._effects: tuple[ItemSums | None, ItemEffects | None] = (None, None)

    @property
    def start(self) -> Start:
        """What a new task starts from, by the present memory."""
        if self._start is None:
            self._install_start(self.starting_from(self.state.memory))
        assert self._start is not None
        return self._start

    def start_with(self, about: Floats | None) -> Start:
        """What a new task with this side information starts from, by the present memory."""
        start = self.start
        if about is None or n_about(self.estimator) == 0:
            return start
        key = about.tobytes()
        if key not in self._starts:
            if (len(self._starts) + 1) * start.row.nbytes > _STARTS_BYTES:
                self._starts.clear()
            self._starts[key] = self.starting_from(self.state.memory, about)
        return self._starts[key]

    def _install_start(self, start: Start) -> None:
        self._start, covariance = start, start.prior.mean_covariance
        self.mean_covariance = np.empty((0, 0)) if covariance is None else covariance

    @one_blas_thread
    def starting_from(self, memory: Memory, about: Floats | None = None) -> Start:
        """What a task with this side information starts from, by a memory."""
        prior = _unscaled(starting_prior(self.estimator, memory, about), self.scales)
        if prior.mixture is not None and self.bias_moves:
            raise ValueError("a prior whose bias moves within a task must not have a mixture")
        components = None if prior.mixture is None else prior.mixture.components()
        try:
            row = self.layout.first_row(prior)
        except np.linalg.LinAlgError:  # Λ is not finite, or no digits are left
            row = np.full(self.layout.length, np.nan)
        finite = bool(np.isfinite(row[: self.layout.scalars.start]).all())
        return Start(prior, components, row, finite)

    def starting_from_others(
        self, state: State, contribution: Contribution | None, about: Floats | None
    ) -> tuple[Start, int]:
        """What a task starts from by all other tasks, and how many they are."""
        n_others = state.n_tasks - (contribution is not None)
        if n_others < _MANY_TASKS:
            return self.starting_from(self.without(contribution, state), about), n_others
        start = self._start
        if (
            start is None
            or state is not self.state
            or (about is not None and n_about(self.estimator))
        ):
            start = self.starting_from(state.memory, about)
        return start, n_others

    def rewards(self, own: float = 0.0) -> float:
        """How many rewards the memory knows besides a task's own, log₂; it never falls with age.

        With a half-life, the weight of a reward is relative to one at the position 0: so even if
        the memory counts as many as it forgets, this grows by 1 in each half-life.
        """
        number = max(self.state.rounds - own, _NO_REWARDS)
        return math.log2(number) + self.state.position / self._half_life

    def is_outdated(self, row: Floats, *, counted: bool, own: float) -> bool:
        """Whether a task's prior was learned from half as many other tasks or rewards as now.

        `own` is the weight of the task's rewards in the memory. With many tasks, `oldest` says it.
        """
        others = self.state.n_tasks - int(counted)
        if self.has_many or self.bias_moves or others == 0:
            return False
        doubled = self.rewards(own) >= row[PRIOR_REWARDS] + _TWICE
        return bool(others >= 2.0 * row[PRIOR_TASKS] or doubled)

    def is_due(self, n_changed: int) -> bool:
        """Whether a new task should wait until this many changed tasks are counted."""
        known = self.state.weight
        return known < _MANY_TASKS or n_changed >= known * (_MORE_TASKS - 1.0)

    def install(
        self, state: State, start: Start | None = None, effects: ItemEffects | None = None
    ) -> None:
        """Continue with another memory; its start may be given with the effects of its items."""
        self.state, self._start, self._starts = state, None, {}
        n_tasks, self.has_many = state.n_tasks, state.n_tasks >= _MANY_TASKS
        if n_tasks and not self.bias_moves:
            half = math.nextafter(n_tasks / 2.0, math.inf)
            self.oldest = (n_tasks - 1) / _MORE_TASKS if self.has_many else half
            self.oldest_rewards = math.nextafter(self.rewards() - _TWICE, math.inf)
        else:
            self.oldest, self.oldest_rewards = 0.0, -math.inf
        if start is not None:
            self._install_start(start)
            self._effects = state.items, effects

    @property
    def usual_variance(self) -> float:
        """The variance p(1 − p) of rewards that are 0 or 1, or 0 or the upper end of their range.

        p is their rate, a weak prior included; 0 for other rewards. If the first rewards are zeros
        the learned noise is near 0, and nothing would be explored any more. Rewards are taken for 0
        and 1 if the sum of their squares is a whole number, and at most their number.
        """
        rounds, limits = self.state.rounds, self.settings.reward_range
        low, high = limits or (0.0, 1.0)
        if rounds == 0.0 or low != 0.0:
            return 0.0
        clicks = self.state.squares / high**2
        if clicks > rounds or (limits is None and clicks != round(clicks)):
            return 0.0
        rate = (clicks + _CLICKS) / (rounds + 2.0 * _CLICKS)
        return float(high**2 * rate * (1.0 - rate))

    @property
    def item_effects(self) -> ItemEffects | None:
        """The effects of items, by the present memory; None if there are none."""
        sums, effects = self._effects
        if sums is not self.state.items:
            effects = self.effects_of(self.state)
            self._effects = self.state.items, effects
        return effects

    @one_blas_thread
    def effects_of(self, state: State) -> ItemEffects | None:
        """The effects of items, by a memory. They are those of now if the items are."""
        sums, effects = self._effects
        if sums is state.items:
            return effects
        if state.items is None or not self.settings.item_effects:
            return None
        return _item_effects.fit(state.items, self.scales)

    def position_now(self) -> float:
        """The position of a contribution: the time, or 0 without a half-life."""
        return float(self.settings.clock()) if self.settings.half_life_seconds else 0.0

    def change(self, name: Name, before: Contribution | None, task: TaskStatistics) -> Change:
        """What a task should now contribute: nothing if it is set aside or has no rewards left."""
        if float(task.count) == 0.0:
            return Change(name, before, None)
        if self.is_outlying(task, self.state):
            warn_set_aside(name)
            return Change(name, before, None)
        return Change(name, before, Contribution(task, self.position_now()))

    def count(self, changes: Sequence[Change]) -> None:
        """Install the memory with these changes, at the present weights."""
        state = self.replaced(self.state, changes)
        if self.settings.half_life_seconds is not None:
            state = self.discounted(state, float(self.settings.clock()))
        if state is not self.state:
            self.install(state)

    def take_out(self, contributions: Sequence[Contribution]) -> State:
        """The memory without the contributions of some tasks."""
        if not contributions:
            return self.state
        gone = [Change("", contribution, None) for contribution in contributions]
        return self.refitted(self.replaced(self.state, gone))

    def weight(self, contribution: Contribution, position: float) -> float:
        """The weight of a contribution at a position; it halves with every half-life."""
        return self._weight(contribution.position, position)

    def _weight(self, counted_at: float, position: float) -> float:
        if math.isinf(self._half_life):
            return 1.0
        return float(2.0 ** ((counted_at - position) / self._half_life))

    def own(self, counted_at: float, count: float) -> float:
        """The weight now of rewards (T) that were counted at a position."""
        return self._weight(counted_at, self.state.position) * count

    @one_blas_thread
    def replaced(self, state: State, changes: Sequence[Change]) -> State:
        """The memory with some tasks' contributions replaced."""
        if not changes:
            return state
        ends = [change.after.position for change in changes if change.after is not None]
        state = self.discounted(state, max(ends, default=state.position))
        return self.summed(
            state,
            [
                (contribution.task, sign * self.weight(contribution, state.position))
                for change in changes
                for contribution, sign in ((change.before, -1.0), (change.after, 1.0))
                if contribution is not None
            ],
        )

    def summed(self, state: State, parts: Sequence[tuple[TaskStatistics, float]]) -> State:
        """The memory with tasks added with these weights; with weights below 0, subtracted."""
        if not parts:
            return state
        items = ItemSums.empty(self.layout.dimension) if state.items is None else state.items
        items = items.counted(parts)
        for task, weight in parts:
            state = self._added(state, task, weight)
        return replace(state, items=items if items.rows and state.n_tasks else None)

    def _added(self, state: State, task: TaskStatistics, weight: float) -> State:
        n_tasks = state.n_tasks + (1 if weight > 0.0 else -1)
        if n_tasks == 0:
            return State(self.estimator.empty(self.layout.dimension), state.position)
        totals = np.array([state.weight, state.rounds, state.squares])
        after = totals + weight * np.array([1.0, float(task.count), float(task.sum_of_squares)])
        after[after < _ROUNDING * totals] = 0.0
        total, rounds, squares = after.tolist()
        return State(
            self.estimator.absorb(state.memory, self._scaled(task), weight),
            state.position,
            n_tasks,
            total,
            rounds,
            squares,
            max(state.peak, squares),
        )

    def refitted(self, state: State) -> State:
        """The memory with a fresh fit, so that no trace of subtracted tasks is left in it."""
        if not isinstance(self.estimator, FittedPriorEstimator) or not state.n_tasks:
            return state
        return replace(state, memory=self.estimator.refit(state.memory))

    def without(self, contribution: Contribution | None, state: State) -> Memory:
        """The memory of all tasks but one."""
        if contribution is None:
            return state.memory
        weight = self.weight(contribution, state.position)
        memory = self.estimator.absorb(state.memory, self._scaled(contribution.task), -weight)
        if isinstance(self.estimator, FittedPriorEstimator):
            return self.estimator.refit(memory)
        return memory

    def bias_with(self, contribution: Contribution | None, task: TaskStatistics) -> Floats:
        """The bias by all tasks, where one task counts with the given statistics."""
        memory = self.estimator.absorb(self.without(contribution, self.state), self._scaled(task))
        return _unscaled(self.estimator.prior(memory), self.scales).bias

    def discounted(self, state: State, position: float) -> State:
        """The memory at a later position, where all tasks count less."""
        if position <= state.position:
            return state
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
            factor * state.peak,
            None if state.items is None else state.items.scaled(factor),
        )

    def merged(self, state: State, other: State) -> State:
        """The memory of the tasks of both."""
        position = max(state.position, other.position)
        one, two = self.discounted(state, position), self.discounted(other, position)
        items = two.items if one.items is None else one.items
        if one.items is not None and two.items is not None:
            items = one.items.merged(two.items)
        return State(
            self.estimator.merge(one.memory, two.memory),
            position,
            one.n_tasks + two.n_tasks,
            one.weight + two.weight,
            one.rounds + two.rounds,
            one.squares + two.squares,
            max(one.peak, two.peak, one.squares + two.squares),
            items,
        )

    @property
    def wants_scales(self) -> bool:
        """Whether to learn the features' scales now, from what is counted."""
        return not self.scales_known and self.state.rounds >= _ROUNDS_TO_LEARN

    def learn_scales(self, counted: Mapping[Name, Contribution], names: Sequence[str]) -> bool:
        """Learn the scales, once, from everything counted; whether they are far apart.

        If so, the memory counts all tasks again, since sums in different units do not add.
        """
        self.scales_known = True
        if len(counted) < self.state.n_tasks:
            return False  # tasks of logs are not kept: the log gave their scales
        if not self.take_scales([contribution.task for contribution in counted.values()], names):
            return False
        self.recount(counted)
        return True

    def recount(self, counted: Mapping[Name, Contribution]) -> None:
        """Count everything again, from nothing."""
        empty = State(self.estimator.empty(self.layout.dimension), self.state.position)
        changes = [Change(name, None, contribution) for name, contribution in counted.items()]
        self.install(self.replaced(empty, changes))

    def take_scales(self, tasks: Sequence[TaskStatistics], names: Sequence[str]) -> bool:
        """Use the scales of some tasks, if they have enough rewards to learn them.

        True if the scales are far apart; the memory is then empty.
        """
        rounds = math.fsum(float(task.count) for task in tasks)
        if rounds < _ROUNDS_TO_LEARN:
            return False
        self.scales_known = True
        scales = _far_apart(np.sum([np.diagonal(task.gram) for task in tasks], 0) / rounds)
        if scales is None:
            return False
        self.scales = scales
        far = ", ".join(f"{names[i]}: {scale:g}" for i, scale in enumerate(scales) if scale != 1.0)
        _log.warning("features are far apart; scales relative to the others: %s", far)
        self.install(State(self.estimator.empty(self.layout.dimension)))
        return True

    def is_outlying(self, task: TaskStatistics, state: State) -> bool:
        """Whether a task's rewards are so much larger than others' that it is set aside."""
        if state.n_tasks < _TASKS_TO_COMPARE or state.squares == 0.0:
            return False
        usual = state.squares / state.rounds
        return float(task.sum_of_squares) > _OUTLYING**2 * usual * float(task.count)

    def _scaled(self, task: TaskStatistics) -> TaskStatistics:
        """The statistics of D⁻¹x."""
        scales = self.scales
        if scales is None:
            return task
        changed = {"gram": task.gram / (scales[:, None] * scales), "moment": task.moment / scales}
        return checks.trusted(TaskStatistics, **vars(task) | changed)


def warn_set_aside(name: Name) -> None:
    """Warn that a task is not counted."""
    _log.warning("task %r is set aside: its rewards are a thousand times the others'", name)


def _far_apart(mean_squares: Floats) -> Floats | None:
    """Scales (d,) for features with these mean squares (d,); None if all have similar size."""
    ratio, far = checks.far_apart(np.sqrt(mean_squares))
    if not far.any():
        return None
    # Powers of two, so that scaling costs no digits.
    return np.asarray(np.where(far, 2.0 ** np.round(np.log2(np.where(far, ratio, 1.0))), 1.0))


def _unscaled(prior: Prior, scales: Floats | None) -> Prior:
    """The prior of w = D⁻¹w', from the prior of w'."""
    if scales is None:
        return prior
    matrix = prior.regularization
    if prior.isotropic:
        matrix = prior.regularization[..., None, None] * np.eye(prior.dimension)
    return Prior.trusted(
        prior.bias / scales,
        scales[:, None] * matrix * scales,
        noise_scale=prior.noise_scale,
        noise_degrees_of_freedom=prior.noise_degrees_of_freedom,
        mixture=None if prior.mixture is None else _unscaled_mixture(prior.mixture, scales),
        mean_covariance=(
            None
            if prior.mean_covariance is None
            else prior.mean_covariance / (scales[:, None] * scales)
        ),
    )


def _unscaled_mixture(mixture: Mixture, scales: Floats) -> Mixture:
    changed = {
        "bias": mixture.bias / scales,
        "covariance": mixture.covariance / (scales[:, None] * scales),
    }
    return checks.trusted(Mixture, **vars(mixture) | changed)
