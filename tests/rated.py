"""Random ratings, and files of them in the publishers' formats."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from tests.needs import missing

from headstart.datasets.published import Published
from headstart.datasets.table import RatingTable
from headstart.environments import DataMissing

Made = TypeVar("Made")


def random_rows(
    *, users: int = 40, items: int = 30, density: float = 0.6, seed: int = 0
) -> list[tuple[int, int, int]]:
    """User, item, rating from 1 to 5, each pair at most once, in random order."""
    rng = np.random.default_rng(seed)
    rated = np.argwhere(rng.random((users, items)) < density)
    stars = rng.integers(1, 6, size=len(rated))
    rows = [(int(u) + 1, int(i) + 101, int(s)) for (u, i), s in zip(rated, stars, strict=True)]
    return [rows[i] for i in rng.permutation(len(rows))]


def as_table(rows: list[tuple[int, int, int]]) -> RatingTable:
    """The rows as a table."""
    users, items, ratings = np.array(rows).T
    return RatingTable.from_columns(users, items, ratings, source="test")


def random_table(
    *, users: int = 40, items: int = 30, density: float = 0.6, seed: int = 0
) -> RatingTable:
    """A table of random ratings."""
    return as_table(random_rows(users=users, items=items, density=density, seed=seed))


def as_text(published: Published, rows: list[tuple[int, int, int]]) -> str:
    """The rows as the publisher would write them."""
    end = "\r\n" if published.header else "\n"
    extra = (0,) * (len(published.columns) - 3)
    lines = [published.separator.join(map(str, (*row, *extra))) for row in rows]
    if published.header:
        lines.insert(0, published.separator.join(published.columns))
    return end.join(lines) + end


def tiny(published: Published, rows: list[tuple[int, int, int]], least: int = 5) -> Published:
    """The same format, as if these rows had been published."""
    table = as_table(rows)
    filtered = table.filtered(item_ratings=least, user_ratings=least)
    return replace(
        published,
        n_ratings=len(rows),
        n_users=table.shape[0],
        n_items=table.shape[1],
        min_item_ratings=least,
        min_user_ratings=least,
        filtered=(*filtered.shape, len(filtered)),
    )


def write_file(published: Published, text: str, folder: Path) -> Path:
    """Write the file of ratings to where it is searched."""
    file = folder / published.folder / published.file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, newline="")
    return file


def real(make: Callable[[], Made]) -> Made:
    """What is made from real data; without them the test is skipped."""
    try:
        return make()
    except DataMissing as error:
        missing("data", str(error))
