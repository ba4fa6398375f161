"""Features: a schema of attributes, the one function from raw attributes to numbers."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.features import plain, rows, values
from headstart.features.attributes import Attribute, Number
from headstart.features.columns import Column
from headstart.features.encoding import Fault, Side, numbers_of
from headstart.features.hashing import bucket
from headstart.features.inference import Report, propose
from headstart.features.products import fill_arms
from headstart.features.rows import Rows

# More products of a cross are hashed into this many columns.
CROSS_COLUMNS = 256
_MOST_COLUMNS = 10_000
_MANY_COLUMNS = 500
_PARTS = ("item", "context", "about")
_TIMES = " × "
CONSTANT = "constant"


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedItems:
    """Items as numbers.

    Attributes
    ----------
    matrix : ndarray of shape (K, d_item)
        A row per item.
    ids : sequence of hashable or None
        The items' ids, if they have any.

    Examples
    --------
    >>> features = hs.Features(item=[hs.Number("price"), hs.Flag("new")])
    >>> found = features.encode_items({"tea": {"price": 3, "new": True}, "rum": {"price": 20}})
    >>> found.ids, found.matrix
    (['tea', 'rum'], array([[ 3.,  1.],
           [20.,  0.]]))
    """

    matrix: Floats
    ids: Sequence[Hashable] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedColumns:
    """n rows as numbers, by part, and the faults: values that an attribute does not take."""

    items: Floats  # (n, d_item)
    context: Floats  # (n, c)
    about: Floats  # (n, p)
    faults: Sequence[Fault]


@dataclass(frozen=True, eq=False)
class _Crosses:
    """Which columns are multiplied, in the form that the kernels in `products` take."""

    crosses: Integers  # (n, 5): left, n_left, right, n_right, and its first place
    places: Integers  # the column of each product, cross by cross


@dataclass(frozen=True)
class Features:
    """A schema: the attributes of items, context and tasks, and which pairs are crossed.

    It is one function from (item, context, about) to x, (d,): the columns of the item's attributes,
    of the context's and of the crosses, and last a constant 1.

    Parameters
    ----------
    item, context : sequence of attributes, optional
        The attributes of an item, and of a decision's context: `Number`, `Category`, `Tags`,
        `Vector`, `Flag` or `Date`. If an item and a task both have a "gender", these are
        "item.gender" and "about.gender" in crosses, columns and logs.
    about : sequence of attributes, optional
        The attributes of a task. All arms of a task share them, so they are columns of x only in a
        cross with an attribute of items or context. Together they are z, (p,), on which the
        prior of a task may depend.
    cross : sequence of (str, str), optional
        The names of attributes whose columns are multiplied, each with each. More than 256 products
        of a cross are hashed into 256 columns.
    report : Report, optional
        If `infer` made the schema, why some columns of the log are not attributes.

    Examples
    --------
    >>> features = hs.Features(
    ...     item=[hs.Number("price", mean=20.0, scale=10.0), hs.Category("brand", buckets=2)],
    ...     context=[hs.Category("device", levels=["phone"])],
    ...     cross=[("device", "price")],
    ... )
    >>> features.columns[:5]
    ('price', 'brand#0', 'brand#1', 'device=phone', 'device other')
    >>> features.columns[5:]
    ('device=phone × price', 'device other × price', 'constant')
    >>> features.encode({"price": 35, "brand": "acme"}, {"device": "phone"})
    array([1.5, 0. , 1. , 1. , 0. , 1.5, 0. , 1. ])
    """

    item: Sequence[Attribute] = ()
    context: Sequence[Attribute] = ()
    about: Sequence[Attribute] = ()
    cross: Sequence[tuple[str, str]] = ()
    report: Report | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        for part in _PARTS:
            object.__setattr__(self, part, _attributes(part, getattr(self, part)))
        if not any(getattr(self, part) for part in _PARTS):
            raise ValueError("features must have at least one attribute, got none")
        for part in _PARTS:
            names = [attribute.name for attribute in getattr(self, part)]
            again = next((name for i, name in enumerate(names) if name in names[:i]), None)
            if again is not None:
                raise ValueError(f"{part} must have an attribute once, got {again!r} twice")
        object.__setattr__(self, "cross", self._checked_crosses(self.cross))
        size = sum(len(group) for group in self._group_columns())
        if size > _MOST_COLUMNS:
            raise ValueError(
                f"features must have at most {_MOST_COLUMNS:,} columns, got {size:,}: "
                f"{self._largest_groups()}"
            )
        if len(set(self.columns)) < size or len(set(self.about_columns)) < self.n_about:
            seen: set[str] = set()
            again = next(
                name
                for name in (*self.columns, *self.about_columns)
                if name in seen or seen.add(name)  # type: ignore[func-returns-value]
            )
            raise ValueError(f"columns must have different names, got {again!r} twice")
        if size > _MANY_COLUMNS:
            warnings.warn(
                f"features have d = {size:,} columns, and a decision takes time of order d²: "
                f"{self._largest_groups()}",
                stacklevel=3,
            )

    @cached_property
    def _named(self) -> Mapping[str, Sequence[Attribute]]:
        """The attributes of each part. If two parts have one of a name, it gets the part's."""
        counts = Counter(one.name for part in _PARTS for one in getattr(self, part))
        return {
            part: tuple(
                replace(one, name=f"{part}.{one.name}") if counts[one.name] > 1 else one
                for one in getattr(self, part)
            )
            for part in _PARTS
        }

    def _all(self) -> Iterator[Attribute]:
        return chain(*self._named.values())

    def _checked_crosses(self, given: object) -> tuple[tuple[str, str], ...]:
        crosses = []
        parts = self.parts
        for pair in _listed("cross", given):
            names = () if isinstance(pair, str) else tuple(pair)
            if len(names) != 2 or names[0] == names[1]:
                raise ValueError(f"a cross must be two attributes, got {checks.short(pair)}")
            for name in names:
                if name not in parts:
                    raise ValueError(
                        f"a cross must be of attributes of the schema, got {checks.short(name)}"
                    )
            if parts[names[0]] == parts[names[1]] == "about":
                raise ValueError(
                    "a cross must have an attribute of items or context, got two of tasks: "
                    f"{names[0]!r} and {names[1]!r}"
                )
            crosses.append(names)
        if len({frozenset(pair) for pair in crosses}) < len(crosses):
            raise ValueError(f"a cross must be given once, got {checks.short(crosses)}")
        return tuple(crosses)

    # Its parts

    @cached_property
    def parts(self) -> Mapping[str, str]:
        """Whether each attribute belongs to "item", "context" or "about"."""
        return {one.name: part for part in _PARTS for one in self._named[part]}

    def names_in_logs(self, part: str) -> Mapping[str, str]:
        """The columns of logs that hold the attributes of a part, by the attributes' own names."""
        own = [one.name for one in getattr(self, part)]
        return dict(zip(own, (one.name for one in self._named[part]), strict=True))

    @cached_property
    def attributes(self) -> Mapping[str, Attribute]:
        """The attributes by name."""
        return {attribute.name: attribute for attribute in self._all()}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the d columns of x; the last is the constant."""
        return tuple(name for group in self._group_columns() for name in group)

    @property
    def dimension(self) -> int:
        """d, including the constant."""
        return len(self.columns)

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """The group of every column: an attribute, a cross, or the constant."""
        return tuple(i for i, group in enumerate(self._group_columns()) for _ in group)

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        """The names of the groups: "brand", "device × brand", "constant"."""
        alone = [one.name for part in ("item", "context") for one in self._named[part]]
        return (*alone, *(_TIMES.join(pair) for pair in self.cross), CONSTANT)

    @cached_property
    def about_columns(self) -> tuple[str, ...]:
        """The names of the p columns of z, what is known of tasks."""
        return tuple(name for attribute in self._named["about"] for name in attribute.columns)

    @property
    def n_about(self) -> int:
        """p, the number of columns of tasks."""
        return len(self.about_columns)

    @cached_property
    def n_item(self) -> int:
        """The number of columns of items, without crosses."""
        return sum(len(attribute.columns) for attribute in self.item)

    @cached_property
    def n_context(self) -> int:
        """The number of columns of the context, without crosses."""
        return sum(len(attribute.columns) for attribute in self.context)

    def _group_columns(self) -> list[tuple[str, ...]]:
        alone = [one.columns for part in ("item", "context") for one in self._named[part]]
        return [*alone, *(self._cross_columns(pair) for pair in self.cross), (CONSTANT,)]

    def _cross_columns(self, pair: tuple[str, str]) -> tuple[str, ...]:
        left, right = (self.attributes[name].columns for name in pair)
        if len(left) * len(right) > CROSS_COLUMNS:
            return tuple(f"{_TIMES.join(pair)}#{i}" for i in range(CROSS_COLUMNS))
        return tuple(f"{a}{_TIMES}{b}" for a in left for b in right)

    def _largest_groups(self) -> str:
        sizes = zip(map(len, self._group_columns()), self.group_names, strict=True)
        return ", ".join(f"{name} {size:,}" for size, name in sorted(sizes, reverse=True)[:3])

    @cached_property
    def _sides(self) -> tuple[Side, Side, Side]:
        item, context, about = (
            Side(self._named[part], part, list(self.names_in_logs(part))) for part in _PARTS
        )
        return item, context, about

    @cached_property
    def _products(self) -> _Crosses:
        offset = {"item": 0, "context": self.n_item, "about": self.n_item + self.n_context}
        sides = dict(zip(_PARTS, self._sides, strict=True))
        crosses: list[list[int]] = []
        places: list[int] = []
        at = self.n_item + self.n_context
        for pair in self.cross:
            first = [offset[part := self.parts[name]] + sides[part].first(name) for name in pair]
            left, right = (self.attributes[name].columns for name in pair)
            n = len(left) * len(right)
            crosses.append([first[0], len(left), first[1], len(right), len(places)])
            if n > CROSS_COLUMNS:
                names = (a + _TIMES + b for a in left for b in right)
                places += [at + bucket(name, CROSS_COLUMNS) for name in names]
            else:
                places += range(at, at + n)
            at += min(n, CROSS_COLUMNS)
        return _Crosses(
            np.array(crosses, dtype=np.int64).reshape(-1, 5), np.array(places, dtype=np.int64)
        )

    # From raw attributes to numbers

    def encode(
        self,
        item: Mapping[str, Any] | None,
        context: Mapping[str, Any] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> Floats:
        """The features x (d,) of an item in a context, for a task.

        Attributes that are not given are missing; an unknown attribute raises.

        Parameters
        ----------
        item, context, about : mapping of str to object, optional
            The attributes of the item, of the context and of the task.

        Returns
        -------
        ndarray of shape (d,)
        """
        items = self._sides[0].row(item)[None, :]
        return self.arms(items, self.encode_context(context), self.encode_about(about)).ravel()

    def encode_items(self, items: Rows, without: Collection[str] = ()) -> EncodedItems:
        """Items as numbers.

        Parameters
        ----------
        items : dicts by id or in a list, pandas or Polars frame, or Arrow table
            The items. A pandas index holds their ids. Other columns of a frame are ignored.
        without : collection of str, optional
            Attributes that count as missing.

        Returns
        -------
        EncodedItems
        """
        side = self._sides[0]
        table = rows.read(items, side.names, "items")
        called = self.names_in_logs("item")
        columns = {
            name: column
            for name, column in table.columns.items()
            if called.get(name) not in without
        }
        return EncodedItems(matrix=side.matrix(columns, table.n_rows), ids=table.ids)

    def encode_context(
        self, context: Mapping[str, Any] | None, without: Collection[str] = ()
    ) -> Floats:
        """The columns of the context (c,).

        Parameters
        ----------
        context : mapping of str to object, optional
            The attributes of the context.
        without : collection of str, optional
            Attributes that count as missing.

        Returns
        -------
        ndarray of shape (c,)
        """
        return self._sides[1].row(context, without)

    def encode_about(
        self, about: Mapping[str, Any] | None, without: Collection[str] = ()
    ) -> Floats:
        """What is known of a task, z (p,).

        Parameters
        ----------
        about : mapping of str to object, optional
            The attributes of the task.
        without : collection of str, optional
            Attributes that count as missing.

        Returns
        -------
        ndarray of shape (p,)
        """
        return self._sides[2].row(about, without)

    @cached_property
    def is_fixed(self) -> bool:
        """Whether an item has the same features in every context and for every task."""
        crossed = {self.parts[name] for pair in self.cross for name in pair}
        return not self.context and "about" not in crossed

    def arms(self, items: Floats, context: Floats, about: Floats) -> Floats:
        """The arms (n, d) of items (n, d_item), with one context and task or n of each."""
        contexts, abouts = np.atleast_2d(context), np.atleast_2d(about)
        arms = np.empty((len(items), self.dimension))
        products = self._products
        fill_arms(items, contexts, abouts, products.crosses, products.places, arms)
        return arms

    def encode_log(self, columns: Mapping[str, Any]) -> tuple[Floats, Floats]:
        """The features (n, d) and what is known of tasks (n, p) in a log.

        Parameters
        ----------
        columns : mapping of str to columns of n values
            The log's columns by name. Attributes without a column are missing; other columns are
            ignored.

        Returns
        -------
        tuple of ndarray
        """
        n_rows = len(next(iter(columns.values()))) if columns else 0
        found = self.encode_columns(columns, n_rows)
        for fault in found.faults:
            raise fault.error
        return self.arms(found.items, found.context, found.about), found.about

    def encode_columns(
        self, columns: Mapping[str, Any], n_rows: int, *, is_text: bool = False
    ) -> EncodedColumns:
        """Columns of n rows by name, as numbers; text may mean a number or a list if `is_text`."""
        parts = [np.zeros((n_rows, len(side.columns))) for side in self._sides]
        faults = [
            fault
            for side, matrix in zip(self._sides, parts, strict=True)
            for fault in side.fill(_of(side, columns), matrix, is_text=is_text)
        ]
        return EncodedColumns(items=parts[0], context=parts[1], about=parts[2], faults=faults)

    # Means and scales from data

    @cached_property
    def open(self) -> frozenset[str]:
        """The names of the numbers that have no mean and scale yet, and need them."""
        numbers = (one for one in self._all() if isinstance(one, Number))
        return frozenset(one.name for one in numbers if not one.is_settled)

    @property
    def is_settled(self) -> bool:
        """Whether every number has its mean and scale, or needs none."""
        return not self.open

    def settled(self, *, items: Rows = None, context: Rows = None, about: Rows = None) -> Features:
        """The schema with a mean and scale for every number that had none.

        Parameters
        ----------
        items, context, about : dicts, columns or a frame, optional
            Rows of each, to compute means and scales from. Numbers of a part without rows do not
            change.

        Returns
        -------
        Features

        Examples
        --------
        >>> features = hs.Features(item=[hs.Number("price")])
        >>> settled = features.settled(items=[{"price": 10}, {"price": 30}])
        >>> settled.item[0].mean, settled.item[0].scale
        (20.0, 10.0)
        """
        return self.settled_by(self.open_numbers(items=items, context=context, about=about))

    def open_numbers(
        self, *, items: Rows = None, context: Rows = None, about: Rows = None
    ) -> dict[str, Floats]:
        """The values of open numbers in some rows, by name, without missing ones."""
        found: dict[str, Floats] = {}
        for side, given in zip(self._sides, (items, context, about), strict=True):
            called = {
                name: one.name
                for name, one in zip(side.names, side.attributes, strict=True)
                if one.name in self.open
            }
            if given is not None and called:
                what = "items" if side.what == "item" else side.what
                table = rows.read(given, side.names, what)
                for name in called.keys() & table.columns.keys():
                    found[called[name]] = _numbers(name, table.columns[name])
        return found

    def settled_by(self, numbers: Mapping[str, Floats]) -> Features:
        """The schema with the means and scales of values (n,), by name, for open numbers."""

        def settled(one: Attribute, name: str) -> Attribute:
            values = numbers.get(name)
            return one.settled(values) if isinstance(one, Number) and values is not None else one

        return self if self.open.isdisjoint(numbers) else self._changed(settled)

    def _changed(self, change: Callable[[Attribute, str], Attribute]) -> Features:
        """The schema with every attribute changed; `change` gets its name among all, too."""
        parts: dict[str, Any] = {
            part: tuple(map(change, getattr(self, part), (one.name for one in self._named[part])))
            for part in _PARTS
        }
        return replace(self, **parts)

    def settled_by_log(self, columns: Mapping[str, Any], *, is_text: bool = False) -> Features:
        """The schema with the means and scales of a log's columns, for open numbers.

        Values that are not numbers are ignored here: whoever reads the rows has to refuse them.
        """
        numbers = {}
        for name in self.open.intersection(columns):
            attribute, column = self.attributes[name], Column(columns[name], is_text=is_text)
            assert isinstance(attribute, Number)
            found = column.numbers()
            numbers[name] = numbers_of(attribute, column)[0] if found is None else found
        return self.settled_by(numbers)

    def settled_as(self, other: object) -> Features:
        """The schema with another one's means and scales, for numbers that had none.

        Examples
        --------
        >>> features, other = hs.Features(item=[hs.Number("price")]), [{"price": 10}, {"price": 30}]
        >>> features.settled_as(features.settled(items=other)).item[0].mean
        20.0
        """
        if self.is_settled:
            return self

        def settled(one: Attribute, name: str) -> Attribute:
            like = other.attributes.get(name) if isinstance(other, Features) else None
            if not isinstance(one, Number) or not isinstance(like, Number) or one.is_settled:
                return one
            return replace(one, mean=like.mean, scale=like.scale)

        return self._changed(settled)

    # From data alone

    @classmethod
    def infer(
        cls,
        log: Any,
        *,
        reward: str = "reward",
        task: str = "task",
        item: str | None = None,
        leave_out: Sequence[str] = (),
    ) -> Features:
        """A first proposal of a schema, from a log.

        A column that is constant within every task belongs to tasks, a function of the item belongs
        to items, and all others to the context. Categories are crossed where that improves the
        prediction of rewards in tasks that were not used to fit it. Ids, constants, columns that
        seem to follow from the reward, and attributes of tasks that a bandit would not use, are
        left out. `print` shows the schema as code to edit; `report` says what was
        left out, and why.

        Parameters
        ----------
        log : path, frame, columns or dicts
            A CSV or Parquet file, or a table in memory. Only the first 100,000 rows are read.
        reward, task : str, default "reward" and "task"
            The columns of these.
        item : str, optional
            The column that names the item. By default it is guessed.
        leave_out : sequence of str, optional
            Columns that must not become features.

        Returns
        -------
        Features

        Examples
        --------
        >>> import pandas as pd
        >>> rng = np.random.default_rng(0)
        >>> log = pd.DataFrame({"user": rng.integers(50, size=500)})
        >>> log["item"] = rng.integers(9, size=500)
        >>> log["brand"] = log["item"].map(lambda i: ["acme", "other", "best"][i % 3])
        >>> log["device"] = rng.choice(["phone", "desktop"], size=500)
        >>> log["click"] = rng.integers(2, size=500)
        >>> features = hs.Features.infer(log, reward="click", task="user")
        >>> print(features)
        hs.Features(
            item=[
                hs.Category("brand", levels=["best", "other", "acme"]),
            ],
            context=[
                hs.Category("device", levels=["phone", "desktop"]),
            ],
        )
        # column 'item' seems to name the item
        # left out: click: it is the reward
        # left out: user: it names the task
        # left out: item: it names the item
        """
        found = propose(log, reward=reward, task=task, item=item, leave_out=leave_out)
        return cls(
            item=found.item,
            context=found.context,
            about=found.about,
            cross=found.cross,
            report=found.report,
        )

    def __str__(self) -> str:
        """The schema as code to edit, with its report as comments."""
        parts = []
        for part in _PARTS:
            lines = [f"        {plain.code(one)}," for one in getattr(self, part)]
            parts += [f"    {part}=[", *lines, "    ],"] if lines else []
        if self.cross:
            parts.append(f"    cross={plain.literal(list(self.cross))},")
        report = [] if self.report is None else [str(self.report)]
        return "\n".join(["hs.Features(", *parts, ")", *report])

    # As data

    def plain(self) -> dict[str, Any]:
        """As plain data, for JSON, TOML and messages."""
        found: dict[str, Any] = {
            part: [plain.describe(one) for one in getattr(self, part)]
            for part in _PARTS
            if getattr(self, part)
        }
        if self.cross:
            found["cross"] = [list(pair) for pair in self.cross]
        return found

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Features:
        """The schema that plain data describe.

        Parameters
        ----------
        table : mapping of str to object
            What `plain` returned.

        Returns
        -------
        Features

        Examples
        --------
        >>> hs.Features.from_plain({"item": [{"type": "flag", "name": "new"}]}).columns
        ('new', 'constant')
        """
        if not isinstance(table, Mapping):
            raise ValueError(f"features must be a table, got {checks.short(table)}")
        known = (*_PARTS, "cross")
        for name in table:
            if name not in known:
                raise ValueError(
                    f"features.{name} is not a part of a schema; the parts are {', '.join(known)}"
                )
        given: dict[str, Any] = {
            part: [
                plain.read(one, f"features.{part}[{i}]")
                for i, one in enumerate(_listed(f"features.{part}", table.get(part, ())))
            ]
            for part in _PARTS
        }
        return cls(**given, cross=table.get("cross", ()))

    def to_json(self) -> str:
        """As JSON, one attribute per line.

        >>> features = hs.Features(item=[hs.Number("price", log=True), hs.Category("brand")])
        >>> print(features.to_json())
        {
          "item": [
            {"type": "number", "name": "price", "log": true},
            {"type": "category", "name": "brand"}
          ]
        }
        """
        parts = []
        for name, value in self.plain().items():
            text = json.dumps(value, ensure_ascii=False)
            if isinstance(value, list):
                lines = ",\n".join(f"    {json.dumps(one, ensure_ascii=False)}" for one in value)
                text = f"[\n{lines}\n  ]"
            parts.append(f'  "{name}": {text}')
        return "{\n" + ",\n".join(parts) + "\n}"

    @classmethod
    def from_json(cls, given: str | bytes | Mapping[str, Any]) -> Features:
        """The schema in JSON, as text or parsed.

        Parameters
        ----------
        given : str, bytes or mapping
            The text that `to_json` returned, or its content.

        Returns
        -------
        Features
        """
        if isinstance(given, Mapping):
            return cls.from_plain(given)
        try:
            table = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"features must be JSON: {error}") from error
        return cls.from_plain(table)


def _of(side: Side, columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a log that hold a side's attributes, by the names these have in rows."""
    pairs = zip(side.names, side.attributes, strict=True)
    return {name: columns[one.name] for name, one in pairs if one.name in columns}


def _listed(what: str, given: object) -> tuple[Any, ...]:
    if isinstance(given, str | Mapping) or not hasattr(given, "__iter__"):
        raise ValueError(f"{what} must be a list, got {checks.short(given)}")
    return tuple(given)


def _attributes(part: str, given: object) -> tuple[Attribute, ...]:
    found = _listed(part, given)
    for one in found:
        if not isinstance(one, Attribute):
            raise ValueError(
                f"{part} must be attributes such as hs.Number, got {checks.short(one)}"
            )
    return found


def _numbers(name: str, given: Any) -> Floats:
    """The numbers of a column, without missing ones."""
    column = Column(given)
    numbers = column.numbers()
    if numbers is None:
        present = (value for value in column.listed() if not values.is_missing(value))
        numbers = np.array([values.number(name, value) for value in present])
    return numbers[~np.isnan(numbers)]
