"""Decider: a policy that decides for the tasks of a bandit."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.interfaces import Policy
from headstart.live import inputs
from headstart.live.catalogue import Catalogue
from headstart.live.deciding import many, one
from headstart.live.deciding.batches import ArmsOfTasks, MaskOfTasks, batch_of
from headstart.live.deciding.choosing import Choosing
from headstart.live.deciding.decision_sets import DecisionSet
from headstart.live.deciding.masks import Mask
from headstart.live.deciding.scoring import Scoring
from headstart.live.deciding.uniforms import UniformStream
from headstart.live.decision import Decision, Decisions, Name
from headstart.live.inputs import Arms
from headstart.live.memory.sides import knowing
from headstart.live.processes.threads import one_blas_thread
from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.expiry import drop_excess, run_out

_DOUBLE = np.dtype(np.float64)


class Decider:
    """What a decision needs: the tasks, the policy's scores, random numbers, and how to choose."""

    def __init__(self, policy: Policy, tasks: Tasks, stream: UniformStream) -> None:
        self._tasks = tasks
        self._stream = stream
        self._scoring = Scoring(policy, tasks)
        self._choosing = Choosing(
            exploration=float(tasks.settings.exploration),
            draws=tasks.settings.propensity_draws,
            names=tasks.feature_names,
        )
        self._in_one_call = tasks.one_call and self._scoring.index is not None

    def _decide_in_one_call(self, task: Name, arms: Arms | Catalogue) -> Decision | None:
        """The decision of an open task among arms (K, d), compiled; None if it takes more."""
        # True and 1.0 would find the task 1.
        plain = self._in_one_call and (type(task) is str or type(task) is int)
        tasks, stream = self._tasks, self._stream
        slot, pending = tasks.slots.get(task) if plain else None, tasks.pending
        if slot is None or type(arms) is not np.ndarray or arms.dtype is not _DOUBLE:
            return None
        shape, free = arms.shape, pending.free
        if len(shape) != 2 or shape[1] != tasks.dimension or not shape[0] or not arms.flags.carray:
            return None
        if not free:
            pending.reserve(1)
        scores = np.empty(shape[0])
        scratch, shared = self._scoring.scratch(shape[0])
        call = (
            tasks.rows,
            slot,
            self._scoring.radius(slot),
            arms,
            stream.peek_one(),
            self._choosing.exploration,
            scratch,
            scores,
            pending.arrays,
            free[-1],
        )
        if shared:
            with one_blas_thread:
                choice, propensity, code = one.decide_one(*call)
        else:
            choice, propensity, code = one.decide_one(*call)
        if choice < 0:
            raise inputs.too_large("arms", arms)
        pending.note_time(free.pop())
        if len(free) < pending.least_free:
            drop_excess(tasks)  # now that the call cannot fail
        stream.advance(1)
        return Decision(pending.id_of(code), task, choice, choice, scores, propensity)

    def decide(
        self,
        task: Name,
        arms: Arms | Catalogue,
        *,
        mask: Mask | None,
        n: int | None,
        side: ArrayLike | None,
    ) -> Decision | list[Decision]:
        """`MetaBandit.decide`: in one compiled call where that is enough."""
        if self._tasks.runs_out:
            run_out(self._tasks)  # first: it may finish the task
        if mask is None and n is None and side is None:
            decision = self._decide_in_one_call(task, arms)
            if decision is not None:
                return decision
        given = (self._tasks, self._scoring, self._stream, self._choosing, task, arms)
        with knowing(self._tasks, task, side):
            made = one.decide(*given, mask=mask, n=n)
        drop_excess(self._tasks)
        return made

    def decide_many(
        self, names: Sequence[Name], arms: ArmsOfTasks, *, mask: MaskOfTasks | None
    ) -> Decisions:
        """`MetaBandit.decide_many`."""
        run_out(self._tasks)
        given = (self._tasks, self._scoring, self._stream, self._choosing, names, arms)
        made = many.decide_many(*given, mask=mask)
        drop_excess(self._tasks)
        return made

    def propensities(self, task: Name, arms: Arms | Catalogue, *, mask: Mask | None) -> Floats:
        """`MetaBandit.propensities`."""
        given = (self._tasks, self._scoring, self._stream, self._choosing, task, arms)
        return one.propensities(*given, mask=mask)

    def choose_batch(
        self, names: Sequence[Name], shown: Sequence[DecisionSet]
    ) -> tuple[Integers, Floats]:
        """One arm for each of n different tasks, whose arms have been checked; propensities."""
        given = (self._tasks, self._scoring, self._stream, self._choosing)
        _, choices, _, propensities = many.choose_batch(*given, tuple(names), batch_of(shown))
        return choices, propensities

    def decide_ranked(self, name: Name, shown: DecisionSet, n: int) -> list[Decision]:
        """The best n arms for a task, whose arms have been checked."""
        given = (self._tasks, self._scoring, self._stream, self._choosing)
        return one.decide_ranked(*given, name, shown, n)
