"""The publishers' formats: read, checked, and refused with file, line and what was expected."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.rated import as_text, random_rows, tiny, write_file

from headstart.datasets import locations
from headstart.datasets.locations import DataMissing
from headstart.datasets.published import LASTFM, MOVIELENS, PUBLISHED, Published, load, read

ROWS = random_rows(seed=5)
both = pytest.mark.parametrize("source", PUBLISHED.values(), ids=PUBLISHED.keys())


@both
def test_what_is_written_is_read(source: Published, tmp_path: Path) -> None:
    write_file(source, as_text(source, ROWS), tmp_path)
    table = load(tiny(source, ROWS), tmp_path)
    back = zip(
        table.user_names[table.users], table.item_names[table.items], table.ratings, strict=True
    )
    assert [tuple(map(int, row)) for row in back] == ROWS


@both
def test_a_file_is_read_once_and_again_when_it_changes(source: Published, tmp_path: Path) -> None:
    small = tiny(source, ROWS)
    file = write_file(source, as_text(source, ROWS), tmp_path)
    assert load(small, tmp_path) is load(small, tmp_path)
    file.write_text(as_text(source, ROWS[:-1]), newline="")
    with pytest.raises(ValueError, match="must hold"):
        load(small, tmp_path)


@both
def test_the_file_may_be_in_the_folder_itself(source: Published, tmp_path: Path) -> None:
    write_file(source, as_text(source, ROWS), tmp_path)
    assert len(load(tiny(source, ROWS), tmp_path / source.folder)) == len(ROWS)


@both
def test_other_contents_are_refused(source: Published, tmp_path: Path) -> None:
    file = write_file(source, as_text(source, ROWS), tmp_path)
    with pytest.raises(ValueError, match=f"must hold {source.n_ratings:,} ratings") as raised:
        load(source, tmp_path)
    assert str(file) in str(raised.value)
    assert f"headstart data fetch {source.name} --data {tmp_path}" in str(raised.value)


@both
def test_another_shape_after_the_filter_is_refused(source: Published, tmp_path: Path) -> None:
    write_file(source, as_text(source, ROWS), tmp_path)
    small = tiny(source, ROWS)
    users, items, ratings = small.filtered
    wrong = replace(small, filtered=(users, items, ratings + 1))
    with pytest.raises(ValueError, match=f"must keep {users} users, {items} items"):
        load(wrong, tmp_path)


LAST, MOVIES = "userID\tartistID\tweight\r\n", "1::2::3::0\n"


@pytest.mark.parametrize(
    ("source", "text", "message"),
    [
        (LASTFM, "", "must hold ratings, but it is empty"),
        (LASTFM, "\n", "must hold ratings, but it is empty"),
        (LASTFM, LAST, "must hold ratings, got only a header"),
        (LASTFM, "1\t2\t3\r\n", "line 1: expected the header 'userID"),
        (LASTFM, LAST + "1,2,3\r\n", "line 2: expected whole numbers 'userID.tartistID"),
        (LASTFM, LAST + "1\t2\t3\r\n1\t3\r\n", "line 3: expected whole numbers .* got '1.t3'"),
        (LASTFM, LAST + "1\t2\t3\r\n\r\n1\t3\t4\r\n", "line 3: expected whole numbers .* got ''"),
        (LASTFM, LAST + "1\t2\t0\r\n", "line 2: weight must be at least 1, got 0"),
        (LASTFM, LAST + "1\t2\t3\r\n1\t2\t4\r\n", "line 3: user 1 rated item 2 already in line 2"),
        (MOVIELENS, "", "must hold ratings, but it is empty"),
        (MOVIELENS, "1,2,3,0\n", "line 1: expected whole numbers 'UserID::MovieID::Rating::T"),
        (MOVIELENS, "1\t2\t3\t0\n", "line 1: expected whole numbers"),
        (MOVIELENS, MOVIES + "1::3::4\n", "line 2: expected whole numbers"),
        (MOVIELENS, MOVIES + "1::x::4::0\n", "line 2: expected whole numbers .* got '1::x::4::0'"),
        (MOVIELENS, MOVIES + "1::3::4.5::0\n", "line 2: expected whole numbers"),
        (MOVIELENS, MOVIES + "1::3::6::0\n", "line 2: Rating must be from 1 to 5, got 6"),
        (MOVIELENS, MOVIES + "1::2::4::9\n", "line 2: user 1 rated item 2 already in line 1"),
        (MOVIELENS, MOVIES + "9" * 30 + "::1::4::9\n", "line 2: expected whole numbers"),
    ],
)
def test_malformed_files_are_named_with_their_line(
    source: Published, text: str, message: str, tmp_path: Path
) -> None:
    file = write_file(source, text, tmp_path)
    with pytest.raises(ValueError, match=message) as raised:
        read(source, file)
    assert str(raised.value).startswith(str(file))


def test_a_named_folder_comes_before_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = tiny(LASTFM, ROWS)
    monkeypatch.setattr(locations, "cache", lambda: tmp_path / "cache")
    monkeypatch.delenv("HEADSTART_DATA", raising=False)
    with pytest.raises(DataMissing, match="headstart data fetch lastfm, or set"):
        load(small)
    cached = write_file(small, as_text(small, ROWS), tmp_path / "cache")
    assert load(small).source == str(cached)
    # A folder without the file does not hide the cache; one with it does.
    monkeypatch.setenv("HEADSTART_DATA", str(tmp_path / "mine"))
    assert load(small).source == str(cached)
    mine = write_file(small, as_text(small, ROWS), tmp_path / "mine")
    assert load(small).source == str(mine)
    # An explicit folder is the only one.
    with pytest.raises(DataMissing, match=f"headstart data fetch lastfm --data {tmp_path}"):
        load(small, tmp_path)


def test_without_pooch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locations, "cache", lambda: None)
    monkeypatch.delenv("HEADSTART_DATA", raising=False)
    with pytest.raises(DataMissing, match=r"pip install 'headstart\[data\]'"):
        load(LASTFM)
