"""MetaBandit: the live face of the library."""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.interfaces import Policy, PriorEstimator
from headstart.live import _careful as careful
from headstart.live import _layout as rows
from headstart.live import _many as many
from headstart.live import _steps as steps
from headstart.live import inputs as arming
from headstart.live import persistence as saving
from headstart.live._scoring import Chooser
from headstart.live._tasks import Ending, Lifecycle
from headstart.live._uniforms import Luck
from headstart.live.catalogue import Catalogue
from headstart.live.decision import Decision, Decisions, Name, TaskView
from headstart.live.inputs import Arms
from headstart.logs import reader as logs_of
from headstart.policies import BayesUCB
from headstart.priors import Hierarchical

_DOUBLE = np.dtype(np.float64)


class MetaBandit:
    """A bandit for an application: one task a user, each started from what finished ones taught.

    `decide` opens a task when it meets a new name; `finish` hands the task to the memory. With a
    `horizon` a task is finished by its reward of that number, with `idle` once nobody has asked
    for it during that many seconds of the `clock`. `discount` < 1 forgets: each reward makes the
    task's earlier ones count that much less, and never its prior. `propensity_draws` is how many
    draws estimate the propensities of a policy with luck of its own.

    One lock makes every call whole: threads may share a bandit.
    """

    def __init__(
        self,
        *,
        dimension: int,
        policy: Policy | None = None,
        prior: PriorEstimator | None = None,
        seed: int | np.random.Generator | None = None,
        horizon: int | None = None,
        idle: float | None = None,
        discount: float = 1.0,
        propensity_draws: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.dimension = checks.count("dimension", dimension)
        # A live task may go on for ever: the quantile that grows gives no arm up for good.
        self.policy: Policy = BayesUCB(z="growing") if policy is None else policy
        self._draws = checks.count("propensity_draws", propensity_draws, least=0)
        ending = Ending(horizon=horizon, idle=idle, discount=discount, clock=clock)
        estimator = Hierarchical() if prior is None else prior
        self._tasks = Lifecycle(self.dimension, estimator, ending)
        self._store = self._tasks.store
        self._chooser = Chooser(self.policy, self._store)
        self._luck = Luck(np.random.default_rng(seed))
        # Where one compiled step does everything.
        self._plain = (
            self._chooser.index is not None
            and not self._tasks.follows
            and ending.idle is None
            and ending.discount == 1.0
        )
        self._lock = threading.RLock()

    @property
    def prior(self) -> Prior:
        """What the next task starts from."""
        with self._lock:
            return self._tasks.prior()

    @property
    def finished(self) -> int:
        """How many tasks have joined the memory."""
        return self._tasks.finished

    def tasks(self) -> list[Name]:
        """The names of the open tasks."""
        with self._lock:
            return list(self._store.slots)

    def task(self, name: Name) -> TaskView:
        """What is known of an open task."""
        with self._lock:
            slot = self._tasks.slot(name)
            self._tasks.follow(slot)
            return TaskView(
                task=name,
                estimate=self._store.estimate(slot),
                rounds=int(self._store.scalar(slot, rows.REWARDS)),
                waiting=len(self._store.pending.of(int(self._store.heads[slot]))),
                noise_scale=self._store.scalar(slot, rows.NOISE),
            )

    @overload
    def decide(
        self, task: Name, arms: Arms | Catalogue, *, mask: ArrayLike | None = None, n: None = None
    ) -> Decision: ...

    @overload
    def decide(
        self, task: Name, arms: Arms | Catalogue, *, mask: ArrayLike | None = None, n: int
    ) -> list[Decision]: ...

    def decide(
        self,
        task: Name,
        arms: Arms | Catalogue,
        *,
        mask: ArrayLike | None = None,
        n: int | None = None,
    ) -> Decision | list[Decision]:
        """Choose among arms: an array (K, d), a mapping of ids to features, or a Catalogue.

        `mask` (K,) says which arms may be chosen. With n, the best n in order, each a decision
        with its own id.
        """
        with self._lock:
            slot = self._store.slots.get(task) if self._plain else None
            if (
                slot is None
                or mask is not None
                or n is not None
                or type(arms) is not np.ndarray
                or arms.dtype is not _DOUBLE
                or arms.ndim != 2
                or arms.shape[1] != self.dimension
                or arms.shape[0] == 0
                or not arms.flags.carray
            ):
                self._tasks.sweep()
                return careful.decide(
                    self._tasks, self._chooser, self._luck, task, arms, mask, n, self._draws
                )
            store, pending, luck = self._store, self._store.pending, self._luck
            if not pending.free:
                pending.reserve(1)
            scores = np.empty((1, arms.shape[0]))
            projections, predictions, widths = self._chooser.scratch(arms.shape[0])
            choice, tied, decision = steps.decide(
                store.state,
                slot,
                self._chooser.radius(slot),
                arms,
                luck.next(),
                projections,
                predictions,
                widths,
                scores,
                pending.kept,
                pending.links,
                store.heads,
                pending.free[-1],
            )
            if choice < 0:
                raise arming.too_large("arms", arms)
            pending.free.pop()
            luck.spend(1)
            return Decision(decision, task, choice, choice, scores[0], 1.0 / tied)

    def reward(self, decision_id: int, value: float, weight: float = 1.0) -> None:
        """Pay a decision, once, any time before its task is finished.

        A weight counts the reward that many times.
        """
        value, weight = careful.pay(value), careful.weight(weight)
        decision = careful.identity(decision_id)
        with self._lock:
            if not self._plain or self._tasks.views:
                careful.reward(self._tasks, decision, value, weight)
                return
            store, pending = self._store, self._store.pending
            answer, slot, place = steps.reward(
                store.state,
                pending.kept,
                pending.links,
                store.heads,
                decision,
                value,
                weight,
            )
            if answer < rows.LEARNED:
                raise careful.refusal(answer, decision, value)
            pending.free.append(place)
            if answer == rows.DUE or self._tasks.ending.horizon is not None:
                self._tasks.learned(slot, answer)

    def observe(self, task: Name, features: ArrayLike, value: float, weight: float = 1.0) -> None:
        """Learn what features (d,) earned that somebody else chose for the task."""
        value, weight = careful.pay(value), careful.weight(weight)
        with self._lock:
            self._tasks.sweep()
            careful.observe(self._tasks, task, features, value, weight)

    def forget(self, decision_id: int) -> None:
        """Stop waiting for the reward of a decision."""
        with self._lock:
            place, _ = self._store.find(careful.identity(decision_id))
            self._store.pending.drop(self._store.heads, place)

    def finish(self, task: Name) -> None:
        """The task joins the memory, and what it waits for is forgotten."""
        with self._lock:
            self._tasks.finish(task)

    def decide_many(self, tasks: Sequence[Name], arms: ArrayLike) -> Decisions:
        """Choose for n different tasks at once among arms (n, K, d), or (K, d) for all."""
        with self._lock:
            self._tasks.sweep()
            return many.decide(self._tasks, self._chooser, self._luck, tasks, arms)

    def reward_many(
        self, decision_ids: ArrayLike, values: ArrayLike, weights: ArrayLike = 1.0
    ) -> None:
        """Pay n decisions at once, in their order; if one of them is not open, none is paid."""
        with self._lock:
            self._tasks.sweep()
            many.reward(self._tasks, decision_ids, values, weights)

    def chances(self, task: Name, arms: Arms, *, mask: ArrayLike | None = None) -> Floats:
        """The chance (K,) of every arm to be chosen now; deciding is not part of it.

        Exact for a policy without luck of its own, else over `propensity_draws` draws.
        """
        with self._lock:
            return careful.chances(
                self._tasks, self._chooser, self._luck, task, arms, mask, self._draws
            )

    def fit(
        self,
        logs: object,
        *,
        task: str = "task",
        features: str | Sequence[str] = "features",
        reward: str = "reward",
        weight: str | None = None,
        together: bool = False,
        progress: logs_of.Progress | None = None,
    ) -> "MetaBandit":
        """Warm start: every task of the logs joins the memory as if it had been played here.

        Logs are a pandas, Polars or Arrow table, a Parquet file or folder of any size, or a Dask
        frame. Columns name the task, its features (several columns, or one of lists) and the
        reward. Where the rows of each task lie `together`, one task is held at a time; else d²
        numbers a task. If anything is wrong with the logs, nothing is learned.
        """
        columns = logs_of.Columns(task=task, features=features, reward=reward, weight=weight)
        with self._lock:
            self._tasks.absorb_logs(logs, columns, together=together, progress=progress)
        return self

    def save(self, path: str | Path) -> None:
        """Write the bandit to one .npz file, whole or not at all."""
        settings = {
            "horizon": self._tasks.ending.horizon,
            "idle": self._tasks.ending.idle,
            "discount": self._tasks.ending.discount,
            "propensity_draws": self._draws,
        }
        with self._lock:
            # A view is read anew after loading; so it is here, and both score alike to the bit.
            self._tasks.views.clear()
            saving.save(Path(path), self._tasks, self._luck, self.policy, settings)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        resume: bool = False,
        seed: int | np.random.Generator | None = None,
        policy: Policy | None = None,
        prior: PriorEstimator | None = None,
        clock: Callable[[], float] = time.time,
    ) -> "MetaBandit":
        """Read a saved bandit: it scores every arm exactly as the saved one would.

        Its luck is fresh, so that two copies of a file do not explore in lock-step, and new
        decisions get other ids; with `resume` both go on where they stood. A policy or prior that
        is not part of headstart has to be given.
        """
        saved = saving.read(Path(path))
        bandit = cls(
            dimension=saved.number("dimension"),
            policy=cast("Policy", saved.policy()) if policy is None else policy,
            prior=cast("PriorEstimator", saved.prior()) if prior is None else prior,
            seed=seed,
            clock=clock,
            **cast("dict[str, Any]", saved.settings()),
        )
        saving.restore(saved, bandit._tasks)
        if resume:
            drawn = np.asarray(saved.arrays["drawn"], dtype=np.float64)
            bandit._luck = Luck.resumed(str(saved.header["generator"]), drawn)
        else:
            bandit._store.pending.shuffle(np.random.default_rng())
        return bandit
