"""Ratings from pandas, Polars, CSV and Parquet."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.rated import random_rows

from headstart.environments import Ratings

ROWS = random_rows(seed=3)
COLUMNS = ["who", "what", "stars"]
NAMES = {"user": "who", "item": "what", "rating": "stars"}


def _same(one: Ratings, two: Ratings) -> bool:
    """Whether two tables hold the same ratings, whatever the names are."""
    return np.array_equal(one.table.matrix().toarray(), two.table.matrix().toarray())


def test_every_source_gives_the_same_table(tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=COLUMNS)
    frame.to_csv(tmp_path / "r.csv", index=False)
    frame.to_parquet(tmp_path / "r.parquet")
    one = Ratings.from_frame(frame, **NAMES, dimension=4)
    assert one.dimension == 4
    polars = pl.DataFrame(ROWS, schema=COLUMNS, orient="row")
    assert _same(one, Ratings.from_frame(polars, **NAMES))
    assert _same(one, Ratings.from_file(tmp_path / "r.parquet", **NAMES))
    # Names from a CSV file are text; those of `random_rows` sort alike up to their length.
    by_text = frame.assign(who=frame["who"].astype(str), what=frame["what"].astype(str))
    assert _same(
        Ratings.from_frame(by_text, **NAMES), Ratings.from_file(tmp_path / "r.csv", **NAMES)
    )


def test_text_names_from_polars() -> None:
    frame = pl.DataFrame({"user": ["a", "b", "a"], "item": ["x", "x", "y"], "rating": [1, 2, 3]})
    assert Ratings.from_frame(frame).table.shape == (2, 2)


def test_a_missing_name_in_a_polars_frame_is_found() -> None:
    frame = pl.DataFrame({"user": ["a", None], "item": ["x", "x"], "rating": [1, 2]})
    with pytest.raises(ValueError, match="the frame, row 1: the user must not be empty"):
        Ratings.from_frame(frame)


def test_leading_zeros_of_a_csv_name_count(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("user,item,rating\n7,1,5\n007,1,5\n")
    assert Ratings.from_file(file).table.shape == (2, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have a header with columns 'user', 'item', 'rating', got nothing"),
        ("user,item,rating\n", "must hold at least one rating, got none"),
        ("user;item;rating\n1;2;3\n", r"must have a column 'user', got .*a wrong separator\?"),
        ("user,item,stars\n1,2,3\n", "must have a column 'rating', got columns 'user', 'item', 's"),
        ("user,item,rating\n1,2,3\n1,3,good\n", "line 3: the rating must be a finite .*'good'"),
        ("user,item,rating\n1,2,3\n\n1,3,4\n", "line 3: the user must not be empty"),
        ("user,item,rating\n1,2,3\n1,2,4\n", "line 3: user 1 rated item 2 already in line 2"),
        ("user,item,rating\n1,2,3\n1,2,3,4,5\n", "must be a CSV file.*line 3"),
    ],
)
def test_a_bad_csv_file_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=message) as raised:
        Ratings.from_file(file)
    assert str(file) in str(raised.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in .csv or .parquet"):
        Ratings.from_file(tmp_path / "ratings.xlsx")
    with pytest.raises(FileNotFoundError, match="no such file of ratings"):
        Ratings.from_file(tmp_path / "ratings.csv")
    (tmp_path / "ratings.parquet").write_text("no")
    with pytest.raises(ValueError, match="must be a Parquet file"):
        Ratings.from_file(tmp_path / "ratings.parquet")
