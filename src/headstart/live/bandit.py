"""MetaBandit: a bandit for an application."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any, Literal, NoReturn, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.features import Features
from headstart.habits import hints
from headstart.interfaces import Policy, PriorEstimator, check_parts
from headstart.live import _logs, defaults, files, inputs
from headstart.live._chooser import Chooser
from headstart.live._decision_sets import ArmsOfTasks, MaskOfTasks
from headstart.live._encoder import (
    AttributesOfTasks,
    Encoder,
    each_number,
    only_numbers,
)
from headstart.live._fork import Guard
from headstart.live._item_effects import check_item
from headstart.live._memory import Memory
from headstart.live._population import Population
from headstart.live._rewards import Rewards
from headstart.live._tasks import Tasks
from headstart.live._uniforms import UniformStream
from headstart.live.catalogue import Catalogue
from headstart.live.decision import Decision, Decisions, Learned, TaskView
from headstart.live.explanation import Explanation
from headstart.live.inputs import Arms, Attributes, FeatureNames, Groups, Items, Mask, Name
from headstart.live.outcomes import Outcome
from headstart.live.settings import Change, Refresh, Settings, names
from headstart.logs import ColumnNames, Columns, LogReading, LogReport
from headstart.progress import Progress

# What other libraries call the methods.
_HABITS = {
    "act": "decide(task, items)",
    "choose": "decide(task, items)",
    "partial_fit": "observe(task, features, reward), or fit(log) for a table",
    "predict": "decide(task, items), or propensities(task, items) without a decision",
    "pull": "decide(task, items)",
    "recommend": "decide(task, items)",
    "select_arm": "decide(task, items)",
    "update": "reward(decision, value)",
}


class MetaBandit:
    """A bandit for an application: one task per user, each started from a learned prior.

    `decide` opens a task for a new name, `reward` pays a decision, once. Every task teaches the
    prior of the others, open or finished, and counts once; a task that comes back continues from
    what it had learned. Threads may share a bandit, and the children of a fork continue with ids of
    their own.

    Parameters
    ----------
    dimension : int, optional
        The number of features, d. Give this or `features`.
    features : Features, optional
        A schema of attributes, so that items, contexts and tasks can be given as plain attributes.
    policy : Policy, default BayesUCB(z="slow", z_mean="arms")
        How an arm is chosen.
    prior : PriorEstimator, default Hierarchical()
        What learns across tasks. The default has `n_about` if the schema has attributes of tasks
        that are not crossed with others.
    seed : int or numpy.random.Generator, optional
        For runs that can be repeated.
    feature_names : sequence of str, optional
        The names of the features in `explain`, and the columns to take from a DataFrame.
    clock : callable, default time.time
        Returns the time in seconds.
    idle_seconds : float, optional
        A task is finished after this long without use, which frees half of its memory.
    discount : float, default 1.0
        Each reward multiplies the weight of the task's earlier rewards by this.
    deadline_seconds : float, optional
        A decision without a reward expires after this long.
    default_reward : float, optional
        A decision counts as this reward until a reward within the deadline replaces it.
    reward_range : (float, float), optional
        The smallest and largest reward; others are not learned.
    half_life_seconds : float, optional
        In the prior, a task counts half as much after this long.
    exploration : float, default 0.0
        Every arm that may be chosen has a propensity of at least `exploration`/K.
    item_effects : bool, default True
        Whether to learn what each catalogue item earns beyond what its features explain.
    scales : "default", "learn" or None
        Whether to learn the typical sizes of the features; None if they are alike, as a schema
        makes them. By default they are learned without a schema.
    refresh : {"background", "inline"}, optional
        When to update the prior: in a thread, or when a task opens, so that a run can be repeated.
        By default "inline" with a seed. `Settings` says more on each of these.

    Attributes
    ----------
    log_report : LogReport or None
        What the last `fit` read.

    Examples
    --------
    >>> bandit = MetaBandit(dimension=2, seed=0)
    >>> decision = bandit.decide("ann", {"tea": [1.0, 0.0], "milk": [0.0, 1.0]})
    >>> bandit.reward(decision.id, 1.0)
    <Outcome.PAID: 'paid'>
    >>> features = hs.Features(item=[hs.Number("price")], context=[hs.Category("device")])
    >>> bandit = MetaBandit(features=features, seed=0)
    >>> menu = {"tea": {"price": 3}, "rum": {"price": 20}}
    >>> bandit.decide("ann", menu, context={"device": "phone"}).arm in menu
    True
    """

    log_report: LogReport | None = None

    @hints(name="MetaBandit")
    def __init__(
        self,
        dimension: int | None = None,
        *,
        features: Features | None = None,
        policy: Policy | None = None,
        prior: PriorEstimator | None = None,
        seed: int | np.random.Generator | None = None,
        feature_names: Sequence[str] | None = None,
        clock: Callable[[], float] = time.time,
        idle_seconds: float | None = None,
        discount: float = 1.0,
        deadline_seconds: float | None = None,
        default_reward: float | None = None,
        reward_range: Sequence[float] | None = None,
        half_life_seconds: float | None = None,
        exploration: float = 0.0,
        item_effects: bool = True,
        scales: Literal["default", "learn"] | None = "default",
        refresh: Refresh | None = None,
    ) -> None:
        schema = features
        if scales == "default":
            scales = "learn" if schema is None else None
        if schema is not None:
            if dimension is not None or feature_names is not None:
                raise ValueError("give features, or dimension and feature_names, not both")
            if not isinstance(schema, Features):
                raise ValueError(f"features must be hs.Features, got {checks.short(schema)}")
            dimension = schema.dimension
        if dimension is None:
            raise ValueError("give the dimension or features of a bandit, got neither")
        self.dimension = checks.count("dimension", dimension)
        self.policy: Policy = defaults.POLICY if policy is None else policy
        self.prior: PriorEstimator = defaults.prior_for(schema) if prior is None else prior
        check_parts(self.policy, self.prior)
        self.settings = Settings.from_options(
            clock,
            seed=seed,
            idle_seconds=idle_seconds,
            discount=discount,
            deadline_seconds=deadline_seconds,
            default_reward=default_reward,
            reward_range=reward_range,
            half_life_seconds=half_life_seconds,
            exploration=exploration,
            item_effects=item_effects,
            scales=scales,
            refresh=refresh,
        )
        population = Population(self.dimension, self.prior, self.settings)
        if schema is None:
            called = FeatureNames(self.dimension, feature_names)
        else:
            groups = Groups(schema.group_names, schema.groups)
            called = FeatureNames(self.dimension, schema.columns, groups)
        self._tasks = Tasks(population, called)
        self._memory = Memory(self._tasks, population)
        self._encoder = None if schema is None else Encoder(schema, self._memory)
        self._stream = UniformStream(np.random.default_rng(seed))
        self._chooser = Chooser(self.policy, self._memory, self._stream)
        self._rewards = Rewards(self._memory)
        self._guard = Guard(self._memory, self._stream)
        self._lock = self._guard.lock

    @overload
    def decide(
        self,
        task: Name,
        arms: Arms | Items | Catalogue,
        *,
        mask: Mask | None = None,
        n: None = None,
        context: Attributes | None = None,
        about: ArrayLike | Attributes | None = None,
    ) -> Decision: ...

    @overload
    def decide(
        self,
        task: Name,
        arms: Arms | Items | Catalogue,
        *,
        mask: Mask | None = None,
        n: int,
        context: Attributes | None = None,
        about: ArrayLike | Attributes | None = None,
    ) -> list[Decision]: ...

    def decide(
        self,
        task: Name,
        arms: Arms | Items | Catalogue,
        *,
        mask: Mask | None = None,
        n: int | None = None,
        context: Attributes | None = None,
        about: ArrayLike | Attributes | None = None,
    ) -> Decision | list[Decision]:
        """Choose an arm for a task.

        Parameters
        ----------
        task : str or int
            The name of the task. A new name opens a task.
        arms : array_like of shape (K, d), mapping of ids to features, or Catalogue
            What to choose from. With a schema, items with attributes: dicts by id or in a list, a
            DataFrame, or a Catalogue.
        mask : array_like of bool of shape (K,), ids, or mapping of ids to bool, optional
            Which arms may be chosen; all by default.
        n : int, optional
            Choose the best n arms; each is a separate decision.
        context : mapping of str to object, optional
            With a schema, the attributes of this decision.
        about : array_like of shape (p,) or mapping of str to object, optional
            What is known of the task: numbers, for a prior that uses them; with a schema, its
            attributes. The first values count, for this and all later decisions.

        Returns
        -------
        Decision or list of Decision
            The choice; with `n`, the n choices, best first.
        """
        with self._lock:
            if self._tasks.runs_out:
                self._rewards.run_out()  # first: it may finish the task, if that is idle
            encoder, chooser = self._encoder, self._chooser
            if encoder is None:
                numbers, known = only_numbers(arms, context, about)
                decision = chooser.decide(task, numbers, mask=mask, n=n, about=known)
            else:
                told = encoder.decision(task, arms, context, about, mask)
                decision = chooser.decide(task, told.arms, mask=None, n=n, about=told.about)
                encoder.keep(told)
            if self._rewards.counts_defaults:
                self._rewards.count(decision)
            self._drop_excess()
            return decision

    def reward(self, decision_id: str | Decision, value: float, weight: float = 1.0) -> Outcome:
        """Pay a decision, once, any time before its deadline.

        Before its deadline, a decision that was paid its default reward may be paid another one.

        Parameters
        ----------
        decision_id : str or Decision
            The decision.
        value : float
            The reward.
        weight : float, default 1.0
            How many times the reward counts.

        Returns
        -------
        Outcome
            What happened to the reward: `PAID` if it was learned.
        """
        value, weight = inputs.reward_of(value), inputs.weight_of(weight)
        decision = inputs.id_of(decision_id)
        with self._lock:
            if self._tasks.runs_out:
                self._rewards.run_out()
            return self._rewards.pay(decision, value, weight)

    def observe(
        self,
        task: Name,
        features: ArrayLike | Attributes,
        value: float,
        weight: float = 1.0,
        *,
        context: Attributes | None = None,
        about: ArrayLike | Attributes | None = None,
        item: Hashable | None = None,
    ) -> Outcome:
        """Learn the reward of an arm that was chosen for the task elsewhere.

        Parameters
        ----------
        task : str or int
            The name of the task. A new name opens a task.
        features : array_like of shape (d,) or mapping of str to object
            The features of the arm; with a schema, the attributes of an item.
        value : float
            The reward.
        weight : float, default 1.0
            How many times the reward counts.
        context : mapping of str to object, optional
            With a schema, the attributes of the context.
        about : array_like of shape (p,) or mapping of str to object, optional
            What is known of the task, as for `decide`.
        item : hashable, optional
            The id of the arm in catalogues: the reward also counts for the item's own effect.

        Returns
        -------
        Outcome
            What happened to the reward: `PAID` if it was learned.
        """
        value, weight = inputs.reward_of(value), inputs.weight_of(weight)
        if item is not None:
            check_item(item)
        with self._lock:
            self._rewards.run_out()
            name, encoder = inputs.name_of(task), self._encoder
            if encoder is None:
                numbers, known = only_numbers(features, context, about)
                with self._memory.knowing_if(name, known):
                    return self._rewards.observe(name, numbers, value, weight, item)
            told = encoder.observation(name, features, context, about)
            with self._memory.knowing_if(name, told.about):
                outcome = self._rewards.observe(name, told.features, value, weight, item)
            encoder.keep(told)
            return outcome

    def cancel(self, decision_id: str) -> bool:
        """Give up the reward of a decision, including its default.

        Parameters
        ----------
        decision_id : str
            The id of the decision.

        Returns
        -------
        bool
            False if the decision is not pending.
        """
        with self._lock:
            return self._rewards.cancel(inputs.id_of(decision_id))

    def decide_many(
        self,
        tasks: Sequence[Name],
        arms: ArmsOfTasks | Items | Sequence[Items],
        *,
        mask: MaskOfTasks | None = None,
        context: AttributesOfTasks | None = None,
        about: ArrayLike | AttributesOfTasks | None = None,
    ) -> Decisions:
        """Choose an arm for each of n different tasks, or for none if anything is wrong with one.

        Parameters
        ----------
        tasks : sequence of str or int
            The names of the n tasks.
        arms : array_like of shape (n, K, d), or decision sets as `decide` takes them
            What to choose from: n decision sets of any sizes, or one for all tasks.
        mask : mask as `decide` takes it, or a list of n, optional
            Which arms may be chosen.
        context : mapping of str to object, or a list of n, optional
            With a schema, the attributes of the decisions.
        about : array_like of shape (n, p), mapping of str to object, or a list of n, optional
            What is known of the tasks: numbers; with a schema, attributes.

        Returns
        -------
        Decisions
            The choices, in the order of the tasks.
        """
        names = list(tasks)
        with self._lock:
            self._rewards.run_out()
            encoder, chooser = self._encoder, self._chooser
            if encoder is None:
                numbers, known = only_numbers(arms, context, about)
                abouts = {} if known is None else each_number(names, known)
                decisions = chooser.decide_many(names, numbers, mask=mask, abouts=abouts)
            else:
                told = encoder.decisions(names, arms, context, about, mask)
                decisions = chooser.decide_many(names, told.arms, mask=None, abouts=told.abouts)
                encoder.keep(told)
            if self._rewards.counts_defaults:
                self._rewards.count(decisions)
            self._drop_excess()
            return decisions

    def reward_many(
        self, decision_ids: Iterable[str], values: ArrayLike, weights: ArrayLike = 1.0
    ) -> list[Outcome]:
        """Pay n decisions, in order.

        Parameters
        ----------
        decision_ids : iterable of str
            The ids of the n decisions.
        values : array_like of shape (n,)
            Their rewards.
        weights : float or array_like of shape (n,), default 1.0
            How many times each reward counts.

        Returns
        -------
        list of Outcome
            What happened to each reward.
        """
        with self._lock:
            self._rewards.run_out()
            return self._rewards.pay_many(decision_ids, values, weights)

    def propensities(
        self,
        task: Name,
        arms: Arms | Items | Catalogue,
        *,
        mask: Mask | None = None,
        context: Attributes | None = None,
        about: ArrayLike | Attributes | None = None,
    ) -> Floats:
        """The probability that each arm would be chosen now; decides nothing.

        Parameters
        ----------
        task, arms, mask, context, about
            As for `decide`.

        Returns
        -------
        ndarray of shape (K,)
            Exact for a policy that does not sample; else estimated from 100 fresh draws. For a list
            of the best n arms, these are the probabilities of the first place.
        """
        with self._lock:
            encoder, chooser = self._encoder, self._chooser
            if encoder is None:
                numbers, known = only_numbers(arms, context, about)
                return chooser.propensities(task, numbers, mask=mask, about=known)
            told = encoder.decision(task, arms, context, about, mask)
            return chooser.propensities(task, told.arms, mask=None, about=told.about)

    def explain(self, decision: Decision | str) -> Explanation:
        """The mean, width and 95 % interval of a pending decision's arm, by all that is known now.

        It also has each feature's contribution: what the prior says, and what rewards add.

        Parameters
        ----------
        decision : Decision or str
            The decision, or its id.

        Returns
        -------
        Explanation
        """
        decision_id = inputs.id_of(decision)
        arm = decision.arm if isinstance(decision, Decision) else None
        with self._lock:
            return self._memory.explain(decision_id, arm)

    def task(self, name: Name) -> TaskView:
        """What is known of a task, open or finished.

        Parameters
        ----------
        name : str or int
            The name of the task.

        Returns
        -------
        TaskView
        """
        with self._lock:
            return self._memory.view(inputs.name_of(name))._replace(schema=self.features)

    def tasks(self) -> list[Name]:
        """The names of the open tasks."""
        with self._lock:
            return list(self._tasks.slots)

    def to_frame(self) -> Any:
        """A DataFrame with a row per open task: rewards, pending decisions, estimates by feature.

        >>> bandit = MetaBandit(dimension=2, feature_names=["price", "size"], seed=0)
        >>> _ = bandit.observe("ann", [1.0, 0.0], 1.0)
        >>> bandit.to_frame().columns.tolist()
        ['n_rewards', 'n_pending', 'price', 'size']
        """
        from headstart.frames import frame  # noqa: PLC0415 - pandas, which decisions do not need

        with self._lock:
            return frame((self.task(name).record() for name in self.tasks()), "task")

    @property
    def n_finished(self) -> int:
        """How many tasks are finished, including the tasks of logs."""
        return len(self._tasks.finished) + self._tasks.n_from_logs

    def finish(self, task: Name) -> None:
        """Close a task, which frees half of its memory. Nothing it has learned is lost.

        Parameters
        ----------
        task : str or int
            The name of the task.
        """
        with self._lock:
            self._tasks.finish(inputs.name_of(task))

    def forget(self, task: Name) -> None:
        """Erase a task: its data, its pending decisions, and what the prior learned from it.

        Parameters
        ----------
        task : str or int
            The name of the task.
        """
        with self._lock:
            self._memory.forget(inputs.name_of(task))

    @hints("fit(log, task=…, features=…, reward=…) with a table that has these columns")
    def fit(
        self,
        logs: object,
        *,
        on_bad: Literal["raise", "drop"] = "raise",
        grouped_by_task: bool = False,
        remember_tasks: bool = False,
        progress: Progress | None = None,
        **columns: Unpack[ColumnNames],
    ) -> MetaBandit:
        """Learn the prior from logs: every task counts as if it had been played here.

        If anything is wrong with the logs, nothing is learned. With a schema, attributes are read
        from columns of the same names; numbers without mean and scale get them from the log's first
        rows. Other threads may decide while a log is read, unless it is grouped by task.

        Parameters
        ----------
        logs : path, table, or list of paths
            Parquet or CSV files (a path, a folder, a pattern, or a list of these), a pandas, Polars
            or Arrow table, a lazy frame, or a Dask frame.
        on_bad : {"raise", "drop"}, default "raise"
            With "drop", bad rows are left out, also rows with rewards outside `reward_range`;
            `log_report` says which.
        grouped_by_task : bool, default False
            Whether the rows of each task are contiguous. Then memory holds one task at a time; else
            (d + 2)² numbers per task.
        remember_tasks : bool, default False
            Keep the log's tasks as finished tasks, which continue when they come back; known tasks
            learn their rows. Without this, a task of the same name starts as a new one.
        progress : callable, optional
            Called with the rows read so far, and with their total if it is known.
        **columns
            The fields of `Columns`: `task`, `features` (several columns, one of lists, or an
            `ItemColumn`) and `reward`, and optionally `weight`, `id`, `time`, `about` and
            `task_type`.

        Returns
        -------
        MetaBandit
            The bandit itself.
        """
        encoder = self._encoder
        rules: dict[str, Any] = {"on_bad": on_bad, "grouped_by_task": grouped_by_task}
        rules |= {"reward_range": self.settings.reward_range, "progress": progress}
        while True:
            schema = self.features
            given: ColumnNames = columns if schema is None else {"features": schema, **columns}
            reading = LogReading(logs, Columns(**given), self.dimension, **rules)
            logged = _logs.read(self._memory, reading)  # without the lock: it takes long
            with self._lock:
                if encoder is None or encoder.schema is schema:
                    _logs.count(self._memory, reading, logged, keep=remember_tasks)
                    if encoder is not None:
                        encoder.schema = encoder.schema.settled_as(reading.columns.schema)
                    break
            # A decision has settled numbers of the schema meanwhile: read the log by these.
        self.log_report = reading.report
        return self

    def merge(self, other: MetaBandit) -> MetaBandit:
        """Take over what another bandit knows: its memory, its tasks, its pending decisions.

        Parameters
        ----------
        other : MetaBandit
            A bandit with the same prior, the same features and different tasks. It is unchanged.

        Returns
        -------
        MetaBandit
            The bandit itself.
        """
        if not isinstance(other, MetaBandit):
            raise TypeError(f"other must be a MetaBandit, got {other!r}")
        content = other._saved()
        with self._lock:
            schema = content.common_features(self.features)
            content.merge_into(self._memory)
            if self._encoder is not None and schema is not None:
                self._encoder.schema = schema
        return self

    def save(self, path: str | Path | IO[bytes]) -> None:
        """Write the bandit atomically to one .npz file, readable by its owner only.

        Parameters
        ----------
        path : str, Path or binary file
            Where to write.
        """
        with self._lock:
            file = Path(path) if isinstance(path, str) else path
            files.save(file, self._memory, self._stream, self.policy, self.features)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        resume: bool = False,
        seed: int | np.random.Generator | None = None,
        policy: Policy | None = None,
        prior: PriorEstimator | None = None,
        features: Features | None = None,
        clock: Callable[[], float] = time.time,
        **changes: Any,
    ) -> MetaBandit:
        """Read a saved bandit: it scores every arm exactly as the saved one would.

        New decisions get ids that no other copy gives.

        Parameters
        ----------
        path : str or Path
            The file that `save` wrote.
        resume : bool, default False
            Continue the saved bandit's random numbers. Without it they are fresh, so that copies do
            not explore alike.
        seed : int or numpy.random.Generator, optional
            For runs that can be repeated. It also determines `refresh`, if that was never set.
        policy, prior : optional
            Replacements for the saved parts. Parts of your own have to be given again.
        features : Features, optional
            The schema is in the file; if given, it must be the same.
        clock : callable, default time.time
            Returns the time in seconds.
        **changes
            New values of `Settings`: all but `discount` and `scales`.

        Returns
        -------
        MetaBandit
        """
        for name in changes:
            checks.one_of("the setting to change", name, names(Change.ON_LOAD))
        changes |= {"policy": policy, "prior": prior, "seed": seed, "clock": clock}
        changes |= {"features": features}
        return cls._restored(files.Saved.read(Path(path)), resume=resume, **changes)

    def learned(self) -> Learned:
        """The prior in numbers: the mean task, the spread of tasks, the noise, how many tasks."""
        with self._lock:
            prior, state = self.next_prior(), self._memory.population.state
            names = self._tasks.feature_names.all
            return Learned.from_prior(
                prior, n_tasks=state.n_tasks, weight=state.weight, names=names
            )

    def item_effects(self) -> dict[Hashable, float]:
        """What each catalogue item earns beyond what its features explain, by id; may be empty.

        Effects are learned over all tasks, from the rewards of decisions among catalogue items.

        >>> bandit = MetaBandit(dimension=1, item_effects=True, seed=0)
        >>> menu = hs.Catalogue({"tea": [1.0], "milk": [1.0]})
        >>> for i in range(40):
        ...     decision = bandit.decide(i // 4, menu)
        ...     _ = bandit.reward(decision.id, float(decision.arm == "tea"))
        >>> sorted(bandit.item_effects(), key=bandit.item_effects().get)
        ['milk', 'tea']
        """
        with self._lock:
            self._memory.bring_up_to_date()
            effects = self._memory.population.item_effects
            if effects is None:
                return {}
            return dict(zip(effects.ids, effects.effects.tolist(), strict=False))

    def next_prior(self) -> Prior:
        """What the next task starts from, given everything known now."""
        with self._lock:
            self._memory.bring_up_to_date()
            return self._memory.population.start.prior

    @property
    def features(self) -> Features | None:
        """The schema, with the means and scales settled so far; None if features are numbers."""
        return None if self._encoder is None else self._encoder.schema

    def settle(self, features: Features) -> None:
        """Take means and scales that are not settled yet from a schema.

        Parameters
        ----------
        features : Features
            The bandit's own schema, with the means and scales that data have settled.

        Examples
        --------
        >>> features = hs.Features(item=[hs.Number("price")])
        >>> bandit = MetaBandit(features=features)
        >>> bandit.settle(features.settled(items=[{"price": 10}, {"price": 30}]))
        >>> bandit.features.item[0].mean
        20.0
        """
        with self._lock:
            own = None if self._encoder is None else self._encoder.schema.settled_as(features)
            if self._encoder is None or own is None or own != features.settled_as(own):
                raise ValueError(
                    "features must be the bandit's own, with the same mean and scale, "
                    f"got {checks.short(features)}"
                )
            self._encoder.schema = own

    def _drop_excess(self) -> None:
        pending = self._tasks.pending
        if len(pending.free) < pending.least_free:
            self._rewards.drop_excess()  # now that the call cannot fail

    def _saved(self) -> files.Saved:
        with self._lock:
            return files.Saved.of(self._memory, self._stream, self.policy, self.features)

    @classmethod
    def _restored(cls, content: files.Saved, *, resume: bool, **changes: Any) -> MetaBandit:
        bandit = cls(**content.arguments(resume=resume, **changes))
        content.restore(bandit._memory)
        if resume:
            bandit._stream.go_on_as(content.stream())
        return bandit

    def __reduce__(self) -> tuple[object, ...]:
        """A copy, by pickle or deepcopy, has ids and random numbers of its own."""
        given = {
            "policy": self.policy,
            "prior": self.prior,
            "features": self.features,
            "seed": None,
            "clock": self.settings.clock,
            "refresh": self.settings.refresh,  # a copy has no seed to derive it from
        }
        return _copy, (type(self), self._saved(), given)

    def __getattr__(self, name: str) -> NoReturn:
        instead = f": write bandit.{_HABITS[name]}" if name in _HABITS else ""
        raise AttributeError(f"a MetaBandit has no {name!r}{instead}", name=name, obj=self)

    def __repr__(self) -> str:
        return (
            f"MetaBandit(dimension={self.dimension}, policy={self.policy!r}, "
            f"prior={self.prior!r}): {len(self._tasks.slots):,} open and {self.n_finished:,} "
            f"finished tasks, {len(self._tasks.pending):,} pending decisions"
        )

    def _repr_html_(self) -> str:
        from headstart.frames import as_html  # noqa: PLC0415 - as above

        return as_html(self.learned().to_frame(), repr(self))


def _copy(kind: type[MetaBandit], content: files.Saved, given: dict[str, Any]) -> MetaBandit:
    return kind._restored(content, resume=False, **given)
