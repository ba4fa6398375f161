"""MetaBandit: a bandit for an application."""

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
from headstart.kernels import state as columns
from headstart.live import inputs, persistence
from headstart.live.catalogue import Catalogue
from headstart.live.decision import Decision, Decisions, Name, TaskView
from headstart.live.engine import deciding, deciding_many, rewarding
from headstart.live.engine.batches import ArmsOfTasks, MaskOfTasks
from headstart.live.engine.choosing import Choosing
from headstart.live.engine.scoring import Scoring
from headstart.live.engine.tasks import Ending, Tasks
from headstart.live.engine.threads import is_shared, one_blas_thread
from headstart.live.engine.uniforms import UniformStream
from headstart.live.explanation import Explanation
from headstart.live.feature_names import FeatureNames
from headstart.live.inputs import Arms
from headstart.live.masks import Mask
from headstart.logs.reader import Columns
from headstart.policies import BayesUCB
from headstart.priors import Hierarchical
from headstart.progress import Progress

_DOUBLE = np.dtype(np.float64)


class MetaBandit:
    """A bandit for an application: one task per user, each started from a learned prior.

    `decide` opens a task for a new name; `finish` adds the task to the memory. `prior` is
    the estimator that learns across tasks. With a `horizon` a task is finished by its reward of
    that number, with `idle_seconds` once it has not been used for that long by the `clock`.
    `discount` < 1 forgets: each reward makes the task's earlier ones count that much less, and
    never its prior.

    With `exploration` ε, every arm that may be chosen among K has at least the probability ε/K.
    A policy that samples scores `propensity_draws` times, one of these draws decides, and the share
    of them that choose its arm is the decision's propensity; with 0 it scores once, and a
    propensity is nan. `feature_names` are what `explain` calls the features, and which columns of
    a DataFrame are taken; without them, the columns of the first DataFrame.

    One lock makes every call atomic: threads may share a bandit. Large products limit BLAS to
    one thread, of the whole process, while they last.
    """

    def __init__(
        self,
        *,
        dimension: int,
        policy: Policy | None = None,
        prior: PriorEstimator | None = None,
        seed: int | np.random.Generator | None = None,
        horizon: int | None = None,
        idle_seconds: float | None = None,
        discount: float = 1.0,
        exploration: float = 0.0,
        propensity_draws: int = 100,
        feature_names: Sequence[str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.dimension = checks.count("dimension", dimension)
        # A live task may have no last round: the quantile that grows excludes no arm for good.
        self.policy: Policy = BayesUCB(z="growing") if policy is None else policy
        self.prior: PriorEstimator = Hierarchical() if prior is None else prior
        self._choosing = Choosing(
            exploration=checks.share("exploration", exploration),
            draws=checks.count("propensity_draws", propensity_draws, least=0),
            names=FeatureNames(self.dimension, feature_names),
        )
        ending = Ending(horizon=horizon, idle_seconds=idle_seconds, discount=discount, clock=clock)
        self._tasks = Tasks(self.dimension, self.prior, ending)
        self._scoring = Scoring(self.policy, self._tasks)
        self._stream = UniformStream(np.random.default_rng(seed))
        self._decides_in_one_call = self._tasks.one_call and self._scoring.index is not None
        self._lock = threading.RLock()

    def next_prior(self) -> Prior:
        """What the next task starts from."""
        with self._lock:
            return self._tasks.prior()

    @property
    def n_finished(self) -> int:
        """How many tasks have joined the memory."""
        return self._tasks.n_finished

    def tasks(self) -> list[Name]:
        """The names of the open tasks."""
        with self._lock:
            return list(self._tasks.slots)

    def task(self, name: Name) -> TaskView:
        """What is known of an open task."""
        with self._lock:
            tasks = self._tasks
            slot = tasks.slot(name)
            tasks.move_bias(slot)
            row = tasks.rows[slot]
            return TaskView(
                task=tasks.names[slot],
                estimate=tasks.layout.estimate(row),
                n_rewards=int(tasks.scalar(slot, columns.REWARDS)),
                n_pending=len(tasks.pending.of(row)),
                noise_scale=tasks.scalar(slot, columns.NOISE_SCALE),
                feature_names=self._choosing.names.all,
            )

    @overload
    def decide(
        self, task: Name, arms: Arms | Catalogue, *, mask: Mask | None = None, n: None = None
    ) -> Decision: ...

    @overload
    def decide(
        self, task: Name, arms: Arms | Catalogue, *, mask: Mask | None = None, n: int
    ) -> list[Decision]: ...

    def decide(
        self,
        task: Name,
        arms: Arms | Catalogue,
        *,
        mask: Mask | None = None,
        n: int | None = None,
    ) -> Decision | list[Decision]:
        """Choose among arms: an array (K, d), a mapping of ids to features, or a Catalogue.

        `mask` (K,) says which arms may be chosen. With n, the best n in order, each a decision
        with its own id.
        """
        with self._lock:
            # True and 1.0 would find the task 1.
            plain = self._decides_in_one_call and (type(task) is str or type(task) is int)
            slot = self._tasks.slots.get(task) if plain else None
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
                self._tasks.finish_idle()
                given = (self._tasks, self._scoring, self._stream, self._choosing, task, arms)
                return deciding.decide(*given, mask=mask, n=n)
            tasks, pending, stream = self._tasks, self._tasks.pending, self._stream
            if not pending.free:
                pending.reserve(1)
            scores = np.empty((1, arms.shape[0]))
            call = (
                tasks.rows,
                slot,
                self._scoring.radius(slot),
                arms,
                stream.peek_one(),
                self._choosing.exploration,
                self._scoring.scratch(arms.shape[0]),
                scores,
                (pending.kept, pending.links),
                pending.free[-1],
            )
            if is_shared(arms.shape[0], self.dimension):
                with one_blas_thread:
                    choice, propensity, decision = deciding.decide_one(*call)
            else:
                choice, propensity, decision = deciding.decide_one(*call)
            if choice < 0:
                raise inputs.too_large("arms", arms)
            pending.free.pop()
            stream.advance(1)
            return Decision(decision, task, choice, choice, scores[0], propensity)

    def reward(self, decision_id: int, value: float, weight: float = 1.0) -> None:
        """Reward a decision, once, any time before its task is finished.

        A weight counts the reward that many times.
        """
        value, weight = inputs.reward_of(value), inputs.weight_of(weight)
        decision = inputs.id_of(decision_id)
        with self._lock:
            rewarding.reward(self._tasks, decision, value, weight)

    def observe(self, task: Name, features: ArrayLike, value: float, weight: float = 1.0) -> None:
        """Learn the reward of features (d,) that were chosen for the task elsewhere."""
        value, weight = inputs.reward_of(value), inputs.weight_of(weight)
        with self._lock:
            self._tasks.finish_idle()
            rewarding.observe(self._tasks, task, features, value, weight)

    def forget(self, decision_id: int) -> None:
        """Give up the reward of a decision, which is no longer pending."""
        with self._lock:
            place, _ = self._tasks.find(inputs.id_of(decision_id))
            self._tasks.pending.drop(self._tasks.rows, place)

    def finish(self, task: Name) -> None:
        """The task joins the memory, and its pending decisions are forgotten."""
        with self._lock:
            self._tasks.finish(task)

    def decide_many(
        self, tasks: Sequence[Name], arms: ArmsOfTasks, *, mask: MaskOfTasks | None = None
    ) -> Decisions:
        """Choose for n different tasks at once; if anything is wrong with one, for none.

        Arms are (n, K, d), or n decision sets as `decide` takes them, of any sizes, or one decision
        set for all. The mask is one for all, or a list of n.
        """
        with self._lock:
            self._tasks.finish_idle()
            given = (self._tasks, self._scoring, self._stream, self._choosing, tasks, arms)
            return deciding_many.decide_many(*given, mask=mask)

    def reward_many(
        self, decision_ids: ArrayLike, values: ArrayLike, weights: ArrayLike = 1.0
    ) -> None:
        """Reward n decisions at once, in their order; if one of them is not open, none is."""
        with self._lock:
            self._tasks.finish_idle()
            rewarding.reward_many(self._tasks, decision_ids, values, weights)

    def propensities(
        self, task: Name, arms: Arms | Catalogue, *, mask: Mask | None = None
    ) -> Floats:
        """The probability (K,) of every arm to be chosen now; nothing is decided.

        For the best n, that of the first. Exact for a policy that does not sample; else over
        `propensity_draws` fresh draws.
        """
        with self._lock:
            given = (self._tasks, self._scoring, self._stream, self._choosing, task, arms)
            return deciding.propensities(*given, mask=mask)

    def fit(
        self,
        logs: object,
        *,
        task: str = "task",
        features: str | Sequence[str] = "features",
        reward: str = "reward",
        weight: str | None = None,
        grouped_by_task: bool = False,
        progress: Progress | None = None,
    ) -> "MetaBandit":
        """Warm start: every task of the logs joins the memory as if it had been played here.

        Logs are a pandas, Polars or Arrow table, a Parquet file or folder of any size, or a Dask
        frame. Columns name the task, its features (several columns, or one of lists) and the
        reward. Where the rows of each task are `grouped_by_task`, one task is held at a time; else
        d² numbers per task. If anything is wrong with the logs, nothing is learned.
        """
        columns = Columns(task=task, features=features, reward=reward, weight=weight)
        with self._lock:
            self._tasks.absorb_logs(
                logs, columns, grouped_by_task=grouped_by_task, progress=progress
            )
        return self

    def save(self, path: str | Path) -> None:
        """Write the bandit to one .npz file, atomically."""
        settings = {
            "horizon": self._tasks.ending.horizon,
            "idle_seconds": self._tasks.ending.idle_seconds,
            "discount": self._tasks.ending.discount,
            "exploration": self._choosing.exploration,
            "propensity_draws": self._choosing.draws,
            "feature_names": self._choosing.names.known,
        }
        with self._lock:
            # A loaded bandit reads catalogues anew; so does this one, and both score alike.
            self._tasks.catalogue_scores.clear()
            persistence.save(Path(path), self._tasks, self._stream, self.policy, settings)

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

        Its random numbers are fresh, so that two copies of a file do not explore alike, and new
        decisions get other ids; with `resume` both go on where they were. A policy or prior that is
        not part of headstart has to be given.
        """
        saved = persistence.read(Path(path))
        bandit = cls(
            dimension=saved.number("dimension"),
            policy=cast("Policy", saved.policy()) if policy is None else policy,
            prior=cast("PriorEstimator", saved.prior()) if prior is None else prior,
            seed=seed,
            clock=clock,
            **cast("dict[str, Any]", saved.settings()),
        )
        persistence.restore(saved, bandit._tasks)
        if resume:
            drawn = np.asarray(saved.arrays["drawn"], dtype=np.float64)
            bandit._stream = UniformStream.resumed(str(saved.header["generator"]), drawn)
        else:
            bandit._tasks.pending.shuffle(np.random.default_rng())
        return bandit

    def explain(self, decision: Decision | int) -> Explanation:
        """Why the arm of a pending decision looks as it does, by all that is known now.

        Its mean, width and 95 % interval, and the contribution of every feature: what the prior
        says of it, and what the task's own rewards add. `print` shows a table.
        """
        given = decision.id if isinstance(decision, Decision) else decision
        arm = decision.arm if isinstance(decision, Decision) else None
        with self._lock:
            place, slot = self._tasks.find(inputs.id_of(given))
            return deciding.explain(self._tasks, self._choosing, place, slot, arm)
