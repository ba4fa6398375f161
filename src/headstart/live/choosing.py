"""Choosing: the scores a policy gives to the arms of open tasks, and the chances they imply."""

import numpy as np
from numpy.typing import NDArray

from headstart import kernels
from headstart.interfaces import Index, Policy
from headstart.live import rows, steps
from headstart.live.pending import NONE
from headstart.live.store import Store
from headstart.outlook import Outlook

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Scratch is kept for this many numbers of arms; an application has a few.
_SIZES = 64


class RefusedError(ValueError):
    """An arm that cannot be read; the position of its task among those asked for."""

    def __init__(self, position: int) -> None:
        super().__init__("an arm cannot be read")
        self.position = position


class Numbers:
    """A task's `Standing`, filled anew for every decision because making objects is slow."""

    __slots__ = ("bias", "log_determinant", "noise_scale", "strength")
    bias: Floats
    log_determinant: Floats
    noise_scale: Floats
    strength: Floats


class Chooser:
    """A policy at work on the tasks of a store."""

    def __init__(self, policy: Policy, store: Store) -> None:
        self._policy = policy
        self._store = store
        self._numbers = Numbers()
        self._at = rows.scalars_at(store.dimension)
        self._bias = slice(
            2 * store.dimension**2 + rows.BIAS * store.dimension,
            2 * store.dimension**2 + (rows.BIAS + 1) * store.dimension,
        )
        self._scratch: dict[int, tuple[Floats, Floats, Floats]] = {}
        # A radius makes the fast path; only a policy without luck of its own may take it.
        self.index: Index | None = None
        if isinstance(policy, Index) and policy.n_uniforms(1, store.dimension) == 0:
            self.index = policy

    def radius(self, slot: int) -> float:
        """The radius of an index for one task."""
        row, at, numbers = self._store.state[slot], self._at, self._numbers
        numbers.log_determinant = row[at + rows.LOG_DETERMINANT]
        numbers.noise_scale = row[at + rows.NOISE]
        numbers.strength = row[at + rows.STRENGTH]
        numbers.bias = row[self._bias]
        assert self.index is not None
        return float(self.index.radius(numbers))

    def scratch(self, n_arms: int) -> tuple[Floats, Floats, Floats]:
        """Room for the projections (1, K, d), predictions (1, K) and widths (1, K) of one task."""
        found = self._scratch.get(n_arms)
        if found is None:
            if len(self._scratch) == _SIZES:
                self._scratch.clear()
            found = self._room(1, n_arms)
            self._scratch[n_arms] = found
        return found

    def _room(self, n: int, n_arms: int) -> tuple[Floats, Floats, Floats]:
        shape = (n, n_arms, self._store.dimension)
        return np.empty(shape), np.empty(shape[:2]), np.empty(shape[:2])

    def n_uniforms(self, n_arms: int) -> int:
        """How many uniform numbers the policy itself takes for one task."""
        return self._policy.n_uniforms(n_arms, self._store.dimension)

    def scores(self, slots: Integers, arms: Floats, uniforms: Floats) -> tuple[Floats, Floats]:
        """The scores (n, K) and projections (n, K, d) of arms (n, K, d), from uniforms (n, u)."""
        if self.index is None:
            outlook = self.outlook(slots, arms)
            return self._policy_scores(outlook, uniforms), outlook.projections
        scores = np.empty(arms.shape[:2])
        radii = np.empty(len(slots))
        radii[:] = self.index.radius(self._standing(slots))
        room = self._room(*arms.shape[:2])
        state = self._store.state
        self._check(steps.decide_many(state, slots, radii, arms, *room, scores))
        return scores, room[0]

    def outlook(self, slots: Integers, arms: Floats) -> Outlook:
        """What the estimates of n tasks say about arms (n, K, d)."""
        room = self._room(*arms.shape[:2])
        self._check(steps.read(self._store.state, slots, arms, *room))
        return self.seen(slots, *room)

    def seen(
        self, slots: Integers, projections: Floats, predictions: Floats, widths: Floats
    ) -> Outlook:
        """The outlook of n tasks on arms that were read."""
        store = self._store
        return Outlook(
            projections=projections,
            predictions=predictions,
            widths=widths,
            log_determinant=store.scalars(slots, rows.LOG_DETERMINANT),
            bias=store.biases(slots),
            strength=store.scalars(slots, rows.STRENGTH),
            inverse=store.inverses(slots),
            noise_scale=store.scalars(slots, rows.NOISE),
        )

    def _standing(self, slots: Integers) -> Numbers:
        store, numbers = self._store, Numbers()
        numbers.log_determinant = store.scalars(slots, rows.LOG_DETERMINANT)
        numbers.noise_scale = store.scalars(slots, rows.NOISE)
        numbers.strength = store.scalars(slots, rows.STRENGTH)
        numbers.bias = store.biases(slots)
        return numbers

    def _policy_scores(self, outlook: Outlook, uniforms: Floats) -> Floats:
        scores = np.ascontiguousarray(self._policy.scores(outlook, uniforms), dtype=np.float64)
        # A policy may hand out the outlook's own array; ours are the caller's to keep.
        return scores.copy() if np.shares_memory(scores, outlook.predictions) else scores

    def _check(self, position: int) -> None:
        if position != NONE:
            raise RefusedError(position)

    def chances(
        self, slot: int, arms: Floats, mask: NDArray[np.bool_] | None, draws: Floats
    ) -> Floats:
        """The chance of every arm (K,) to be chosen, over draws (m, u) of the policy's luck.

        Exact where the policy has no luck of its own: ties share the chance equally.
        """
        n_arms = arms.shape[0]
        outlook = self.outlook(np.array([slot]), arms[None])
        wide = Outlook(
            **{
                name: np.broadcast_to(value, (len(draws), *value.shape[1:]))
                for name, value in vars(outlook).items()
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
