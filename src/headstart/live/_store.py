"""Store: the open tasks, one row each, and the decisions they wait for."""

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.live import _layout as rows
from headstart.live._pending import NONE, Pending, find, hold
from headstart.live.decision import Name


class Store:
    """Rows for open tasks, reused after a task closes, and the slot of every name.

    Grows by a sixteenth, in place where the system can, so that what is reserved stays small
    beside what is used.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.slots: dict[Name, int] = {}  # the least recently touched first, where that matters
        self.state = np.zeros((0, rows.row_length(dimension)))
        self.heads = np.empty(0, dtype=np.int64)
        self.pending = Pending(dimension)
        self.names: dict[int, Name] = {}
        self._free: list[int] = []
        self._at = rows.scalars_at(dimension)

    def open(self, name: Name, row: Floats) -> int:
        """Give a row to a new task; returns its slot."""
        if not self._free:
            self._grow(max(16, len(self.state) // 16))
        slot = self._free.pop()
        self.state[slot] = row
        self.slots[name] = slot
        self.names[slot] = name
        return slot

    def close(self, name: Name) -> None:
        """Forget a task and all it waits for."""
        slot = self.slots.pop(name)
        del self.names[slot]
        for place in self.pending.of(int(self.heads[slot])):
            self.pending.drop(self.heads, place)
        self._free.append(slot)

    def hold(self, slot: int, features: Floats) -> int:
        """Keep the chosen features (d,) of a task until their reward; returns the decision's id."""
        self.pending.reserve(1)
        place = self.pending.free.pop()
        self.pending.kept[place, : self.dimension] = features
        self.pending.kept[place, -1] = rows.UNSEEN
        return int(hold(self.pending.links, self.heads, slot, place))

    def find(self, decision: int) -> tuple[int, int]:
        """The place and the slot of an open decision."""
        place = int(find(self.pending.links, decision))
        if place == NONE:
            raise ValueError(
                f"decision {decision} is not open: it was rewarded already, its task was "
                "finished, or it was never made here"
            )
        return place, self.pending.owner(place)

    def _grow(self, more: int) -> None:
        old = len(self.state)
        # Nobody keeps a view of the rows: whoever reads one copies it.
        self.state.resize((old + more, self.state.shape[1]), refcheck=False)
        self.heads = np.concatenate([self.heads, np.full(more, NONE)])
        self._free.extend(range(old + more - 1, old - 1, -1))

    def scalar(self, slot: int, which: int) -> float:
        """One of the scalars named in `rows`."""
        return float(self.state[slot, self._at + which])

    def set_scalar(self, slot: int, which: int, value: float) -> None:
        """Set one of the scalars named in `rows`."""
        self.state[slot, self._at + which] = value

    def scalars(self, slots: Integers, which: int) -> Floats:
        """One of the scalars of many tasks, (n,)."""
        return np.asarray(self.state[slots, self._at + which])

    def vector(self, slot: int, which: int) -> Floats:
        """ŵ, b, h or the diagonal of Λ: the vector of this number, (d,), as a view."""
        begin = 2 * self.dimension**2 + which * self.dimension
        return np.asarray(self.state[slot, begin : begin + self.dimension])

    def inverses(self, slots: Integers) -> Floats:
        """(V + Λ)⁻¹ of many tasks, (n, d, d)."""
        d = self.dimension
        return np.ascontiguousarray(self.state[slots, : d * d]).reshape(-1, d, d)

    def biases(self, slots: Integers) -> Floats:
        """The bias h of many tasks, (n, d)."""
        begin = 2 * self.dimension**2 + rows.BIAS * self.dimension
        return np.asarray(self.state[slots, begin : begin + self.dimension])

    def estimate(self, slot: int) -> RidgeEstimate:
        """A task's statistics and prior, as copies."""
        d = self.dimension
        gram, regularization = np.empty((d, d)), np.empty((d, d))
        rows.unpack(self.state[slot], gram, regularization)
        statistics = TaskStatistics(
            gram=gram,
            moment=self.vector(slot, rows.MOMENT).copy(),
            count=np.asarray(self.scalar(slot, rows.COUNT)),
            sum_of_squares=np.asarray(self.scalar(slot, rows.ENERGY)),
        )
        prior = Prior(
            self.vector(slot, rows.BIAS).copy(),
            regularization,
            noise_scale=np.asarray(self.scalar(slot, rows.NOISE_SCALE)),
            noise_degrees_of_freedom=np.asarray(self.scalar(slot, rows.NOISE_ROUNDS)),
        )
        return RidgeEstimate(statistics, prior)

    def anchor(self, slot: int) -> None:
        """Derive a task's estimate afresh from its statistics."""
        try:
            rows.anchor(self.state[slot], self.dimension)
        except np.linalg.LinAlgError:
            # V + Λ has no digits left for some direction. What rank-one steps have is no worse, and
            # the next reward tries again.
            return

    def settle(self, slot: int) -> None:
        """Bring ŵ = (V + Λ)⁻¹(b + Λh) to a bias that moved."""
        d = self.dimension
        prior = self.estimate(slot).prior
        target = self.vector(slot, rows.MOMENT) + prior.prior_moment(prior.bias)
        inverse = self.state[slot, : d * d].reshape(d, d)
        self.vector(slot, rows.PARAMETER)[:] = inverse @ target

    def restate_noise(self, slot: int) -> None:
        """Derive a task's noise scale afresh from its statistics."""
        estimate = self.estimate(slot)
        self.set_scalar(slot, rows.SURPRISE, float(estimate.surprise))
        self.set_scalar(slot, rows.NOISE, float(estimate.noise_scale))

    def doubtful(self, slot: int) -> bool:
        """Whether a task should look at its prior again."""
        return bool(rows.doubtful(self.state[slot], self._at))

    def restart(self, slot: int, prior: Prior) -> None:
        """Hold a task at another prior, wary from now on; what it has learned stays.

        Raises LinAlgError where V + Λ cannot be factorised, and leaves the task as it is.
        """
        d, before = self.dimension, self.state[slot].copy()
        square = self.state[slot, d * d : 2 * d * d].reshape(d, d)
        above = np.triu_indices(d, 1)
        square[above] = prior.regularization[above]
        _hold_at(self.state[slot, 2 * d * d : self._at].reshape(4, d), prior)
        _note(self.state[slot, self._at :], prior)
        self.set_scalar(slot, rows.WARY, rows.ALWAYS)
        try:
            rows.anchor(self.state[slot], d)
        except np.linalg.LinAlgError:
            self.state[slot] = before
            raise
        self.restate_noise(slot)

    def name(self, slot: int) -> Name:
        """The name of an open task."""
        return self.names[slot]


def first_row(prior: Prior) -> Floats:
    """The row of a task that starts from a prior."""
    d = prior.dimension
    start = RidgeEstimate(TaskStatistics.zeros(d), prior)
    row = np.zeros(rows.row_length(d))
    square, at = d * d, rows.scalars_at(d)
    row[:square] = start.inverse.ravel()
    regularization = start.precision
    row[square : 2 * square] = np.triu(regularization, 1).ravel()
    vectors = row[2 * square : at].reshape(4, d)
    _hold_at(vectors, prior)
    vectors[rows.PARAMETER] = prior.bias
    _note(row[at:], prior)
    row[at + rows.NOISE] = start.noise_scale
    if prior.mixture is None:
        row[at + rows.WARY] = rows.NEVER
    else:
        row[at + rows.WARY] = rows.ALWAYS if prior.mixture.components_differ else rows.STARTLED
    return row


def _hold_at(vectors: Floats, prior: Prior) -> None:
    """Set h and the diagonal of Λ among the vectors (4, d) of a row."""
    vectors[rows.BIAS] = prior.bias
    vectors[rows.DIAGONAL] = (
        prior.regularization if prior.isotropic else np.diagonal(prior.regularization)
    )


def _note(scalars: Floats, prior: Prior) -> None:
    """Set the scalars of a row that are the prior's."""
    scalars[rows.BASE] = prior.log_determinant
    scalars[rows.NOISE_SCALE] = prior.noise_scale
    scalars[rows.NOISE_ROUNDS] = prior.noise_degrees_of_freedom
    scalars[rows.STRENGTH] = prior.largest_eigenvalue
