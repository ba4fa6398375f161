"""Who plays the shops: headstart, and what a shop would use instead.

A player is told of a visit, chooses one of the items on sale, and is told of a click when that is
reported; no news counts as no click. All but the oracle know the items' raw attributes and the
users' segments, and nothing else of the world.
"""

import heapq
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

import headstart as hs
from headstart.arrays import Floats, Integers
from headstart.environments import ShopWorld

# What a shop that knows nothing else would wait for a click.
DEADLINE_SECONDS = 3600.0
# Chosen on the development seeds (`shops.DEVELOPMENT_SEED`), once.
ITEM_COUNTS = (1.0, 39.0)
LOGISTIC_PRECISION = 3.0
LINEAR_PRECISION = 30.0
REFIT_VISITS = 500
# Of the log from which the schema is inferred; nothing else is learned from it.
FIRST_VISITS = 1000


class Player(Protocol):
    """Somebody who chooses what a visitor is shown."""

    def choose(self, visit: int) -> int:
        """The item that is shown in this visit, from now on without a click."""
        ...

    def click(self, visit: int) -> None:
        """A click of this visit is reported."""
        ...


class Encoding:
    """The features of all items for users of each segment: `arms` (G, I, d)."""

    def __init__(self, world: ShopWorld, *, by_hand: bool) -> None:
        shop, items = world.shop, world.items
        numbers = [_numbers(items, name, logs=by_hand) for name in ("price", "popularity")]
        categories = _levels([str(item["category"]) for item in items], shop.categories)
        brands = _levels([str(item["brand"]) for item in items], shop.brands)
        own = np.concatenate([np.stack(numbers, 1), categories, brands], 1)
        crossed = np.zeros((shop.n_segments, len(items), shop.n_segments, shop.n_categories))
        for segment in range(shop.n_segments):
            crossed[segment, :, segment] = categories
        parts = [np.broadcast_to(own, (shop.n_segments, *own.shape))]
        if by_hand:
            parts += [crossed.reshape(shop.n_segments, len(items), -1)]
            parts += [np.ones((shop.n_segments, len(items), 1))]
        self.arms = np.concatenate(parts, -1)

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return int(self.arms.shape[-1])


def _numbers(items: list[dict[str, object]], name: str, *, logs: bool) -> Floats:
    """A number of all items; a missing one is the mean, and logarithms are standardised."""
    values = np.array([np.nan if item[name] is None else item[name] for item in items], dtype=float)
    if logs:
        values = np.log(values)
        values = (values - np.nanmean(values)) / np.nanstd(values)
    return np.where(np.isnan(values), np.nanmean(values), values)


def _levels(values: list[str], levels: tuple[str, ...]) -> Floats:
    """A column per level."""
    return np.array([[value == level for level in levels] for value in values], dtype=float)


class Oracle:
    """Shows what each visitor is most likely to click."""

    def __init__(self, world: ShopWorld, seed: int) -> None:
        self.choose = world.best

    def click(self, visit: int) -> None:
        """Nothing is learned."""


class Uniform:
    """Shows any item."""

    def __init__(self, world: ShopWorld, seed: int) -> None:
        self._world = world
        self._rng = np.random.default_rng(seed)

    def choose(self, visit: int) -> int:
        """Any item on sale."""
        return int(self._rng.choice(self._world.on_sale(visit)))

    def click(self, visit: int) -> None:
        """Nothing is learned."""


class PerItem:
    """Thompson sampling with a click rate per item, Beta(1, 19) at first."""

    def __init__(self, world: ShopWorld, seed: int) -> None:
        self._world = world
        self._rng = np.random.default_rng(seed)
        clicks, others = ITEM_COUNTS
        self._clicks = np.full(len(world.items), clicks)
        self._shown = np.full(len(world.items), clicks + others)
        self._item = np.zeros(world.n_visits, dtype=np.int64)

    def choose(self, visit: int) -> int:
        """The item whose drawn click rate is the largest."""
        items = self._world.on_sale(visit)
        clicks = self._clicks[items]
        item = int(items[self._rng.beta(clicks, self._shown[items] - clicks).argmax()])
        self._shown[item] += 1.0
        self._item[visit] = item
        return item

    def click(self, visit: int) -> None:
        """One more click of the item."""
        self._clicks[self._item[visit]] += 1.0


class Logistic:
    """Logistic regression on everything until now, every 500 visits, with Thompson sampling.

    The posterior is Laplace's: normal around the most probable coefficients.
    """

    def __init__(self, world: ShopWorld, seed: int, precision: float = LOGISTIC_PRECISION) -> None:
        self._world = world
        self._rng = np.random.default_rng(seed)
        self._arms = Encoding(world, by_hand=True).arms
        segments, n_items, d = self._arms.shape
        self._counts = np.zeros((2, segments, n_items))  # shown, clicked
        self._item = np.zeros(world.n_visits, dtype=np.int64)
        self._precision = precision * np.eye(d)
        self._mean, self._root = np.zeros(d), np.linalg.inv(np.linalg.cholesky(self._precision)).T

    def choose(self, visit: int) -> int:
        """The item of largest xᵀw, with w drawn from the posterior."""
        if visit and visit % REFIT_VISITS == 0:
            self._refit()
        items = self._world.on_sale(visit)
        segment = self._world.segments[self._world.visitors[visit]]
        w = self._mean + self._root @ self._rng.standard_normal(len(self._mean))
        item = int(items[(self._arms[segment, items] @ w).argmax()])
        self._counts[0, segment, item] += 1.0
        self._item[visit] = item
        return item

    def click(self, visit: int) -> None:
        """One more click of the item in the segment."""
        segment = self._world.segments[self._world.visitors[visit]]
        self._counts[1, segment, self._item[visit]] += 1.0

    def _refit(self) -> None:
        """Newton's method from the last coefficients on."""
        seen = self._counts[0] > 0.0
        x, (shown, clicked) = self._arms[seen], self._counts[:, seen]
        w = self._mean
        for _ in range(50):
            p = 1.0 / (1.0 + np.exp(-np.clip(x @ w, -30.0, 30.0)))
            hessian = (x * (shown * p * (1.0 - p))[:, None]).T @ x + self._precision
            step = np.linalg.solve(hessian, x.T @ (clicked - shown * p) - self._precision @ w)
            w = w + step
            if np.abs(step).max() < 1e-6:
                break
        self._mean, self._root = w, np.linalg.inv(np.linalg.cholesky(hessian)).T


class Linear:
    """One linear model for all users, with Thompson sampling or a confidence bound.

    The noise is √(p(1 − p)) of the click rate p until now. The posterior is that of every tenth
    visit, which makes no difference that shows.
    """

    every = 10

    def __init__(
        self,
        world: ShopWorld,
        seed: int,
        *,
        z: float | None = None,
        precision: float = LINEAR_PRECISION,
    ) -> None:
        self._world = world
        self._rng = np.random.default_rng(seed)
        self._z = z
        self._arms = Encoding(world, by_hand=True).arms
        d = self._arms.shape[-1]
        self._gram, self._moment = precision * np.eye(d), np.zeros(d)
        self._item = np.zeros(world.n_visits, dtype=np.int64)
        self._clicks = 0
        self._widths: dict[int, Floats] = {}

    def choose(self, visit: int) -> int:
        """The item of the largest draw, or of the largest bound."""
        if visit % self.every == 0:
            inverse = np.linalg.inv(self._gram)
            p = (1.0 + self._clicks) / (20.0 + visit)
            self._mean, noise = inverse @ self._moment, np.sqrt(p * (1.0 - p))
            self._root = noise * np.linalg.cholesky((inverse + inverse.T) / 2.0)
            self._widths.clear()
        items = self._world.on_sale(visit)
        segment = int(self._world.segments[self._world.visitors[visit]])
        arms = self._arms[segment, items]
        if self._z is None:
            w = self._mean + self._root @ self._rng.standard_normal(len(self._mean))
            scores = arms @ w
        else:
            if segment not in self._widths:
                self._widths[segment] = np.linalg.norm(arms @ self._root, axis=-1)
            scores = arms @ self._mean + self._z * self._widths[segment]
        item = int(items[scores.argmax()])
        x = self._arms[segment, item]
        self._gram += np.outer(x, x)
        self._item[visit] = item
        return item

    def click(self, visit: int) -> None:
        """The reward of the item in the visit is 1 after all."""
        segment = self._world.segments[self._world.visitors[visit]]
        self._moment += self._arms[segment, self._item[visit]]
        self._clicks += 1


class _Bandit:
    """A `MetaBandit` with a task per user, in the time of a world."""

    def __init__(self, world: ShopWorld, seed: int, **settings: Any) -> None:
        self._world = world
        self._visit = 0
        self._decisions: dict[int, str] = {}
        self.bandit = hs.MetaBandit(
            seed=seed,
            clock=lambda: float(world.times[self._visit]),
            deadline_seconds=DEADLINE_SECONDS,
            default_reward=0.0,
            **settings,
        )

    def _decide(self, user: int, items: Integers) -> tuple[hs.Decision, int]:
        """The decision and its item."""
        raise NotImplementedError

    def choose(self, visit: int) -> int:
        """What the bandit decides."""
        self._visit = visit
        decision, item = self._decide(int(self._world.visitors[visit]), self._world.on_sale(visit))
        self._decisions[visit] = decision.id
        return item

    def click(self, visit: int) -> None:
        """The decision is paid."""
        self.bandit.reward(self._decisions.pop(visit), 1.0)


class Headstart(_Bandit):
    """As a new user would call it: the schema that `Features.infer` finds in a first log."""

    def __init__(self, world: ShopWorld, seed: int, *, item_effects: bool = True) -> None:
        log = world.log(FIRST_VISITS, policy="random").drop(columns="propensity")
        features = hs.Features.infer(log, reward="click", task="user", item="item")
        super().__init__(world, seed, features=features, item_effects=item_effects)
        self._catalogue = hs.Catalogue(self._raw(world.on_sale(0)), features=features)
        # A segment that all users have is left out of the schema.
        self._known = {attribute.name for attribute in features.about}

    def _raw(self, items: Integers) -> dict[int, dict[str, object]]:
        return {item: self._world.items[item] for item in items.tolist()}

    def _decide(self, user: int, items: Integers) -> tuple[hs.Decision, int]:
        if self._visit % self._world.shop.season == 0:
            on_sale = self._raw(items)
            for item in self._catalogue.ids:
                if item not in on_sale:
                    self._catalogue.remove(item)
            new = {item: raw for item, raw in on_sale.items() if item not in self._catalogue}
            if new:
                self._catalogue.add(new)
        about = {name: v for name, v in self._world.user(user).items() if name in self._known}
        decision = self.bandit.decide(user, self._catalogue, about=about)
        assert isinstance(decision.arm, int)
        return decision, decision.arm


class HeadstartInNumbers(_Bandit):
    """With features made by hand, or numbers as they come."""

    def __init__(self, world: ShopWorld, seed: int, *, by_hand: bool) -> None:
        self._arms = Encoding(world, by_hand=by_hand).arms
        super().__init__(world, seed, dimension=self._arms.shape[-1])

    def _decide(self, user: int, items: Integers) -> tuple[hs.Decision, int]:
        decision = self.bandit.decide(user, self._arms[self._world.segments[user], items])
        return decision, int(items[decision.arm_index])


# By name, what makes a player of a world and a seed.
PLAYERS: Mapping[str, Callable[[ShopWorld, int], Player]] = {
    "oracle": Oracle,
    "headstart": Headstart,
    "headstart, no item effects": lambda world, seed: Headstart(world, seed, item_effects=False),
    "headstart, by hand": lambda world, seed: HeadstartInNumbers(world, seed, by_hand=True),
    "headstart, as they come": lambda world, seed: HeadstartInNumbers(world, seed, by_hand=False),
    "logistic": Logistic,
    "linear, Thompson": Linear,
    "linear, UCB": lambda world, seed: Linear(world, seed, z=1.0),
    "per item": PerItem,
    "uniform": Uniform,
}


def chosen(world: ShopWorld, player: Player) -> Integers:
    """What a player shows in every visit, (V,)."""
    items = np.zeros(world.n_visits, dtype=np.int64)
    waiting: list[tuple[float, int]] = []
    for visit, now in enumerate(world.times.tolist()):
        while waiting and waiting[0][0] <= now:
            player.click(heapq.heappop(waiting)[1])
        items[visit] = item = player.choose(visit)
        if not world.click(visit, item):
            continue
        reported = float(world.reported[visit])
        if reported <= now:
            player.click(visit)
        elif reported < np.inf:
            heapq.heappush(waiting, (reported, visit))
    return items
