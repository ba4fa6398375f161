"""Scores: what a policy gives to the arms of open tasks."""

import math
from collections.abc import Sequence

import numpy as np

from headstart import kernels
from headstart.arrays import Floats, Integers
from headstart.core.arm_estimates import ArmEstimates, EstimateSummary
from headstart.interfaces import IndexPolicy, Policy, SamplingPolicy, by_parts
from headstart.kernels.compilation import compiled
from headstart.kernels.state import Reading
from headstart.kernels.views import view
from headstart.live._decision_sets import DecisionSet
from headstart.live._item_effects import NO_EFFECTS, Effects, add_effects
from headstart.live._memory import Memory
from headstart.live._rows import NONE, inverses, task_state
from headstart.live._tasks import Tasks
from headstart.live.inputs import LARGEST_GROWTH

# Scratch memory is kept for this many shapes of decisions; applications use a few.
_SHAPES = 16
_LARGEST_SCRATCH = 1 << 22  # bytes


class UnreadableArmError(ValueError):
    """An arm cannot be read; holds the position of its task in the batch."""

    def __init__(self, position: int) -> None:
        super().__init__("an arm cannot be read")
        self.position = position


@compiled
def read_task(rows: Floats, slot: int, arms: Floats, i: int, reading: Reading, j: int) -> bool:
    """Read arms[i] (K, d) of a task into entry j of the reading; false if one is unreadable.

    An unreadable arm is not finite, or too large.
    """
    kernels.read_one(task_state(rows[slot], arms.shape[2]), 0, arms, i, reading, j)
    predictions, widths = reading.predictions, reading.widths
    for k in range(arms.shape[1]):
        # A number that is not finite shows in its arm's width, since A is positive definite.
        readable = widths[j, k] * widths[j, k] < LARGEST_GROWTH
        if not (readable and math.isfinite(predictions[j, k])):
            return False
    return True


@compiled(inline="always", fastmath=False)
def index_task(
    reading: Reading,
    arms: Floats,
    i: int,
    radius: float,
    mean: tuple[float, Floats],
    effects: Effects,
    count: float,
    scratch: Floats,
    scores: Floats,
    j: int,
) -> None:
    """Set row j of the scores to the index of arms[i] (K, d), read in entry 0.

    With a mean covariance (1, d, d), the index has parts, and uses the task's count of rewards. Row
    i holds the effects of arms[i], if there are any. `Scores.scratch` returns the scratch memory.
    """
    mean_radius, covariance = mean
    if covariance.shape[0] == 0:
        if effects.offsets.shape[0] > 0:
            predictions, widths = reading.predictions, reading.widths
            add_effects(predictions, widths, np.empty((0, 0)), 0, effects, i)
        kernels.index_one(reading.predictions, reading.widths, 0, radius, scores, j)
        return
    _, n_arms, dimension = arms.shape
    used = n_arms * (dimension + 2)
    products = view(scratch, used, (n_arms, dimension))
    mean_widths = view(scratch, used + n_arms * dimension, (1, n_arms))
    kernels.read_mean_one(covariance, 0, arms, i, reading.widths, 0, products, mean_widths, 0)
    if effects.offsets.shape[0] > 0:
        add_effects(reading.predictions, reading.widths, mean_widths, 0, effects, i)
    kernels.index_by_parts_one(
        reading.predictions, reading.widths, mean_widths, 0, radius, mean_radius, count, scores, j
    )


@compiled
def _read_tasks(rows: Floats, slots: Integers, arms: Floats, reading: Reading) -> int:
    """Read arms (n, K, d) of n tasks. Returns the first task with an unreadable arm, or NONE."""
    for i in range(slots.shape[0]):
        if not read_task(rows, slots[i], arms, i, reading, i):
            return i
    return NONE


class _Task:
    """One task at a time, for a summary."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self.slot = NONE

    def bias(self) -> Floats:
        return self._tasks.rows[self.slot, self._tasks.layout.bias]

    def regularization(self) -> Floats:
        return self._tasks.layout.regularization(self._tasks.rows[self.slot])


class Scores:
    """A policy applied to open tasks."""

    def __init__(self, policy: Policy, memory: Memory) -> None:
        self._policy = policy
        self._tasks = tasks = memory.tasks
        self._population = memory.population
        self._nothing = np.empty((0, tasks.dimension, tasks.dimension))
        # No methods of this object: a cycle would keep all rows until the next garbage collection.
        self._task = task = _Task(tasks)
        self._summary = EstimateSummary(np.empty(0), task.bias, task.regularization)
        self._scratch: dict[int, Floats] = {}
        # Only a policy without random numbers of its own has one index per arm.
        self.index: IndexPolicy | None = None
        if isinstance(policy, IndexPolicy) and policy.n_uniforms(1, tasks.dimension) == 0:
            self.index = policy
        # Only an index by parts needs the uncertainty of the mean task.
        self._by_parts = None if self.index is None else by_parts(self.index)

    def radius(self, slot: int) -> float:
        """The radius of an index for one task."""
        assert self.index is not None
        self._task.slot = slot
        scalars = self._tasks.rows[slot, self._tasks.layout.scalars]
        self._summary.update(scalars, self._population.usual_variance)
        return float(self.index.radius(self._summary))

    @property
    def mean_covariance(self) -> Floats:
        """S̄, (1, d, d), or (0, d, d) if the index has no parts."""
        covariance = self._population.mean_covariance
        return self._nothing if self._by_parts is None or not len(covariance) else covariance[None]

    def mean(self, n_arms: int) -> tuple[float, Floats]:
        """The mean radius for K arms of the task of the last call of `radius`, and S̄."""
        if self._by_parts is None:
            return 0.0, self._nothing
        return float(self._by_parts.mean_radius(self._summary, n_arms)), self.mean_covariance

    def radii(self, slots: Integers) -> Floats:
        """The radii of an index for n tasks, (n,)."""
        assert self.index is not None
        return np.array(np.broadcast_to(self.index.radius(self._summaries(slots)), len(slots)))

    def means(self, slots: Integers, n_arms: int) -> tuple[Floats, Floats]:
        """The mean radii of an index for n tasks with K arms each, (n,), and S̄."""
        if self._by_parts is None:
            return np.zeros(len(slots)), self._nothing
        radii = self._by_parts.mean_radius(self._summaries(slots), n_arms)
        return np.array(np.broadcast_to(radii, len(slots))), self.mean_covariance

    def _summaries(self, slots: Integers) -> EstimateSummary:
        tasks, layout = self._tasks, self._tasks.layout
        rows = tasks.rows
        return EstimateSummary(
            rows[slots, layout.scalars],
            lambda: rows[slots, layout.bias],
            lambda: np.stack([layout.regularization(rows[slot]) for slot in slots]),
            self._population.usual_variance,
        )

    def scratch(self, n_arms: int) -> Floats:
        """Memory for one task's estimates of K arms, K(2d + 3)."""
        scratch = self._scratch.get(n_arms)
        if scratch is None:
            if len(self._scratch) == _SHAPES:
                self._scratch.clear()
            scratch = np.empty(n_arms * (2 * self._tasks.dimension + 3))
            if scratch.nbytes <= _LARGEST_SCRATCH:
                self._scratch[n_arms] = scratch
        return scratch

    def effects(self, sets: Sequence[DecisionSet]) -> Effects:
        """What the effects of items change for decision sets of equally many arms."""
        if not any(arms.are_items for arms in sets):
            return NO_EFFECTS
        items = self._population.item_effects
        if items is None:
            return NO_EFFECTS
        shape = len(sets), len(sets[0].features)
        effects = Effects(np.zeros(shape), np.zeros(shape))
        for i, arms in enumerate(sets):
            if arms.are_items and arms.ids is not None:
                read = items.read(arms.features, arms.ids)
                effects.offsets[i], effects.variances[i] = read
        return effects

    def n_uniforms(self, n_arms: int) -> int:
        """How many uniform numbers the policy itself needs for one task."""
        return self._policy.n_uniforms(n_arms, self._tasks.dimension)

    def scores(self, slot: int, arms: DecisionSet, uniforms: Floats) -> Floats:
        """The scores (m, K) of one task's arms, from uniforms (m, u): one row per draw."""
        slots: Integers = np.array([slot])
        effects = self.effects([arms])
        given = arms.features[None], effects, uniforms[None]
        scores: Floats = self.scores_of_tasks(slots, *given)[0]
        return scores

    def scores_of_tasks(
        self, slots: Integers, arms: Floats, effects: Effects, uniforms: Floats
    ) -> Floats:
        """New scores (n, m, K) of n tasks' arms (n, K, d), from uniforms (n, m, u)."""
        return self._scores_of_tasks(slots, arms, effects, uniforms)

    def _scores_of_tasks(
        self, slots: Integers, arms: Floats, effects: Effects, uniforms: Floats
    ) -> Floats:
        estimates = self._estimates(slots, arms, effects)
        n, n_draws, _ = uniforms.shape
        if n_draws == 1:
            scores = self._policy.scores(estimates, uniforms[:, 0])[:, None]
        elif isinstance(self._policy, SamplingPolicy):
            scores = self._policy.sampled_scores(estimates, uniforms)
        else:
            repeated = (estimates[(i,)][None].repeat(n_draws) for i in range(n))
            pairs = zip(repeated, uniforms, strict=True)
            scores = np.stack([self._policy.scores(*pair) for pair in pairs])
        scores = np.array(scores, dtype=np.float64, order="C")
        if np.isnan(scores).any():
            raise ValueError(f"the scores of {self._policy} must be numbers, got nan")
        return scores

    def _estimates(self, slots: Integers, arms: Floats, effects: Effects) -> ArmEstimates:
        """The estimates of n tasks for arms (n, K, d)."""
        reading = kernels.Reading(
            np.empty(arms.shape), np.empty(arms.shape[:2]), np.empty(arms.shape[:2])
        )
        position = _read_tasks(self._tasks.rows, slots, arms, reading)
        if position != NONE:
            raise UnreadableArmError(position)
        covariance, mean_widths = self.mean_covariance, None
        if len(covariance):
            mean_widths = np.empty(arms.shape[:2])
            covariances = np.broadcast_to(covariance, (len(arms), *covariance.shape[1:])).copy()
            kernels.read_mean(covariances, arms, reading, mean_widths)
        for i in range(len(effects.offsets)):
            known = np.empty((0, 0)) if mean_widths is None else mean_widths
            add_effects(reading.predictions, reading.widths, known, i, effects, i)
        return ArmEstimates(
            projections=reading.projections,
            predictions=reading.predictions,
            widths=reading.widths,
            inverse=inverses(self._tasks.rows, slots, self._tasks.dimension),
            summary=self._summaries(slots),
            mean_widths=mean_widths,
        )
