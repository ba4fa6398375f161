"""Who plays for people: headstart as it comes, and what a competent engineer writes in an hour."""

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import numpy as np
from benchmarks.people_data import Rounds

import headstart as hs
from headstart.arrays import Floats, Integers


class Player(Protocol):
    """Somebody who chooses for one person after another."""

    def begin(self, person: int) -> None:
        """A new person comes."""
        ...

    def choose(self, arms: Floats, items: Integers | None) -> int:
        """One of the arms (K, d)."""
        ...

    def learn(self, reward: float) -> None:
        """The reward of the last choice."""
        ...


class Headstart:
    """A `MetaBandit` with a task per person; arms that are items are a catalogue."""

    def __init__(self, dimension: int, seed: int, **options: Any) -> None:
        self._bandit = hs.MetaBandit(dimension=dimension, seed=seed, **options)

    def begin(self, person: int) -> None:
        """A new task."""
        self._person = person

    def choose(self, arms: Floats, items: Integers | None) -> int:
        """The bandit's decision."""
        offered: Floats | hs.Catalogue = np.ascontiguousarray(arms)
        if items is not None:
            offered = hs.Catalogue(dict(zip(items.tolist(), arms, strict=True)))
        self._decision = self._bandit.decide(self._person, offered)
        return self._decision.arm_index

    def learn(self, reward: float) -> None:
        """Pay the decision."""
        self._bandit.reward(self._decision.id, reward)


class TwoLevel:
    """One ridge regression for all, an effect per item, and a ridge of each person's rest.

    `own` and `item` are the penalties of a person's parameter and of an item's effect, ∞ for none;
    z is how many standard deviations count.
    """

    def __init__(self, dimension: int, *, own: float, item: float, z: float) -> None:
        self._own, self._item, self._z = own, item, z
        self._all = np.eye(dimension), np.zeros(dimension)  # an inverse, and a parameter
        self.counts, self._totals = np.zeros(1), np.zeros(1)  # by item
        self._rounds, self._squares = 1.0, 1.0

    @property
    def shared(self) -> Floats:
        """The parameter that is the same for all people, (d,)."""
        return self._all[1]

    def effects(self, items: Integers) -> Floats:
        """The effects of items."""
        short = int(items.max()) + 1 - len(self.counts)
        if short > 0:
            self.counts = np.append(self.counts, np.zeros(short))
            self._totals = np.append(self._totals, np.zeros(short))
        effects: Floats = self._totals[items] / (self.counts[items] + self._item)
        return effects

    def begin(self, person: int) -> None:
        """A parameter of this person's own, 0 at first."""
        d = len(self._all[1])
        self._one = np.eye(d) / self._own, np.zeros(d)

    def choose(self, arms: Floats, items: Integers | None) -> int:
        """The arm of the largest upper end."""
        effect, variance = np.zeros(len(arms)), np.zeros(len(arms))
        if items is not None:
            effect = self.effects(items)
            variance = 1.0 / (self.counts[items] + self._item)
        mean = arms @ (self._all[1] + self._one[1]) + effect
        if self._z:
            both = self._all[0] + self._one[0]
            variance = variance + ((arms @ both) * arms).sum(-1)
            mean = mean + self._z * np.sqrt(self._squares / self._rounds * variance)
        k = int(mean.argmax())
        self._chosen = arms[k], effect[k], None if items is None else items[k]
        return k

    def learn(self, reward: float) -> None:
        """Update the three parts, each by what the others leave."""
        x, effect, item = self._chosen
        rest = reward - x @ self._all[1]
        self._rounds += 1.0
        self._squares += (rest - effect - x @ self._one[1]) ** 2
        self._all = _updated(*self._all, x, rest)
        self._one = _updated(*self._one, x, rest - effect - x @ self._one[1])
        if item is not None:
            self.counts[item] += 1.0
            self._totals[item] += rest


def _updated(inverse: Floats, w: Floats, x: Floats, error: float) -> tuple[Floats, Floats]:
    """The inverse and the parameter of a ridge regression after one more reward."""
    u = inverse @ x
    gain = u / (1.0 + x @ u)
    return inverse - np.outer(gain, u), w + gain * error


def play(player: Player, people: Iterable[tuple[int, Rounds]]) -> dict[int, float]:
    """The reward per round of every person, in this order."""
    found = rewards_by_visit(player, people)
    return {person: float(rewards.mean()) for person, rewards in found.items()}


def rewards_by_visit(player: Player, people: Iterable[tuple[int, Rounds]]) -> dict[int, Floats]:
    """The reward of every round of every person (T,), in this order."""
    earned = {}
    for person, rounds in people:
        player.begin(person)
        earned[person] = np.zeros(len(rounds.arms))
        for t in range(len(rounds.arms)):
            items = None if rounds.items is None else rounds.items[t]
            reward = float(rounds.rewards[t, player.choose(rounds.arms[t], items)])
            player.learn(reward)
            earned[person][t] = reward
    return earned


# What the ridges are tuned over.
OWN = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
ITEM = (1.0, 5.0, 20.0, np.inf)
Z = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0)

# headstart by name, with the options in which it differs from the default.
OURS: Mapping[str, Mapping[str, Any]] = {
    "headstart": {},
    "no item effects": {"item_effects": False},
    "isotropic": {"prior": hs.priors.Hierarchical(covariance="isotropic")},
    "z = 1": {"policy": hs.policies.BayesUCB()},
    "greedy": {"policy": hs.policies.Greedy()},
}


def settings_of_ridges(*, people_differ: bool, items: bool) -> list[dict[str, float]]:
    """The settings to choose from."""
    own = OWN if people_differ else (np.inf,)
    every = itertools.product(own, ITEM if items else (np.inf,), Z)
    return [{"own": one, "item": item, "z": z} for one, item, z in every]


def tuned(
    dimension: int,
    settings: Iterable[Mapping[str, float]],
    orders: Iterable[list[tuple[int, Rounds]]],
) -> Callable[[], TwoLevel]:
    """The ridge with the settings that earn most on these people."""
    orders = list(orders)

    def earned(setting: Mapping[str, float]) -> float:
        found = (play(TwoLevel(dimension, **setting), order) for order in orders)
        return float(np.mean([reward for one in found for reward in one.values()]))

    best = max(settings, key=earned)
    return lambda: TwoLevel(dimension, **best)
