"""The paper's two published data sets: the format of their files, and what they must hold."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from headstart.arrays import Integers
from headstart.datasets.locations import fetch_hint, locate
from headstart.datasets.table import RatingTable


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published data set: its address, its file of ratings, its format, its contents.

    `filtered` is users, items and ratings after the paper's filter. There is no checksum: the
    publishers' pages give none that we could confirm, so a download is checked by its contents.
    """

    name: str
    title: str
    url: str
    folder: str
    file: str
    separator: str
    columns: tuple[str, ...]
    header: bool
    min_rating: int
    max_rating: int | None
    n_ratings: int
    n_users: int
    n_items: int
    min_item_ratings: int
    min_user_ratings: int
    filtered: tuple[int, int, int]


LASTFM = Published(
    name="lastfm",
    title="LastFM (HetRec 2011)",
    url="https://files.grouplens.org/datasets/hetrec2011/hetrec2011-lastfm-2k.zip",
    folder="hetrec2011-lastfm-2k",
    file="user_artists.dat",
    separator="\t",
    columns=("userID", "artistID", "weight"),
    header=True,
    min_rating=1,
    max_rating=None,
    n_ratings=92_834,
    n_users=1_892,
    n_items=17_632,
    min_item_ratings=30,
    min_user_ratings=30,
    filtered=(741, 538, 27_429),
)

MOVIELENS = Published(
    name="movielens",
    title="MovieLens-1M",
    url="https://files.grouplens.org/datasets/movielens/ml-1m.zip",
    folder="ml-1m",
    file="ratings.dat",
    separator="::",
    columns=("UserID", "MovieID", "Rating", "Timestamp"),
    header=False,
    min_rating=1,
    max_rating=5,
    n_ratings=1_000_209,
    n_users=6_040,
    n_items=3_706,
    min_item_ratings=500,
    min_user_ratings=200,
    filtered=(847, 618, 246_389),
)

PUBLISHED = {published.name: published for published in (LASTFM, MOVIELENS)}


def load(published: Published, data: str | Path | None = None) -> RatingTable:
    """The table of a published data set, checked; each file is read once per process.

    `data` is the folder that holds the files; without it, see `locations.folders`.
    """
    file = find(published, data)
    status = file.stat()
    try:
        return _load(published, file, status.st_size, status.st_mtime_ns)
    except ValueError as error:
        raise ValueError(f"{error}. {fetch_hint(published.name, data)}") from error


def load_filtered(published: Published, data: str | Path | None = None) -> RatingTable:
    """The ratings of a published data set that pass the paper's filter."""
    return _filter(published, load(published, data))


def _filter(published: Published, table: RatingTable) -> RatingTable:
    return table.filtered(
        item_ratings=published.min_item_ratings, user_ratings=published.min_user_ratings
    )


def find(published: Published, data: str | Path | None = None) -> Path:
    """The path of a published data set's ratings."""
    return locate(published.folder, published.file, command=published.name, data=data)


@lru_cache(maxsize=4)
def _load(published: Published, file: Path, size: int, changed: int) -> RatingTable:
    """Read a file; its size and time of change are part of the cache's key."""
    return check(published, read(published, file))


def check(published: Published, table: RatingTable) -> RatingTable:
    """The same table, checked against the published numbers before and after the paper's filter."""
    got = (len(table), *table.shape)
    expected = (published.n_ratings, published.n_users, published.n_items)
    if got != expected:
        raise ValueError(
            f"{table.source} must hold {_listed(expected, 'ratings', 'users', 'items')}, "
            f"got {_listed(got, 'ratings', 'users', 'items')}"
        )
    filtered = _filter(published, table)
    left = (*filtered.shape, len(filtered))
    if left != published.filtered:
        raise ValueError(
            f"{table.source} must keep {_listed(published.filtered, 'users', 'items', 'ratings')} "
            f"of items with {published.min_item_ratings} and users with "
            f"{published.min_user_ratings} ratings, "
            f"got {_listed(left, 'users', 'items', 'ratings')}"
        )
    return table


def read(published: Published, file: Path) -> RatingTable:
    """The table in a file of the published format, or an error naming file, line and format."""
    # Latin-1 decodes every byte: a wrong one becomes a character that is not a digit.
    text = file.read_bytes().decode("latin-1").replace("\r\n", "\n")
    lines, first = text.removesuffix("\n").split("\n"), 1
    if not text.strip():
        raise ValueError(f"{file} must hold ratings, but it is empty")
    if published.header:
        header = published.separator.join(published.columns)
        if lines[0] != header:
            raise ValueError(f"{file}, line 1: expected the header {header!r}, got {lines[0]!r}")
        lines, first = lines[1:], 2
    if not any(lines):
        raise ValueError(f"{file} must hold ratings, got only a header")
    numbers = _parse(published, lines)
    if numbers is None:
        raise _malformed(published, file, lines, first)
    users, items, ratings = numbers[:, 0], numbers[:, 1], numbers[:, 2]
    highest = np.inf if published.max_rating is None else published.max_rating
    outside = (ratings < published.min_rating) | (ratings > highest)
    if outside.any():
        index = int(outside.argmax())
        bounds = (
            f"at least {published.min_rating}"
            if published.max_rating is None
            else (f"from {published.min_rating} to {published.max_rating}")
        )
        name, value = published.columns[2], ratings[index]
        raise ValueError(f"{file}, line {first + index}: {name} must be {bounds}, got {value}")
    return RatingTable.from_columns(
        users, items, ratings, source=str(file), unit="line", first=first
    )


def _parse(published: Published, lines: list[str]) -> Integers | None:
    """The lines as whole numbers, (n, columns); None if any line has another format."""
    # A tab instead of the published separator would otherwise be accepted.
    if published.separator != "\t" and any("\t" in line for line in lines):
        return None
    tabbed = [line.replace(published.separator, "\t") for line in lines]
    try:
        numbers = np.loadtxt(tabbed, dtype=np.int64, delimiter="\t", comments=None, ndmin=2)
    except ValueError:
        return None
    return numbers if numbers.shape == (len(lines), len(published.columns)) else None


def _malformed(published: Published, file: Path, lines: list[str], first: int) -> ValueError:
    """The error for the first line in another format."""
    expected = published.separator.join(published.columns)
    number = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")
    for index, line in enumerate(lines):
        parts = line.split(published.separator)
        complete = len(parts) == len(published.columns)
        if not complete or not all(number.fullmatch(part) for part in parts):
            shown = line if len(line) <= 60 else f"{line[:57]}..."
            return ValueError(
                f"{file}, line {first + index}: expected whole numbers {expected!r}, got {shown!r}"
            )
    return ValueError(f"{file} must hold whole numbers {expected!r} in every line")


def _listed(counts: tuple[int, ...], *names: str) -> str:
    return ", ".join(f"{count:,} {name}" for count, name in zip(counts, names, strict=True))
