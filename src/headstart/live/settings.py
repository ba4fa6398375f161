"""Settings: how a bandit ends, expires, forgets, explores and refreshes."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, Literal

from headstart import checks

Refresh = Literal["background", "inline"]
# Beyond this, squares and products of rewards run out of range.
LARGEST = 1e50


class Change(IntEnum):
    """When a setting may still change after tasks have learned with it."""

    NEVER = 0  # what was learned depends on it
    ON_LOAD = 1  # if all tasks can be brought to the new value: `MetaBandit.load`
    ALWAYS = 2


def _setting(default: Any, change: Change = Change.ALWAYS, *, stored: bool = True) -> Any:
    """A field of `Settings`; stored: whether it applies if a store keeps the tasks."""
    return field(default=default, metadata={"change": change, "stored": stored})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a `MetaBandit`, which takes them as keyword arguments.

    Parameters
    ----------
    idle_seconds : float, optional
        A task is finished after this long without use. Finishing frees half of the task's memory,
        and changes nothing else.
    discount : float, default 1.0
        Each reward multiplies the weight of the task's earlier rewards by this.
    deadline_seconds : float, optional
        A decision without a reward expires after this long.
    default_reward : float, optional
        A decision counts as this reward from the start, until a reward within the deadline replaces
        it. Needs `deadline_seconds`.
    reward_range : (float, float), optional
        The smallest and largest reward; others are not learned.
    half_life_seconds : float, optional
        In the prior, a task counts half as much after this long.
    exploration : float, default 0.0
        Every arm that may be chosen has a propensity of at least `exploration`/K.
    item_effects : bool, default True
        Whether to learn, over all tasks, what each catalogue item earns beyond what its features
        explain. Items are recognised by id; the rewards decide how large effects are, possibly 0.
    scales : "learn" or None, default "learn"
        Whether to learn the typical sizes of the features, which may differ a lot; None if they are
        alike.
    refresh : {"background", "inline"}, optional
        When to update the prior: in a thread, so that no call waits for it, or when a task opens,
        so that a run can be repeated; from 32 tasks on, once an eighth of them changed. In a
        `MetaBandit`, None means "inline" with a seed and "background" without; `load` then decides
        by its own seed.
    clock : callable, default time.time
        Returns the time in seconds.
    refresh_by_seed : bool, default False
        Whether `refresh` follows from the seed.

    Examples
    --------
    >>> bandit = hs.MetaBandit(dimension=2, deadline_seconds=3600.0, default_reward=0.0)
    >>> bandit.settings.deadline_seconds
    3600.0
    """

    idle_seconds: float | None = _setting(None, stored=False)
    discount: float = _setting(1.0, Change.NEVER)
    deadline_seconds: float | None = _setting(None)
    default_reward: float | None = _setting(None)
    reward_range: tuple[float, float] | None = _setting(None)
    half_life_seconds: float | None = _setting(None, Change.ON_LOAD)
    exploration: float = _setting(0.0)
    item_effects: bool = _setting(True)
    scales: Literal["learn"] | None = _setting("learn", Change.NEVER)
    refresh: Refresh = _setting("background", stored=False)  # noqa: RUF009 - it is a field
    clock: Callable[[], float] = time.time
    refresh_by_seed: bool = field(default=False, repr=False, compare=False)

    @classmethod
    def from_options(
        cls,
        clock: Callable[[], float],
        *,
        seed: object = None,
        **given: Any,
    ) -> Settings:
        """The settings of a bandit.

        Parameters
        ----------
        clock : callable
            Returns the time in seconds.
        seed : optional
            Decides `refresh` where that is None.
        **given
            The fields of `Settings`, as `MetaBandit` takes them.

        Returns
        -------
        Settings
        """
        options: dict[str, Any] = dict(given)
        for name in options:
            checks.one_of("the setting", name, ["seed", *names()])
        if options.get("refresh") is None:
            refresh = "background" if seed is None else "inline"
            options |= {"refresh": refresh, "refresh_by_seed": True}
        if options.get("reward_range") is not None:
            options["reward_range"] = range_of(options["reward_range"])
        return cls(clock=clock, **options)

    def __post_init__(self) -> None:
        for name in ("idle_seconds", "deadline_seconds", "half_life_seconds"):
            if getattr(self, name) is not None:
                checks.positive(name, getattr(self, name))
        if checks.positive("discount", self.discount) > 1.0:
            raise ValueError(f"discount must be at most 1, got {self.discount}")
        if not 0.0 <= checks.real("exploration", self.exploration) <= 1.0:
            raise ValueError(f"exploration must be between 0 and 1, got {self.exploration!r}")
        checks.one_of("refresh", self.refresh, ("background", "inline"))
        if self.scales is not None and not (
            isinstance(self.scales, str) and self.scales == "learn"
        ):
            raise ValueError(f'scales must be "learn" or None, got {checks.short(self.scales)}')
        if not isinstance(self.item_effects, bool):
            raise ValueError(f"item_effects must be True or False, got {self.item_effects!r}")
        self._check_rewards()

    def _check_rewards(self) -> None:
        if self.reward_range is not None:
            low, high = (checks.real("reward_range", value) for value in self.reward_range)
            if not low < high:
                raise ValueError(f"reward_range must be (low, high), got {self.reward_range!r}")
        if self.default_reward is None:
            return
        if self.deadline_seconds is None:
            raise ValueError("default_reward needs deadline_seconds: when is it paid?")
        default = float(checks.floats("default_reward", self.default_reward))
        if not self.in_range(default):
            raise ValueError(
                f"default_reward must be within reward_range {self.reward_range}, and smaller than "
                f"{LARGEST:g}, got {default}"
            )

    def in_range(self, value: float) -> bool:
        """Whether a reward is within the range, if there is one, and below 10⁵⁰ in size.

        Parameters
        ----------
        value : float
            The reward.

        Returns
        -------
        bool
        """
        limits = self.reward_range
        return -LARGEST < value < LARGEST and (limits is None or limits[0] <= value <= limits[1])

    def plain(self) -> dict[str, Any]:
        """The settings that a bandit takes, except the clock, as plain data."""
        # Not asdict, which would copy the object that the clock is a method of.
        return {name: getattr(self, name) for name in names()}

    def has_expired(self, made: float, now: float) -> bool:
        """Whether the deadline of a decision has passed.

        Parameters
        ----------
        made, now : float
            The time of the decision and the present time, in seconds.

        Returns
        -------
        bool
        """
        deadline = self.deadline_seconds
        return deadline is not None and made <= now - deadline


@functools.cache
def names(least: Change = Change.NEVER, *, stored: bool = False) -> tuple[str, ...]:
    """The settings that may change at least this easily; with `stored`, only those of a store.

    The names are fields of `Settings`, which have their types and defaults.
    """
    return tuple(
        each.name
        for each in fields(Settings)
        if "change" in each.metadata
        and each.metadata["change"] >= least
        and (each.metadata["stored"] or not stored)
    )


def range_of(value: Sequence[float]) -> tuple[float, float]:
    """The range of rewards, checked."""
    if len(value) != 2:
        raise ValueError(f"reward_range must be (low, high), got {value!r}")
    return float(value[0]), float(value[1])
