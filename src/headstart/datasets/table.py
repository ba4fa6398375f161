"""RatingTable: users, items and ratings, one row per rating."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headstart import checks
from headstart.arrays import Booleans, Floats, Integers

if TYPE_CHECKING:
    from scipy import sparse


class Frame(Protocol):
    """The parts of a data frame in use, which pandas and Polars both have."""

    @property
    def columns(self) -> Iterable[Any]:
        """The names of the columns."""
        ...

    def __getitem__(self, column: str, /) -> Any:
        """One column, with `to_numpy`."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class RatingTable:
    """Ratings of items by users, each pair at most once.

    Parameters
    ----------
    users, items : ndarray of int of shape (n,)
        Indices into `user_names` and `item_names`.
    ratings : ndarray of shape (n,)
        The ratings.
    user_names, item_names : ndarray
        The names, sorted; each one occurs.
    source : str
        Names the origin of the rows in errors.

    Examples
    --------
    >>> from headstart.datasets import RatingTable
    >>> table = RatingTable.from_columns(
    ...     np.array(["ann", "bob", "ann"]),
    ...     np.array(["tea", "tea", "rum"]),
    ...     np.array([5.0, 4.0, 1.0]),
    ...     source="my table",
    ... )
    >>> table.shape, table.user_names.tolist()
    ((2, 2), ['ann', 'bob'])
    """

    users: Integers
    items: Integers
    ratings: Floats
    user_names: NDArray[Any]
    item_names: NDArray[Any]
    source: str

    @classmethod
    def from_frame(cls, frame: Frame, *, user: str, item: str, rating: str) -> RatingTable:
        """The table in three columns of a frame.

        Parameters
        ----------
        frame : pandas or Polars DataFrame
            The ratings, a row each.
        user, item, rating : str
            The names of the columns.

        Returns
        -------
        RatingTable
        """
        return _columns(frame, (user, item, rating), source="the frame", unit="row", first=0)

    @classmethod
    def from_file(cls, path: str | Path, *, user: str, item: str, rating: str) -> RatingTable:
        """The table in three columns of a file.

        Parameters
        ----------
        path : str or Path
            A CSV file with a header, or a Parquet file.
        user, item, rating : str
            The names of the columns.

        Returns
        -------
        RatingTable
        """
        file = Path(path)
        endings = {".csv": _read_csv, ".parquet": _read_parquet}
        if file.suffix.lower() not in endings:
            raise ValueError(f"the file must end in .csv or .parquet, got {file}")
        if not file.is_file():
            raise FileNotFoundError(f"no such file of ratings: {file}")
        return endings[file.suffix.lower()](file, (user, item, rating))

    @classmethod
    def from_columns(
        cls,
        users: NDArray[Any],
        items: NDArray[Any],
        ratings: NDArray[Any],
        *,
        source: str,
        unit: str = "row",
        first: int = 0,
    ) -> RatingTable:
        """Check three columns and encode the names.

        Parameters
        ----------
        users, items, ratings : ndarray of shape (n,)
            The columns.
        source : str
            Names the origin of the rows in errors.
        unit : str, default "row"
            What errors count: "row", or "line" for a file.
        first : int, default 0
            The number of the first: 0 for rows, 2 for the lines of a file with a header.

        Returns
        -------
        RatingTable
        """

        def refuse(index: int, problem: str) -> ValueError:
            return ValueError(f"{source}, {unit} {first + index}: {problem}")

        if not len(users) == len(items) == len(ratings):
            sizes = (len(users), len(items), len(ratings))
            raise ValueError(
                f"{source} must have equally many users, items and ratings, got {sizes}"
            )
        if len(ratings) == 0:
            raise ValueError(f"{source} must hold at least one rating, got none")
        for name, column in (("user", users), ("item", items)):
            empty = _missing(column)
            if empty.any():
                raise refuse(int(empty.argmax()), f"the {name} must not be empty")
        values = _numbers(ratings)
        bad = ~np.isfinite(values)
        if bad.any():
            index = int(bad.argmax())
            raise refuse(index, f"the rating must be a finite number, got {ratings[index]!r}")
        user_names, user_codes = _encoded(users, f"{source}: users")
        item_names, item_codes = _encoded(items, f"{source}: items")
        pairs = user_codes * len(item_names) + item_codes
        order = np.argsort(pairs, kind="stable")
        again = np.flatnonzero(pairs[order][1:] == pairs[order][:-1])
        if len(again):
            second = int(order[again + 1].min())
            earlier = int(np.flatnonzero(pairs == pairs[second])[0])
            raise refuse(
                second,
                f"user {users[second]} rated item {items[second]} already in {unit} "
                f"{first + earlier}; expected one rating per pair (add or average them beforehand)",
            )
        return cls(
            users=user_codes,
            items=item_codes,
            ratings=values,
            user_names=user_names,
            item_names=item_names,
            source=source,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The number of users and the number of items."""
        return len(self.user_names), len(self.item_names)

    def __len__(self) -> int:
        """The number of ratings."""
        return len(self.ratings)

    def matrix(self) -> sparse.csr_array[np.float64, tuple[int, int]]:
        """The ratings as a sparse matrix, users by items."""
        from scipy import sparse  # noqa: PLC0415 - takes half a second to import

        return sparse.csr_array((self.ratings, (self.users, self.items)), shape=self.shape)

    def filtered(self, *, item_ratings: int, user_ratings: int) -> RatingTable:
        """Keep items with enough ratings, then users with enough ratings of those.

        This happens once, as in the paper: afterwards an item may have fewer than `item_ratings`.
        """
        return _filtered(
            self,
            checks.count("min_item_ratings", item_ratings, least=0),
            checks.count("min_user_ratings", user_ratings, least=0),
        )

    def _where(self, keep: Booleans) -> RatingTable:
        users, user_codes = np.unique(self.users[keep], return_inverse=True)
        items, item_codes = np.unique(self.items[keep], return_inverse=True)
        return RatingTable(
            users=user_codes,
            items=item_codes,
            ratings=self.ratings[keep],
            user_names=self.user_names[users],
            item_names=self.item_names[items],
            source=self.source,
        )


# A study builds many environments on one table.
@lru_cache(maxsize=8)
def _filtered(table: RatingTable, item_ratings: int, user_ratings: int) -> RatingTable:
    keep = np.bincount(table.items)[table.items] >= item_ratings
    often = np.bincount(table.users[keep], minlength=table.shape[0]) >= user_ratings
    keep &= often[table.users]
    if not keep.any():
        raise ValueError(
            f"the filter leaves none of the {len(table)} ratings in {table.source}, "
            f"with min_item_ratings={item_ratings} and min_user_ratings={user_ratings}"
        )
    return table if keep.all() else table._where(keep)


def _numbers(column: NDArray[Any]) -> Floats:
    """The column as numbers; NaN for entries that are not numbers."""
    try:
        return np.array(column, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([_number(value) for value in column], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def _missing(column: NDArray[Any]) -> Booleans:
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind == "O":
        missing = [value is None or value == "" or _is_nan(value) for value in column]
        return np.array(missing, dtype=np.bool_)
    return np.asarray(column == "") if column.dtype.kind == "U" else np.zeros(len(column), bool)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _encoded(column: NDArray[Any], what: str) -> tuple[NDArray[Any], Integers]:
    try:
        names, codes = np.unique(column, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"{what} must all be numbers or all be text, got a mixture") from error
    return names, np.asarray(codes, dtype=np.int64)


def _read_csv(file: Path, names: tuple[str, str, str]) -> RatingTable:
    import pandas as pd  # noqa: PLC0415 - slow, and only needed for files

    try:
        # Names are text, so that 007 is not 7; blank lines count, so that line numbers are right.
        frame = pd.read_csv(file, dtype=str, keep_default_na=False, skip_blank_lines=False)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{file} must have a header with {_listed(names)}, got nothing") from None
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        problem = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise ValueError(f"{file} must be a CSV file in UTF-8: {problem}") from error
    return _columns(frame, names, source=str(file), unit="line", first=2)


def _read_parquet(file: Path, names: tuple[str, str, str]) -> RatingTable:
    import pandas as pd  # noqa: PLC0415 - as above

    try:
        frame = pd.read_parquet(file)
    except (ValueError, OSError) as error:
        raise ValueError(f"{file} must be a Parquet file: {error}") from error
    return _columns(frame, names, source=str(file), unit="row", first=0)


def _columns(
    frame: Frame, names: tuple[str, str, str], *, source: str, unit: str, first: int
) -> RatingTable:
    known = [str(name) for name in frame.columns]
    for name in names:
        if name not in known:
            hint = " (a wrong separator?)" if len(known) == 1 else ""
            raise ValueError(f"{source} must have a column {name!r}, got {_listed(known)}{hint}")
    users, items, ratings = (np.asarray(frame[name].to_numpy()) for name in names)
    return RatingTable.from_columns(users, items, ratings, source=source, unit=unit, first=first)


def _listed(names: Iterable[str]) -> str:
    return "columns " + ", ".join(repr(name) for name in names)
