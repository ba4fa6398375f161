"""Choosing: the scores a policy gives to the arms of open tasks, and the chances they imply."""

import numpy as np

from headstart import kernels
from headstart.arrays import Booleans, Floats, Integers
from headstart.core.arm_estimates import ArmEstimates
from headstart.interfaces import IndexPolicy, Policy
from headstart.live import _layout as rows
from headstart.live import _steps as steps
from headstart.live._pending import NONE
from headstart.live._store import Store

# Scratch is kept for this many shapes of decisions; an application has a few.
_SIZES = 16
_LARGEST = 1 << 22  # bytes


class RefusedError(ValueError):
    """An arm that cannot be read; the position of its task among those asked for."""

    def __init__(self, position: int) -> None:
        super().__init__("an arm cannot be read")
        self.position = position


class OneStanding:
    """A task's `EstimateSummary`, read from its row when asked for: a policy needs little of it."""

    __slots__ = ("_at", "_bias", "row")

    def __init__(self, dimension: int) -> None:
        self._at = rows.scalars_at(dimension)
        begin = 2 * dimension**2 + rows.BIAS * dimension
        self._bias = slice(begin, begin + dimension)
        self.row = np.empty(0)

    @property
    def log_determinant(self) -> Floats:
        """Log det(I + Λ⁻¹V)."""
        value: Floats = self.row[self._at + rows.LOG_DETERMINANT]
        return value

    @property
    def noise_scale(self) -> Floats:
        """The noise scale now."""
        value: Floats = self.row[self._at + rows.NOISE]
        return value

    @property
    def count(self) -> Floats:
        """How many rewards count."""
        value: Floats = self.row[self._at + rows.COUNT]
        return value

    @property
    def largest_eigenvalue(self) -> Floats:
        """The largest eigenvalue of Λ."""
        value: Floats = self.row[self._at + rows.STRENGTH]
        return value

    @property
    def bias(self) -> Floats:
        """The prior's bias, (d,)."""
        return self.row[self._bias]


class ManyStandings:
    """The `EstimateSummary` of n tasks, gathered when asked for."""

    def __init__(self, store: Store, slots: Integers) -> None:
        self._store = store
        self._slots = slots

    @property
    def log_determinant(self) -> Floats:
        """Log det(I + Λ⁻¹V), (n,)."""
        return self._store.scalars(self._slots, rows.LOG_DETERMINANT)

    @property
    def noise_scale(self) -> Floats:
        """The noise scales now, (n,)."""
        return self._store.scalars(self._slots, rows.NOISE)

    @property
    def count(self) -> Floats:
        """How many rewards count, (n,)."""
        return self._store.scalars(self._slots, rows.COUNT)

    @property
    def largest_eigenvalue(self) -> Floats:
        """The largest eigenvalues of Λ, (n,)."""
        return self._store.scalars(self._slots, rows.STRENGTH)

    @property
    def bias(self) -> Floats:
        """The priors' biases, (n, d)."""
        return self._store.biases(self._slots)


class Chooser:
    """A policy at work on the tasks of a store."""

    def __init__(self, policy: Policy, store: Store) -> None:
        self._policy = policy
        self._store = store
        self._standing = OneStanding(store.dimension)
        self._scratch: dict[tuple[int, int], tuple[Floats, Floats, Floats]] = {}
        # A radius makes the fast path; only a policy without luck of its own may take it.
        self.index: IndexPolicy | None = None
        if isinstance(policy, IndexPolicy) and policy.n_uniforms(1, store.dimension) == 0:
            self.index = policy

    def radius(self, slot: int) -> float:
        """The radius of an index for one task."""
        assert self.index is not None
        self._standing.row = self._store.state[slot]
        return float(self.index.radius(self._standing))

    def scratch(self, n_arms: int) -> tuple[Floats, Floats, Floats]:
        """Room for the projections (1, K, d), predictions (1, K) and widths (1, K) of one task."""
        return self._room(1, n_arms)

    def _room(self, n: int, n_arms: int) -> tuple[Floats, Floats, Floats]:
        found = self._scratch.get((n, n_arms))
        if found is None:
            if len(self._scratch) == _SIZES:
                self._scratch.clear()
            shape = (n, n_arms, self._store.dimension)
            found = np.empty(shape), np.empty(shape[:2]), np.empty(shape[:2])
            if found[0].nbytes <= _LARGEST:
                self._scratch[n, n_arms] = found
        return found

    def n_uniforms(self, n_arms: int) -> int:
        """How many uniform numbers the policy itself takes for one task."""
        return self._policy.n_uniforms(n_arms, self._store.dimension)

    def scores(self, slot: int, arms: Floats, uniforms: Floats) -> Floats:
        """The scores (K,) of one task's arms (K, d), from uniforms (u,)."""
        estimates = self.estimates(np.array([slot]), arms[None])
        scores: Floats = self._policy_scores(estimates, uniforms[None])[0]
        return scores

    def choose(
        self, slots: Integers, arms: Floats, uniforms: Floats, places: Integers
    ) -> tuple[Floats, Integers, Integers]:
        """Choose for n tasks among arms (n, K, d), and keep the choices in free places.

        Uniforms are (n, u + 1), the tie-break last. Returns scores (n, K), choices and ties (n,).
        """
        state, kept = self._store.state, self._store.pending.kept
        choices, ties = np.empty(len(slots), dtype=np.int64), np.empty(len(slots), dtype=np.int64)
        breaks = np.ascontiguousarray(uniforms[:, -1])
        if self.index is None:
            estimates = self.estimates(slots, arms)
            scores = self._policy_scores(estimates, uniforms[:, :-1])
            read = (arms, estimates.projections, scores, breaks)
            steps.pick_many(state, slots, *read, kept, places, choices, ties)
            return scores, choices, ties
        scores, radii = np.empty(arms.shape[:2]), np.empty(len(slots))
        radii[:] = self.index.radius(ManyStandings(self._store, slots))
        room = self.scratch(arms.shape[1])
        given = (state, slots, radii, arms, breaks)
        self._check(steps.decide_many(*given, *room, scores, kept, places, choices, ties))
        return scores, choices, ties

    def estimates(self, slots: Integers, arms: Floats) -> ArmEstimates:
        """What the estimates of n tasks say about arms (n, K, d)."""
        room = self._room(*arms.shape[:2])
        self._check(steps.read(self._store.state, slots, arms, *room))
        return self.seen(slots, *room)

    def seen(
        self, slots: Integers, projections: Floats, predictions: Floats, widths: Floats
    ) -> ArmEstimates:
        """The estimates of n tasks on arms that were read."""
        store = self._store
        return ArmEstimates(
            projections=projections,
            predictions=predictions,
            widths=widths,
            log_determinant=store.scalars(slots, rows.LOG_DETERMINANT),
            bias=store.biases(slots),
            largest_eigenvalue=store.scalars(slots, rows.STRENGTH),
            inverse=store.inverses(slots),
            noise_scale=store.scalars(slots, rows.NOISE),
            count=store.scalars(slots, rows.COUNT),
        )

    def _policy_scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        scores = np.ascontiguousarray(self._policy.scores(estimates, uniforms), dtype=np.float64)
        # A policy may hand out the estimates's own array; ours are the caller's to keep.
        return scores.copy() if np.shares_memory(scores, estimates.predictions) else scores

    def _check(self, position: int) -> None:
        if position != NONE:
            raise RefusedError(position)

    def chances(self, slot: int, arms: Floats, mask: Booleans | None, draws: Floats) -> Floats:
        """The chance of every arm (K,) to be chosen, over draws (m, u) of the policy's luck.

        Exact where the policy has no luck of its own: ties share the chance equally.
        """
        n_arms = arms.shape[0]
        estimates = self.estimates(np.array([slot]), arms[None])
        wide = ArmEstimates(
            **{
                name: np.broadcast_to(value, (len(draws), *value.shape[1:]))
                for name, value in vars(estimates).items()
            }
        )
        scores = self._policy_scores(wide, draws)
        scores = np.array(np.broadcast_to(scores, (len(draws), n_arms)))
        allowed = np.arange(n_arms) if mask is None else np.flatnonzero(mask)
        total = np.zeros(n_arms)
        for row in scores[:, allowed]:
            best, size = row.max(), np.abs(row).max()
            winners = allowed[row >= best - kernels.TIE_TOLERANCE * size]
            total[winners] += 1.0 / len(winners)
        return total / len(draws)
