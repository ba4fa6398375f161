"""Shop: clicks on a catalogue of items with raw attributes, by users with a few visits each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import expit

from headstart import checks
from headstart.arrays import Booleans, Floats, Integers
from headstart.features import Category, Features, Number

if TYPE_CHECKING:
    import pandas as pd

Truth = Literal["logistic", "linear"]

_CATEGORIES = (
    "kitchen", "garden", "books", "toys", "sport", "beauty", "music", "office", "shoes", "lamps",
    "games", "bags",
)  # fmt: skip
_BRANDS = (
    "acme", "birch", "cobalt", "dune", "ember", "fjord", "grove", "harbour", "iris", "juniper",
    "kestrel", "linden", "maple", "north", "opal", "pine", "quartz", "raven", "sable", "tundra",
)  # fmt: skip
_SEGMENTS = ("families", "students", "pensioners", "collectors", "travellers")

# Standard deviations, over items, of users' opinions of an attribute at strength 1.
_CATEGORY, _BRAND, _PRICE, _POPULARITY, _SEGMENT = 0.4, 0.3, -0.3, 0.25, 0.6
_PRICE_LOG = (3.2, 0.8)  # mean and standard deviation of a price's logarithm
_POPULARITY_TAIL = 1.2  # of the Pareto distribution of popularity

_SECONDS_PER_VISIT = 60.0  # in the whole shop
_SECONDS_BETWEEN = 3600.0  # between two visits of one user
_CALIBRATION_USERS = 400


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A shop: in each visit it shows one item to a user, who clicks or does not.

    Items have a price, a category, a brand and a popularity. A user's opinion of an item is the sum
    of all users' opinion of its attributes, the segment's opinion of its category, an effect of the
    item itself, and the user's own taste in categories and prices. The probability of a click
    follows from that sum.

    `world` draws one such shop with its users, whose visits overlap in time.

    Parameters
    ----------
    n_items, n_categories, n_brands, n_segments : int, default 200, 8, 20 and 3
        How many items are on sale at once, and how many categories, brands and segments of users
        there are.
    click_rate : float, default 0.05
        The mean probability of a click over users and items.
    truth : {"logistic", "linear"}, default "logistic"
        The probability of a click is the logistic function of the sum, or proportional to it, from
        0 to 0.95.
    strength : float, default 1.0
        Multiplies the parts of the sum that attributes explain.
    item_effect : float, default 0.3
        The standard deviation of the effects of the items themselves.
    taste : float, default 0.35
        The standard deviation of users' own tastes.
    mean_visits : float, default 12.0
        The mean number of visits of a user.
    season : int, default 3000
        The number of visits of a season.
    replaced : float, default 0.1
        The share of items that new ones replace after every season.
    drift : float, default 0.0
        The standard deviation by which users' opinions of categories move after every season.
    late : float, default 0.3
        The share of clicks that are reported late.
    late_seconds : float, default 600.0
        The mean delay of these, in seconds.
    lost : float, default 0.05
        The share of clicks that are never reported.
    missing : float, default 0.05
        The share of the items' attributes that are missing.

    Examples
    --------
    >>> world = hs.environments.Shop(n_items=50).world(seed=0, n_users=100)
    >>> world.items[0]
    {'price': 13.05, 'category': 'beauty', 'brand': 'ember', 'popularity': 58.0}
    >>> world.user(3)
    {'segment': 'families'}
    """

    n_items: int = 200
    n_categories: int = 8
    n_brands: int = 20
    n_segments: int = 3
    click_rate: float = 0.05
    truth: Truth = "logistic"
    strength: float = 1.0
    item_effect: float = 0.3
    taste: float = 0.35
    mean_visits: float = 12.0
    season: int = 3000
    replaced: float = 0.1
    drift: float = 0.0
    late: float = 0.3
    late_seconds: float = 600.0
    lost: float = 0.05
    missing: float = 0.05

    def __post_init__(self) -> None:
        for name in ("n_items", "n_categories", "n_brands", "n_segments", "season"):
            checks.count(name, getattr(self, name))
        checks.one_of("truth", self.truth, ("linear", "logistic"))
        if not 0.0 < checks.real("click_rate", self.click_rate) <= 0.5:
            raise ValueError(f"click_rate must be above 0 and at most 0.5, got {self.click_rate}")
        for name in ("strength", "item_effect", "taste", "drift"):
            checks.nonnegative(name, getattr(self, name))
        for name in ("replaced", "late", "lost", "missing"):
            checks.share(name, getattr(self, name))
        checks.positive("late_seconds", self.late_seconds)
        if checks.positive("mean_visits", self.mean_visits) < 1.0:
            raise ValueError(f"mean_visits must be at least 1, got {self.mean_visits}")

    @property
    def categories(self) -> tuple[str, ...]:
        """The names of the categories."""
        return _names(_CATEGORIES, "category", self.n_categories)

    @property
    def brands(self) -> tuple[str, ...]:
        """The names of the brands."""
        return _names(_BRANDS, "brand", self.n_brands)

    @property
    def segments(self) -> tuple[str, ...]:
        """The names of the segments of users."""
        return _names(_SEGMENTS, "segment", self.n_segments)

    @cached_property
    def features(self) -> Features:
        """The schema that a careful engineer would write, with segment and category crossed.

        The numbers get their means and scales from a world's items.
        """
        return Features(
            item=[
                Number("price", log=True),
                Category("category", levels=self.categories),
                Category("brand", levels=self.brands),
                Number("popularity", log=True),
            ],
            about=[Category("segment", levels=self.segments)],
            cross=[("segment", "category")],
        )

    def world(self, seed: int | np.random.Generator, n_users: int = 1000) -> ShopWorld:
        """One shop, its items of all seasons, its users and their visits.

        Parameters
        ----------
        seed : int or numpy.random.Generator
            Repeats the world.
        n_users : int, default 1000
            The number of users.

        Returns
        -------
        ShopWorld
        """
        return ShopWorld(self, checks.count("n_users", n_users), np.random.default_rng(seed))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Users:
    """Users: their segments (n,), and their own tastes in categories (n, C) and prices (n,)."""

    segments: Integers
    categories: Floats
    price: Floats

    @classmethod
    def drawn(cls, shop: Shop, n: int, rng: np.random.Generator) -> _Users:
        return cls(
            segments=rng.integers(shop.n_segments, size=n),
            categories=shop.taste * rng.standard_normal((n, shop.n_categories)),
            price=shop.taste * rng.standard_normal(n),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Opinions:
    """Users' opinions of items in every season, and the items of all seasons.

    Attributes and effects are by item, (I,), and `on_sale` by season and item, (S, I). Opinions of
    categories are (S, C), by segment (S, G, C), and of brands (B,).
    """

    shop: Shop
    price: Floats
    popularity: Floats
    category: Integers
    brand: Integers
    known: Booleans  # which of price, brand and popularity are known, (3, I)
    effect: Floats
    on_sale: Booleans
    of_categories: Floats
    of_segments: Floats
    of_brands: Floats
    offset: float

    @classmethod
    def drawn(cls, shop: Shop, n_seasons: int, rng: np.random.Generator) -> _Opinions:
        renewed = round(shop.replaced * shop.n_items)
        n = shop.n_items + renewed * (n_seasons - 1)
        size = (n_seasons, shop.n_segments, shop.n_categories)
        drawn = {
            "price": np.round(np.exp(rng.normal(*_PRICE_LOG, n)), 2),
            "popularity": np.floor(20.0 * (1.0 + rng.pareto(_POPULARITY_TAIL, n))),
            "category": rng.integers(shop.n_categories, size=n),
            "brand": rng.integers(shop.n_brands, size=n),
            "known": rng.random((3, n)) >= shop.missing,
            "effect": shop.item_effect * rng.standard_normal(n),
        }
        steps = rng.standard_normal(size), rng.standard_normal((n_seasons, shop.n_categories))
        moved = [np.cumsum(np.concatenate([step[:1] * 0.0, step[1:]]), 0) for step in steps]
        of_segments = _SEGMENT * shop.strength * rng.standard_normal(size[1:])
        if shop.n_segments == 1:
            of_segments *= 0.0
        of_categories = _CATEGORY * shop.strength * rng.standard_normal(shop.n_categories)
        opinions = cls(
            shop=shop,
            on_sale=_on_sale(shop.n_items, renewed, n_seasons, rng),
            of_categories=of_categories + shop.drift * moved[1],
            of_segments=of_segments + shop.drift * moved[0] * (shop.n_segments > 1),
            of_brands=_BRAND * shop.strength * rng.standard_normal(shop.n_brands),
            offset=0.0,
            **drawn,
        )
        return opinions._calibrated(rng)

    def _calibrated(self, rng: np.random.Generator) -> _Opinions:
        """With the offset that makes the click rate the mean probability of the first season."""
        from scipy.optimize import brentq  # noqa: PLC0415 - takes half a second to import

        users = _Users.drawn(self.shop, _CALIBRATION_USERS, rng)
        items = np.flatnonzero(self.on_sale[0])
        utilities = np.stack([self.utility(users, u, 0, items) for u in range(len(users.price))])

        def excess(offset: float) -> float:
            return float(self._probability(utilities + offset).mean()) - self.shop.click_rate

        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return _Opinions(**values | {"offset": float(brentq(excess, -40.0, 40.0))})

    @cached_property
    def log_price(self) -> Floats:
        """The logarithms of prices, standardised, (I,)."""
        return np.asarray((np.log(self.price) - _PRICE_LOG[0]) / _PRICE_LOG[1])

    @cached_property
    def log_popularity(self) -> Floats:
        """The logarithms of popularities, standardised over the items, (I,)."""
        logs = np.log(self.popularity)
        return np.asarray((logs - logs.mean()) / max(float(logs.std()), 1e-12))

    @cached_property
    def _of_items(self) -> Floats:
        """The part of an item's utility that no user and no season changes, (I,)."""
        numbers = _PRICE * self.log_price + _POPULARITY * self.log_popularity
        return self.shop.strength * numbers + self.of_brands[self.brand] + self.effect

    def utility(self, users: _Users, user: int, season: int, items: Integers) -> Floats:
        """A user's opinion of items (k,) in a season, without the offset."""
        likes = self.of_categories[season] + self.of_segments[season, users.segments[user]]
        likes = likes + users.categories[user]
        of_price = users.price[user] * self.log_price[items]
        return np.asarray(self._of_items[items] + likes[self.category[items]] + of_price)

    def probability(self, users: _Users, user: int, season: int, items: Integers) -> Floats:
        """The probabilities of a click, (k,)."""
        return self._probability(self.utility(users, user, season, items) + self.offset)

    def _probability(self, utilities: Floats) -> Floats:
        if self.shop.truth == "logistic":
            return np.asarray(expit(utilities))
        return np.clip(self.shop.click_rate * (1.0 + utilities), 0.0, 0.95)

    @cached_property
    def raw(self) -> list[dict[str, object]]:
        """The known attributes of all items; a missing value is None."""
        shop = self.shop
        price, brand, popularity = self.known
        return [
            {
                "price": float(self.price[i]) if price[i] else None,
                "category": shop.categories[self.category[i]],
                "brand": shop.brands[self.brand[i]] if brand[i] else None,
                "popularity": float(self.popularity[i]) if popularity[i] else None,
            }
            for i in range(len(self.price))
        ]


class ShopWorld:
    """One shop with its items, users and visits: what `Shop.world` draws.

    Items, users and visits are numbered from 0. One uniform number per visit decides whether it
    would end in a click on any item. So two methods that play the same world are compared on equal
    terms.

    Parameters
    ----------
    shop : Shop
        The kind of shop.
    n_users : int
        The number of users.
    rng : numpy.random.Generator
        The source of all randomness.

    Attributes
    ----------
    items : list of dict
        The raw attributes of the items of all seasons; a missing value is None.
    visitors : ndarray of int of shape (V,)
        The user of each visit.
    times : ndarray of shape (V,)
        When each visit takes place, in seconds.
    reported : ndarray of shape (V,)
        When a click of the visit is reported, ∞ if never.

    Examples
    --------
    >>> world = hs.environments.Shop(n_items=20).world(seed=1, n_users=50)
    >>> shown = world.best(0)  # what one who knows each user would show
    >>> int(world.probability(0, world.on_sale(0)).argmax()) == shown
    True
    >>> world.click(0, shown)
    False
    """

    def __init__(self, shop: Shop, n_users: int, rng: np.random.Generator) -> None:
        self.shop = shop
        self._users = _Users.drawn(shop, n_users, rng)
        self.visitors, self.times = _visits(shop.mean_visits, n_users, rng)
        n = len(self.visitors)
        self._uniforms = rng.random(n)
        self.reported = _reports(shop, self.times, rng)
        self._opinions = _Opinions.drawn(shop, 1 + (n - 1) // shop.season, rng)
        self._on_sale = [np.flatnonzero(row) for row in self._opinions.on_sale]
        self.items = self._opinions.raw

    def __repr__(self) -> str:
        return (
            f"ShopWorld({len(self.items):,} items, {self.n_users:,} users, "
            f"{self.n_visits:,} visits)"
        )

    @property
    def n_users(self) -> int:
        """The number of users."""
        return len(self._users.segments)

    @property
    def n_visits(self) -> int:
        """The number of visits of all users."""
        return len(self.visitors)

    @property
    def segments(self) -> Integers:
        """The segments of the users by number, (n_users,)."""
        return self._users.segments

    def user(self, user: int) -> dict[str, object]:
        """What is known of a user."""
        return {"segment": self.shop.segments[self._users.segments[user]]}

    def season(self, visit: int) -> int:
        """The season of a visit."""
        return visit // self.shop.season

    def on_sale(self, visit: int) -> Integers:
        """The items that can be shown in a visit."""
        return self._on_sale[self.season(visit)]

    def probability(self, visit: int, items: Sequence[int] | Integers) -> Floats:
        """The probability of a click in this visit for each of the items, if it is shown."""
        chosen = np.asarray(items, dtype=np.int64)
        user = int(self.visitors[visit])
        return self._opinions.probability(self._users, user, self.season(visit), chosen)

    def best(self, visit: int) -> int:
        """The item on sale with the largest probability of a click in this visit."""
        items = self.on_sale(visit)
        return int(items[self.probability(visit, items).argmax()])

    def click(self, visit: int, item: int) -> bool:
        """Whether this visit ends in a click if it is shown this item."""
        return bool(self._uniforms[visit] < self.probability(visit, [item])[0])

    def log(
        self,
        n: int | None = None,
        *,
        policy: Literal["popular", "random"] = "popular",
        seed: int | np.random.Generator = 0,
    ) -> pd.DataFrame:
        """The first visits, as a shop without a bandit would log them.

        Parameters
        ----------
        n : int, optional
            How many visits, by default all.
        policy : {"popular", "random"}, default "popular"
            Show items in proportion to √popularity, or all equally often.
        seed : int or numpy.random.Generator, default 0
            Decides what is shown.

        Returns
        -------
        pandas.DataFrame
            A row per visit: user, segment, item, the item's attributes, click (1.0 or 0.0; a lost
            click is a 0), and the propensity of the item shown.
        """
        import pandas as pd  # noqa: PLC0415 - slow, and only needed for frames

        checks.one_of("policy", policy, ("popular", "random"))
        size = self.n_visits if n is None else checks.count("n", n)
        if size > self.n_visits:
            raise ValueError(f"n must be at most the {self.n_visits} visits, got {n}")
        uniforms = np.random.default_rng(seed).random(size)
        weight = np.sqrt(self._opinions.popularity)
        if policy == "random":
            weight = np.ones(len(weight))
        rows = []
        for visit, uniform in enumerate(uniforms.tolist()):
            items = self.on_sale(visit)
            shares = weight[items] / weight[items].sum()
            at = int((np.cumsum(shares) <= uniform).sum().clip(max=len(items) - 1))
            item, user = int(items[at]), int(self.visitors[visit])
            reported = self.click(visit, item) and bool(np.isfinite(self.reported[visit]))
            rows.append(
                {"user": f"user-{user:04d}", **self.user(user), "item": f"item-{item:04d}"}
                | self.items[item]
                | {"click": float(reported), "propensity": float(shares[at])}
            )
        return pd.DataFrame(rows)


def _names(known: Sequence[str], kind: str, n: int) -> tuple[str, ...]:
    return tuple(known[i] if i < len(known) else f"{kind}-{i}" for i in range(n))


def _on_sale(n_items: int, renewed: int, n_seasons: int, rng: np.random.Generator) -> Booleans:
    """Which items are on sale in every season, (S, I)."""
    on_sale = np.zeros((n_seasons, n_items + renewed * (n_seasons - 1)), dtype=bool)
    on_sale[0, :n_items] = True
    for season in range(1, n_seasons):
        on_sale[season] = on_sale[season - 1]
        gone = rng.choice(np.flatnonzero(on_sale[season]), renewed, replace=False)
        on_sale[season, gone] = False
        first = n_items + renewed * (season - 1)
        on_sale[season, first : first + renewed] = True
    return on_sale


def _visits(mean: float, n_users: int, rng: np.random.Generator) -> tuple[Integers, Floats]:
    """The user and the time of each visit, in order of time.

    Users arrive all the time; some return much more often than others.
    """
    counts = 1 + rng.poisson((mean - 1.0) * rng.gamma(2.0, 0.5, n_users))
    first = np.sort(rng.uniform(0.0, n_users * mean * _SECONDS_PER_VISIT, n_users))
    users = np.repeat(np.arange(n_users), counts)
    gaps = rng.exponential(_SECONDS_BETWEEN, len(users))
    begins = np.cumsum(counts) - counts
    gaps[begins] = 0.0
    total = np.cumsum(gaps)
    times = first[users] + total - total[begins][users]
    order = np.argsort(times, kind="stable")
    return users[order], times[order]


def _reports(shop: Shop, times: Floats, rng: np.random.Generator) -> Floats:
    """When a click of every visit is reported, (V,): at once, late, or never."""
    fate = rng.random(len(times))
    delay = rng.exponential(shop.late_seconds, len(times))
    reported = np.where(fate < shop.lost + shop.late, times + delay, times)
    return np.where(fate < shop.lost, np.inf, reported)
