"""Rows: a task in numbers. No other file depends on their order.

A row holds, for d features: A = (V + Λ)⁻¹; a square with V in its lower triangle and Λ in its
strict upper triangle; ŵ, b, h and the diagonal of Λ; the scalars of `kernels.state`; when the task
was last used; its first pending decision; and how much its prior was learned from. So a task is one
block of two squares, and shares nothing with other tasks. A finished task is the same without A.
"""

import math

import numpy as np

from headstart import checks, kernels
from headstart.arrays import Booleans, Floats, Integers
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.kernels import state as columns
from headstart.kernels.compilation import compiled
from headstart.kernels.revision import is_surprising
from headstart.kernels.state import COUNT, N_SCALARS, REWARDS, TaskState
from headstart.kernels.views import view

# The last numbers of a row: when it was last used; its first pending decision; and from how many
# other tasks and how many of their rewards (`Population.rewards`) its prior was learned.
LAST_USED, FIRST_PENDING, PRIOR_TASKS, PRIOR_REWARDS = range(-4, 0)
N_LAST = 4

# Instead of a pending decision: there is none.
NONE = -1

_VECTORS = 4


@compiled(inline="always")
def dimension_of(length: int) -> int:
    """The d of a row of 2d² + 4d + N_SCALARS + N_LAST numbers."""
    return int(math.sqrt((length - N_SCALARS - N_LAST + 2) / 2) + 0.5) - 1


@compiled(inline="always")
def task_state(row: Floats, dimension: int) -> TaskState:
    """The estimate of one task, as views of its row."""
    square = dimension * dimension
    vectors = 2 * square
    scalars = vectors + _VECTORS * dimension
    return TaskState(
        view(row, 0, (1, dimension, dimension)),
        view(row, vectors, (1, dimension)),
        view(row, 0, (0, dimension)),
        view(row, scalars, (1, N_SCALARS)),
    )


@compiled(inline="always")
def n_rewards(row: Floats, dimension: int) -> float:
    """How many rewards a task has had."""
    number: float = row[2 * dimension * dimension + _VECTORS * dimension + REWARDS]
    return number


@compiled(inline="always")
def count_of(row: Floats, dimension: int) -> float:
    """T, the weight of the rewards that a task has had."""
    count: float = row[2 * dimension * dimension + _VECTORS * dimension + COUNT]
    return count


@compiled(inline="always")
def packed_statistics(row: Floats, dimension: int) -> tuple[Floats, Floats]:
    """The square with V in its lower triangle, (d, d), and b, (d,), as views."""
    square = dimension * dimension
    gram = view(row, square, (dimension, dimension))
    return gram, view(row, 2 * square + dimension, (dimension,))


def check_rows(name: str, rows: Floats) -> Floats:
    """Rows of open or finished tasks from a file, which must be finite with one exception.

    The degrees of freedom of a noise scale that the prior knows may be infinite.
    """
    checked, column = rows.copy(), columns.NOISE_DEGREES_OF_FREEDOM - N_SCALARS - N_LAST
    checked[np.isposinf(checked[:, column]), column] = 0.0
    checks.floats(name, checked)
    return rows


class Layout:
    """The entries of rows in Python, for one row (length,) or many (n, length)."""

    def __init__(self, dimension: int) -> None:
        d, square = dimension, dimension**2
        self.dimension = d
        self.length = 2 * square + _VECTORS * d + N_SCALARS + N_LAST
        self._rest = slice(square, self.length)
        self.finished_length = self.length - square
        self._square = slice(square, 2 * square)
        self._inverse = slice(0, square)
        begin = range(2 * square, 2 * square + _VECTORS * d, d)
        self.parameter, self.moment, self.bias, self._diagonal = (slice(i, i + d) for i in begin)
        self.scalars = slice(2 * square + _VECTORS * d, 2 * square + _VECTORS * d + N_SCALARS)
        self._rewards = self.scalars.start + columns.REWARDS - square  # of a finished task
        self._nothing = kernels.Buffer(np.empty((0, 1, d)), np.empty((0, 1)))
        self._above: Booleans = np.triu(np.ones((d, d), dtype=np.bool_), 1)

    def first_row(self, prior: Prior) -> Floats:
        """The row of a task that starts from a prior."""
        row = np.zeros(self.length)
        row[self.scalars] = prior.initial_scalars()
        row[self.bias] = prior.bias
        row[FIRST_PENDING] = NONE
        d = self.dimension
        if prior.isotropic:
            row[self._diagonal] = prior.regularization
        else:
            self._pack(row, prior.regularization)
        size = 1 if prior.isotropic else d
        state = self.state(row)
        bias = row[self.bias].reshape(1, d)
        kernels.start(state, bias, prior.regularization.reshape(1, size, size))
        kernels.update_noises(state.scalars)
        return row

    def state(self, row: Floats) -> TaskState:
        """The estimate of one task, as views of its row."""
        d = self.dimension
        return TaskState(
            row[self._inverse].reshape(1, d, d),
            row[self.parameter].reshape(1, d),
            np.empty((0, d)),
            row[self.scalars].reshape(1, N_SCALARS),
        )

    def finished(self, row: Floats) -> Floats:
        """The row of a task that is finished: without A."""
        return row[self._rest].copy()

    def has_learned(self, finished: Floats) -> bool:
        """Whether a finished task has had rewards."""
        return bool(finished[self._rewards])

    def reopened(self, finished: Floats, start: Floats | None = None) -> Floats:
        """The row of a finished task that continues: A is computed again.

        It may be that of `start`, the row of a new task, which has the same A if V and Λ are equal.
        """
        row = self.unpacked(finished)
        if start is not None:
            same = (np.array_equal(row[own], start[own]) for own in (self._diagonal, self._square))
            if all(same):
                row[self._inverse] = start[self._inverse]
                return row
        if not self.refactorise(row, restate=False):
            inverse = np.linalg.pinv(self.gram(row) + self.regularization(row), hermitian=True)
            row[self._inverse] = inverse.ravel()
        row[self._rest] = finished  # so that nothing is lost if it is finished again at once
        return row

    def gram(self, row: Floats) -> Floats:
        """V, (d, d)."""
        lower = np.tril(self._squares(row))
        return lower + np.tril(lower, -1).T

    def regularization(self, row: Floats) -> Floats:
        """Λ, (d, d)."""
        upper = np.triu(self._squares(row), 1)
        full = upper + upper.T
        np.fill_diagonal(full, row[self._diagonal])
        return full

    def _pack(self, row: Floats, regularization: Floats) -> None:
        """Set Λ (d, d)."""
        square = self._squares(row)
        square[self._above] = regularization[self._above]
        row[self._diagonal] = np.diagonal(regularization)

    def statistics(self, row: Floats) -> TaskStatistics:
        """The statistics of a task, as copies."""
        scalars = row[self.scalars]
        return checks.trusted(
            TaskStatistics,
            gram=self.gram(row),
            moment=row[self.moment].copy(),
            count=np.array(scalars[columns.COUNT]),
            sum_of_squares=np.array(scalars[columns.SUM_OF_SQUARES]),
        )

    def unpacked(self, finished: Floats) -> Floats:
        """A row for a finished task; its A is not set."""
        row = np.empty(self.length)
        row[self._rest] = finished
        return row

    def finished_statistics(self, finished: Floats) -> TaskStatistics:
        """The statistics of a finished task."""
        return self.statistics(self.unpacked(finished))

    def rebased(self, row: Floats, prior: Prior, components: kernels.Components | None) -> Floats:
        """The task's row with another prior, revised by the task's own rewards."""
        new = self.first_row(prior)
        below = ~self._above
        self._squares(new)[below] = self._squares(row)[below]
        new[self.moment] = row[self.moment]
        mine, yours = row[self.scalars], new[self.scalars]
        for column in (columns.COUNT, columns.SUM_OF_SQUARES, columns.REWARDS):
            yours[column] = mine[column]
        new[-N_LAST:] = row[-N_LAST:]
        self.refactorise(new, restate=True)
        differs = yours[columns.REVISION] == columns.ALWAYS
        if components is not None and (differs or is_surprising(self.state(new).scalars, 0)):
            self.revise(new, components, float(prior.noise_degrees_of_freedom))
        return new

    def packed(self, statistics: TaskStatistics, prior: Prior) -> Floats:
        """The row of a task that has these statistics and this prior, without A."""
        row = self.first_row(prior)
        below = ~self._above
        self._squares(row)[below] = statistics.gram[below]
        row[self.moment] = statistics.moment
        scalars = row[self.scalars]
        scalars[columns.COUNT] = scalars[columns.REWARDS] = statistics.count
        scalars[columns.SUM_OF_SQUARES] = statistics.sum_of_squares
        self.refactorise(row, restate=True)
        return row

    def _squares(self, row: Floats) -> Floats:
        return row[self._square].reshape(self.dimension, self.dimension)

    def estimate(self, row: Floats) -> RidgeEstimate:
        """The statistics and the prior of a task, as copies."""
        scalars = row[self.scalars]
        prior = checks.trusted(
            Prior,
            bias=row[self.bias].copy(),
            regularization=self.regularization(row),
            noise_scale=np.array(scalars[columns.PRIOR_NOISE_SCALE]),
            noise_degrees_of_freedom=np.array(scalars[columns.NOISE_DEGREES_OF_FREEDOM]),
            mixture=None,
            mean_covariance=None,
        )
        return RidgeEstimate(self.statistics(row), prior)

    def move(self, row: Floats, bias: Floats) -> None:
        """Move the estimate to another bias: ŵ = A(b + Λh)."""
        row[self.bias] = bias
        target = row[self.moment] + self.regularization(row) @ bias
        inverse = row[self._inverse].reshape(self.dimension, self.dimension)
        row[self.parameter] = inverse @ target

    def refactorise(self, row: Floats, *, restate: bool) -> bool:
        """Compute the estimate from the statistics, and with `restate` the noise scale too.

        If V + Λ has no digits left for some direction, nothing changes, and the result is false:
        the rank-one updates are no worse, and the next reward tries again.
        """
        state, moment, bias = self.state(row), row[None, self.moment], row[None, self.bias]
        gram, regularization = self.gram(row)[None], self.regularization(row)[None]
        try:
            kernels.refactorise_drifted(
                state, -1.0, gram, moment, bias, regularization, self._nothing, 0
            )
        except np.linalg.LinAlgError:
            return False
        if restate:
            kernels.restate_surprise(state, 0, gram[0], moment[0], bias[0], regularization[0])
        return True

    def revise(
        self, row: Floats, components: kernels.Components, noise_degrees_of_freedom: float
    ) -> bool:
        """Give the task the prior that its rewards support. Returns whether that was possible.

        It is impossible if no digits are left to compare the components.
        """
        state, regularization = self.state(row), self.regularization(row)[None]
        gram, moment, bias = self.gram(row)[None], row[None, self.moment], row[None, self.bias]
        before = float(state.scalars[0, columns.NOISE_DEGREES_OF_FREEDOM])
        state.scalars[0, columns.NOISE_DEGREES_OF_FREEDOM] = noise_degrees_of_freedom
        try:
            kernels.revise(state, 0, gram[0], moment[0], components, 0, bias[0], regularization[0])
        except np.linalg.LinAlgError:
            state.scalars[0, columns.NOISE_DEGREES_OF_FREEDOM] = before
            return False
        self._pack(row, regularization[0])
        return True

    def forget(self, row: Floats, discount: float) -> None:
        """Discount V, b, T and Σy², but not the prior."""
        square = self._squares(row)
        square[~self._above] *= discount
        row[self.moment] *= discount
        scalars = row[self.scalars]
        scalars[columns.COUNT] *= discount
        scalars[columns.SUM_OF_SQUARES] *= discount


def inverses(rows: Floats, slots: Integers, dimension: int) -> Floats:
    """(V + Λ)⁻¹ of many tasks, (n, d, d)."""
    flat = np.ascontiguousarray(rows[slots, : dimension * dimension])
    return flat.reshape(-1, dimension, dimension)
