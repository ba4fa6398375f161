"""The two published sets of the paper: how their files are written and what they must hold."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from headstart.datasets.locations import locate, mend
from headstart.datasets.table import RatingTable


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published set: its address, its file of ratings, its format, its contents.

    `kept` is users, items and ratings after the paper's filter. No checksum: the publishers' pages
    give none that we could confirm, so what arrives is judged by its contents.
    """

    name: str
    title: str
    url: str
    folder: str
    file: str
    separator: str
    columns: tuple[str, ...]
    header: bool
    least: int
    most: int | None
    rows: int
    users: int
    items: int
    min_item_ratings: int
    min_user_ratings: int
    kept: tuple[int, int, int]


LASTFM = Published(
    name="lastfm",
    title="LastFM (HetRec 2011)",
    url="https://files.grouplens.org/datasets/hetrec2011/hetrec2011-lastfm-2k.zip",
    folder="hetrec2011-lastfm-2k",
    file="user_artists.dat",
    separator="\t",
    columns=("userID", "artistID", "weight"),
    header=True,
    least=1,
    most=None,
    rows=92_834,
    users=1_892,
    items=17_632,
    min_item_ratings=30,
    min_user_ratings=30,
    kept=(741, 538, 27_429),
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
    least=1,
    most=5,
    rows=1_000_209,
    users=6_040,
    items=3_706,
    min_item_ratings=500,
    min_user_ratings=200,
    kept=(847, 618, 246_389),
)

PUBLISHED = {published.name: published for published in (LASTFM, MOVIELENS)}


def load(published: Published, data: str | Path | None = None) -> RatingTable:
    """The whole table of a published set, checked; read once a process and file.

    `data` is the folder that holds the files; without it, see `places.locate`.
    """
    file = find(published, data)
    status = file.stat()
    try:
        return _load(published, file, status.st_size, status.st_mtime_ns)
    except ValueError as error:
        raise ValueError(f"{error}. {mend(published.name, data)}") from error


def kept(published: Published, data: str | Path | None = None) -> RatingTable:
    """What the paper's filter leaves of a published set."""
    return _filtered(published, load(published, data))


def _filtered(published: Published, table: RatingTable) -> RatingTable:
    return table.filtered(
        item_ratings=published.min_item_ratings, user_ratings=published.min_user_ratings
    )


def find(published: Published, data: str | Path | None = None) -> Path:
    """The file of ratings of a published set, unread."""
    return locate(published.folder, published.file, command=published.name, data=data)


@lru_cache(maxsize=4)
def _load(published: Published, file: Path, size: int, changed: int) -> RatingTable:
    """Read a file; its size and time of change are there to tell a new one from an old."""
    return check(published, read(published, file))


def check(published: Published, table: RatingTable) -> RatingTable:
    """The same table, if it holds what was published and filters to what the paper kept."""
    got, wanted = (len(table), *table.shape), (published.rows, published.users, published.items)
    if got != wanted:
        raise ValueError(
            f"{table.source} must hold {_listed(wanted, 'ratings', 'users', 'items')}, "
            f"got {_listed(got, 'ratings', 'users', 'items')}"
        )
    filtered = _filtered(published, table)
    left = (*filtered.shape, len(filtered))
    if left != published.kept:
        raise ValueError(
            f"{table.source} must keep {_listed(published.kept, 'users', 'items', 'ratings')} of "
            f"items with {published.min_item_ratings} and users with {published.min_user_ratings} "
            f"ratings, got {_listed(left, 'users', 'items', 'ratings')}"
        )
    return table


def read(published: Published, file: Path) -> RatingTable:
    """The table in a file of the published format, or an error naming file, line and format."""
    # Latin-1 cannot fail: a stray byte becomes a character that is no digit.
    text = file.read_bytes().decode("latin-1").replace("\r\n", "\n")
    lines, first = text.removesuffix("\n").split("\n"), 1
    if not text.strip():
        raise ValueError(f"{file} must hold ratings, and it is empty")
    if published.header:
        header = published.separator.join(published.columns)
        if lines[0] != header:
            raise ValueError(f"{file}, line 1: expected the header {header!r}, got {lines[0]!r}")
        lines, first = lines[1:], 2
    if not any(lines):
        raise ValueError(f"{file} must hold ratings, got only a header")
    try:
        # A tab in place of the right separator would otherwise go unnoticed.
        stray = published.separator != "\t" and "\t" in text
        body = [line.replace(published.separator, "\t") for line in lines]
        numbers = np.loadtxt(body, dtype=np.int64, delimiter="\t", comments=None, ndmin=2)
        fits = not stray and numbers.shape == (len(lines), len(published.columns))
    except ValueError:
        fits = False
    if not fits:
        raise _malformed(published, file, lines, first)
    users, items, ratings = numbers[:, 0], numbers[:, 1], numbers[:, 2]
    most = np.inf if published.most is None else published.most
    outside = (ratings < published.least) | (ratings > most)
    if outside.any():
        index = int(outside.argmax())
        bounds = (
            f"at least {published.least}"
            if published.most is None
            else (f"from {published.least} to {published.most}")
        )
        name, value = published.columns[2], ratings[index]
        raise ValueError(f"{file}, line {first + index}: {name} must be {bounds}, got {value}")
    return RatingTable.from_columns(
        users, items, ratings, source=str(file), row="line", first=first
    )


def _malformed(published: Published, file: Path, lines: list[str], first: int) -> ValueError:
    """Find the line that cannot be read."""
    expected = published.separator.join(published.columns)
    number = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")
    for index, line in enumerate(lines):
        parts = line.split(published.separator)
        whole = len(parts) == len(published.columns)
        if not whole or not all(number.fullmatch(part) for part in parts):
            shown = line if len(line) <= 60 else f"{line[:57]}..."
            return ValueError(
                f"{file}, line {first + index}: expected whole numbers {expected!r}, got {shown!r}"
            )
    return ValueError(f"{file} must hold whole numbers {expected!r} in every line")


def _listed(counts: tuple[int, ...], *names: str) -> str:
    return ", ".join(f"{count:,} {name}" for count, name in zip(counts, names, strict=True))
