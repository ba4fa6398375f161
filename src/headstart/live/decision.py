"""What live use returns: decisions, and what is known of a task."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.features import Features
from headstart.intervals import quantile
from headstart.live._item_effects import ItemEffects
from headstart.live.explanation import Explanation
from headstart.live.inputs import Attributes, Groups, Name, default_names


class Decision(NamedTuple):
    """One choice. Report its reward by its id, once, any time later.

    Attributes
    ----------
    id : str
        What `MetaBandit.reward` takes.
    task : str or int
        The name of the task.
    arm : hashable
        The chosen arm: a mapping's key, a DataFrame's index, a catalogue's id, or an array's index.
    arm_index : int
        The index of the chosen arm.
    scores : ndarray of shape (K,)
        The scores of all arms; −∞ where masked.
    propensity : float
        The probability of the chosen arm; in a list, given the arms before it. Nan if not known.

    Examples
    --------
    >>> import headstart as hs
    >>> bandit = hs.MetaBandit(dimension=2, policy=hs.policies.Greedy(), seed=0)
    >>> bandit.observe("ann", [1.0, 0.0], 1.0)
    <Outcome.PAID: 'paid'>
    >>> decision = bandit.decide("ann", {"tea": [1.0, 0.0], "milk": [0.0, 1.0]})
    >>> decision.arm, decision.propensity
    ('tea', 1.0)
    >>> bandit.reward(decision.id, 1.0)
    <Outcome.PAID: 'paid'>
    """

    id: str
    task: Name
    arm: Hashable
    arm_index: int
    scores: Floats
    propensity: float

    def __repr__(self) -> str:
        return (
            f"Decision(id={self.id!r}, task={self.task!r}, arm={self.arm!r}, "
            f"arm_index={self.arm_index}, propensity={self.propensity:.4g}, "
            f"scores={_short(self.scores)})"
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values, such as JSON can write; scores that are −∞ are None.

        >>> import json
        >>> import headstart as hs
        >>> decision = hs.MetaBandit(dimension=1, seed=0).decide("ann", {"tea": [1.0]})
        >>> json.loads(json.dumps(decision.to_dict()))["arm"]
        'tea'
        """
        scores = [score if math.isfinite(score) else None for score in self.scores.tolist()]
        return {**self._asdict(), "scores": scores}


class Decisions(NamedTuple):
    """One choice for each of n tasks.

    Attributes
    ----------
    ids : ndarray of str of shape (n,)
        What `MetaBandit.reward_many` takes.
    tasks : tuple of str or int
        The names of the tasks.
    arms : tuple of hashable
        The ids of the chosen arms, or their indices if they have no ids.
    arm_indices : ndarray of int of shape (n,)
        The indices of the chosen arms among the arms of their task.
    scores : ndarray of shape (n, K)
        The scores of all arms; −∞ where masked, and after the last arm of a task with fewer than K.
    propensities : ndarray of shape (n,)
        The probabilities of the chosen arms.

    Examples
    --------
    >>> import headstart as hs
    >>> bandit = hs.MetaBandit(dimension=1, policy=hs.policies.Greedy(), seed=0)
    >>> for name in ("ann", "bob"):
    ...     bandit.observe(name, [1.0], 1.0)
    <Outcome.PAID: 'paid'>
    <Outcome.PAID: 'paid'>
    >>> menus = [{"tea": [2.0], "milk": [1.0]}, {"rum": [0.5]}]
    >>> decisions = bandit.decide_many(["ann", "bob"], menus)
    >>> decisions.arms
    ('tea', 'rum')
    """

    ids: NDArray[np.str_]
    tasks: tuple[Name, ...]
    arms: tuple[Hashable, ...]
    arm_indices: Integers
    scores: Floats
    propensities: Floats

    def __repr__(self) -> str:
        return (
            f"Decisions(n={len(self.tasks)}, tasks={_listed(self.tasks)}, "
            f"arms={_listed(self.arms)}, propensities={_short(self.propensities)}, "
            f"scores of shape {self.scores.shape})"
        )


class TaskView(NamedTuple):
    """What is known of a task, open or finished.

    Attributes
    ----------
    task : str or int
        The name of the task.
    estimate : RidgeEstimate
        Its statistics and its prior; `estimate.parameter` is ŵ.
    n_rewards : int
        How many rewards count so far. A pending decision counts as its default reward, if it has
        one.
    n_pending : int
        How many decisions have no reward yet.
    noise_scale : float
        The standard deviation of a reward given its mean, s.
    feature_names : tuple of str
        The names of the features, x1 to xd by default.
    groups : Groups or None
        Which features belong together.
    schema : Features or None
        How attributes become features.
    about : ndarray of shape (p,) or None
        What is known of the task beforehand.
    effects : object or None
        What items of catalogues earn beyond what their features explain.

    Examples
    --------
    >>> import headstart as hs
    >>> bandit = hs.MetaBandit(dimension=2, prior=hs.priors.Fixed.zero(), seed=0)
    >>> bandit.observe("ann", [1.0, 0.0], 1.0)
    <Outcome.PAID: 'paid'>
    >>> view = bandit.task("ann")
    >>> view
    TaskView(task='ann', n_rewards=1, n_pending=0, noise_scale=1, d=2)
    >>> low, high = view.interval([1.0, 0.0])
    >>> round(low, 2), round(high, 2)
    (-0.89, 1.89)
    """

    task: Name
    estimate: RidgeEstimate
    n_rewards: int
    n_pending: int
    noise_scale: float
    feature_names: tuple[str, ...] = ()
    groups: Groups | None = None
    schema: Features | None = None
    about: Floats | None = None
    effects: ItemEffects | None = None

    def record(self) -> dict[str, object]:
        """Its numbers by name, a row of `MetaBandit.to_frame`."""
        counts = {"task": self.task, "n_rewards": self.n_rewards, "n_pending": self.n_pending}
        return counts | dict(zip(self.feature_names, self.estimate.parameter, strict=True))

    def __repr__(self) -> str:
        return (
            f"TaskView(task={self.task!r}, n_rewards={self.n_rewards}, "
            f"n_pending={self.n_pending}, noise_scale={self.noise_scale:.4g}, "
            f"d={self.estimate.prior.dimension})"
        )

    def _features(
        self, features: ArrayLike | Attributes, context: Attributes | None = None
    ) -> Floats:
        """The given features, or the features of an item's attributes in a context."""
        if self.schema is None or not isinstance(features, Mapping):
            if context is not None:
                raise ValueError("a context needs an item with attributes, got numbers")
            numbers: Any = features
            return checks.floats("features", numbers)
        about = self.schema.encode_about(None) if self.about is None else self.about
        schema = self.schema
        items = schema.encode_items([features], schema.open).matrix
        x: Floats = schema.arms(items, schema.encode_context(context, schema.open), about)[0]
        return x

    @overload
    def interval(
        self,
        features: Sequence[float] | Attributes,
        *,
        context: Attributes | None = None,
        arm: Hashable | None = None,
    ) -> tuple[float, float]: ...

    @overload
    def interval(
        self,
        features: ArrayLike,
        *,
        context: Attributes | None = None,
        arm: Hashable | None = None,
    ) -> tuple[Any, Any]: ...

    def interval(
        self,
        features: ArrayLike | Attributes,
        *,
        context: Attributes | None = None,
        arm: Hashable | None = None,
    ) -> tuple[Any, Any]:
        """The ends of the 95 % interval of xᵀw, xᵀŵ ∓ 1.96·s·‖x‖.

        At a task's start, while only one other task is known, the interval is too short: it holds
        xᵀw in 92, 86 and 75 % of cases if tasks have variance 1, 10 and 40. It does so in 92 to 96
        % after two tasks, and in 94 to 96 % from five tasks on.

        Parameters
        ----------
        features : array_like of shape (d,) or (K, d), or mapping of str to object
            The features of one arm or of K arms, or the attributes of one item.
        context : mapping of str to object, optional
            The attributes of the context, for an item with attributes.
        arm : hashable, optional
            The id of the one arm, whose effect counts if it is an item of a catalogue.

        Returns
        -------
        low, high : float or ndarray of shape (K,)
            Floats for one arm, arrays for K.
        """
        x = self._features(features, context)
        if arm is not None or x.ndim == 1:
            return self.explained(x, arm, self._item(arm)).interval
        middle = self.estimate.predict(x)
        half = quantile(math.inf) * self.noise_scale * self.estimate.widths(x)
        return middle - half, middle + half

    def explain(
        self,
        features: ArrayLike | Attributes,
        *,
        context: Attributes | None = None,
        arm: Hashable | None = None,
    ) -> Explanation:
        """What the task's estimate says about an arm, and where it comes from.

        Parameters
        ----------
        features : array_like of shape (d,) or mapping of str to object
            The features of the arm, or the attributes of an item.
        context : mapping of str to object, optional
            The attributes of the context, for an item with attributes.
        arm : hashable, optional
            The arm's id, which the explanation shows. If it is an item of a catalogue, what the
            item earns beyond its features counts too.

        Returns
        -------
        Explanation
        """
        return self.explained(self._features(features, context), arm, self._item(arm))

    def _item(self, arm: Hashable | None) -> Hashable | None:
        """The arm, if it is an item with an effect."""
        known = arm is not None and self.effects is not None and arm in self.effects.index
        return arm if known else None

    def explained(
        self, features: Floats, arm: Hashable | None, item: Hashable | None
    ) -> Explanation:
        """The explanation of an arm (d,), which is this item of a catalogue if it is one."""
        dimension = self.estimate.prior.dimension
        checks.shape("features", features, (dimension,), "(d,)")
        square, effect = float(self.estimate.widths(features[None])[0]) ** 2, 0.0
        shift: Floats = np.zeros(dimension)
        if item is not None and self.effects is not None:
            shift, effect = self.effects.shift, self.effects.effect(item)
            square += float(self.effects.read(features[None], (item,))[1][0])
        return Explanation.of(
            features,
            task=self.task,
            arm=arm,
            names=self.feature_names or default_names(dimension),
            parameter=self.estimate.parameter + shift,
            bias=self.estimate.prior.bias + shift,
            width=math.sqrt(max(square, 0.0)),
            noise_scale=self.noise_scale,
            groups=self.groups,
            item_effect=effect,
        )


class Learned(NamedTuple):
    """What has been learned across tasks: where the next one starts, in numbers.

    Attributes
    ----------
    mean : ndarray of shape (d,)
        The mean task.
    spread : ndarray of shape (d,)
        The standard deviation of a new task's parameter around the mean task.
    noise_scale : float
        The standard deviation of a reward.
    n_tasks : int
        How many tasks it was learned from.
    effective_tasks : float
        The sum of their weights, less than `n_tasks` if the memory forgets.
    feature_names : tuple of str
        The names of the d features.

    Examples
    --------
    >>> import numpy as np
    >>> import headstart as hs
    >>> bandit, rng = hs.MetaBandit(dimension=2, seed=0), np.random.default_rng(0)
    >>> for i in range(200):
    ...     x = rng.normal(size=2)
    ...     _ = bandit.observe(i // 10, x, x @ [1.0, -1.0] + rng.normal(0, 0.1))
    >>> learned = bandit.learned()
    >>> learned.mean.round(1), learned.n_tasks
    (array([ 1., -1.]), 20)
    """

    mean: Floats
    spread: Floats
    noise_scale: float
    n_tasks: int
    effective_tasks: float
    feature_names: tuple[str, ...] = ()

    def to_frame(self) -> Any:
        """A DataFrame with a row per feature: the mean task, and the spread around it."""
        from headstart.frames import frame  # noqa: PLC0415 - pandas, which decisions do not need

        rows = zip(self.feature_names, self.mean, self.spread, strict=True)
        names = ("feature", "mean", "spread")
        return frame((dict(zip(names, row, strict=True)) for row in rows), "feature")

    @classmethod
    def from_prior(
        cls, prior: Prior, *, n_tasks: int, weight: float, names: tuple[str, ...] = ()
    ) -> Learned:
        """The numbers of a prior N(h, s²Λ⁻¹).

        Parameters
        ----------
        prior : Prior
            The prior of the next task.
        n_tasks : int
            How many tasks it was learned from.
        weight : float
            The sum of their weights.
        names : tuple of str, optional
            The names of the d features.

        Returns
        -------
        Learned
        """
        matrix = prior.regularization
        if prior.isotropic:
            matrix = prior.regularization * np.eye(prior.dimension)
        scale = float(prior.noise_scale)
        spread = scale * np.sqrt(np.diagonal(np.linalg.inv(matrix)))
        return cls(prior.bias.copy(), spread, scale, n_tasks, weight, names)


def _short(array: Floats) -> str:
    return np.array2string(array, precision=3, threshold=6, edgeitems=3).replace("...", "…")


def _listed(values: tuple[object, ...]) -> str:
    if len(values) <= 4:
        return repr(values)
    return f"({', '.join(map(repr, values[:3]))}, …)"
