"""Logs as they are: files, folders, patterns, lists, tables, lazy frames, streams."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.logs.small import COLUMNS, NAMES, assert_sums, read, small_log

from headstart.logs import Columns, LogReading, check_log, n_features, sources


def _csv(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, index=False)
    return path


def _gz(frame: pd.DataFrame, path: Path) -> Path:
    path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    return path


def _parquet(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_parquet(path, row_group_size=7)
    return path


def _months(frame: pd.DataFrame, folder: Path) -> list[Path]:
    """Three files of different formats; every user is in all of them."""
    folder.mkdir()
    return [
        _parquet(frame[:20], folder / "a.parquet"),
        _csv(frame[20:40], folder / "b.csv"),
        _gz(frame[40:], folder / "c.csv.gz"),
    ]


KINDS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "pandas": lambda f, _: f,
    "polars": lambda f, _: pl.from_pandas(f),
    "arrow": lambda f, _: pa.Table.from_pandas(f),
    "lazy": lambda f, _: pl.from_pandas(f).lazy(),
    "lazy file": lambda f, p: pl.scan_parquet(_parquet(f, p / "a.parquet")),
    "stream": lambda f, _: pa.RecordBatchReader.from_stream(pa.Table.from_pandas(f)),
    "csv": lambda f, p: _csv(f, p / "a.csv"),
    "tsv": lambda f, p: (f.to_csv(p / "a.tsv", sep="\t", index=False), str(p / "a.tsv"))[1],
    "gzip": lambda f, p: _gz(f, p / "a.CSV.gz"),
    "no suffix": lambda f, p: _parquet(f, p / "part-0"),
    "list of files": lambda f, p: _months(f, p / "log"),
    "folder": lambda f, p: (_months(f, p / "log"), p / "log")[1],
    "pattern": lambda f, p: (_months(f, p / "log"), str(p / "log" / "*.*"))[1],
    "nested": lambda f, p: (_months(f, p / "log"), str(p))[1],
    "list of tables": lambda f, _: [f[:20], pl.from_pandas(f[20:40]), f[40:]],
    "file and table": lambda f, p: [str(_parquet(f[:20], p / "a.parquet")), f[20:]],
    "polars categories": lambda f, _: pl.from_pandas(f).cast({"user": pl.Categorical}),
    "categories": lambda f, _: f.astype({"user": "category", "reward": "category"}),
    "object columns": lambda f, _: f.astype({"user": object, "reward": object}),
    "float32 and integers": lambda f, _: f.astype({"x0": "float32", "x1": "int8"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_log_gives_the_same(kind: str, tmp_path: Path) -> None:
    frame = small_log()
    if kind == "float32 and integers":
        frame["x1"] = np.arange(60) % 7
        frame["x0"] = frame["x0"].astype("float32").astype(float)
    assert_sums(read(KINDS[kind](frame, tmp_path)), frame)


def test_dask_is_read_by_partitions_or_in_order() -> None:
    dd = pytest.importorskip("dask.dataframe")
    frame = small_log()
    import dask

    for in_order in (False, True):
        with dask.config.set(scheduler="synchronous"):
            partitions = dd.from_pandas(frame, npartitions=4)
            assert_sums(read(partitions, find_identical=in_order), frame)


def test_a_user_in_many_files_is_one_task(tmp_path: Path) -> None:
    """Ten thousand users in two monthly files were counted as twice as many."""
    frame = small_log(rows=200, users=50)
    for month in range(4):
        frame[month * 50 : month * 50 + 50].to_parquet(tmp_path / f"{month}.parquet")
    reading = LogReading(tmp_path, COLUMNS, 2)
    assert len(list(reading)) == frame["user"].nunique()
    assert reading.report.tasks == frame["user"].nunique()
    assert reading.report.pieces == 4


def test_small_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = small_log()
    monkeypatch.setattr(sources, "BATCH_ROWS", 7)
    assert_sums(read(frame), frame)


def test_hidden_files_and_other_files_of_a_folder_are_left_out(tmp_path: Path) -> None:
    frame = small_log()
    _parquet(frame, tmp_path / "log.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "readme.txt").write_text("a log")
    (tmp_path / ".part.csv").write_text("no log")
    (tmp_path / "_temporary").mkdir()
    _parquet(frame, tmp_path / "_temporary" / "log.parquet")
    assert_sums(read(tmp_path), frame)


def test_quoted_line_breaks_of_other_columns_are_text(tmp_path: Path) -> None:
    frame = small_log()
    path = _csv(frame.assign(note='two\n"lines"'), tmp_path / "log.csv")
    assert_sums(read(path), frame)


BAD: dict[str, tuple[Callable[[Path], Any], str]] = {
    "missing file": (
        lambda p: p / "no.parquet",
        r"no such file, folder or pattern: '.*no\.parquet",
    ),
    "empty folder": (lambda p: p, "got none in folder"),
    "empty pattern": (lambda p: str(p / "*.csv"), "no file matches"),
    "twice": (lambda p: [_csv(small_log(), p / "a.csv"), p], "a.csv' twice"),
    "other format": (lambda p: (p / "a.txt", (p / "a.txt").write_text("log"))[0], "a.txt'"),
    "broken": (lambda p: (p / "a.parquet", (p / "a.parquet").write_text("x"))[0], "cannot read"),
    "empty text": (lambda p: (p / "a.csv", (p / "a.csv").write_text(""))[0], "cannot read"),
    "a number": (lambda _: 5, "got int"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_cannot_be_read_is_named(kind: str, tmp_path: Path) -> None:
    make, message = BAD[kind]
    logs = make(tmp_path)
    with pytest.raises(ValueError, match=message):
        read(logs)


def test_a_column_that_one_of_the_files_lacks_is_named_with_the_file(tmp_path: Path) -> None:
    frame = small_log()
    _parquet(frame, tmp_path / "a.parquet")
    _parquet(frame.drop(columns="reward"), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"a column 'reward', got .* in .*b\.parquet"):
        read(tmp_path)


def test_the_number_of_features_is_found(tmp_path: Path) -> None:
    lists = pd.DataFrame({"x": [None, [1.0, 2.0, 3.0]], "y": [1.0, 2.0]})
    assert n_features(lists, "x") == 3
    assert n_features(lists, "y") == 1
    assert n_features(lists.assign(y=["1", "2"]), "y") == 1
    assert n_features(lists, ["a", "b"]) == 2
    assert n_features(_csv(lists, tmp_path / "log.csv"), "y") == 1
    for name, message in (("z", "a column 'z'"), ("w", "'w' must hold a list")):
        with pytest.raises(ValueError, match=message):
            n_features(lists.assign(w=b"a"), name)


def test_one_column_of_numbers_is_one_feature() -> None:
    frame = small_log()
    columns = Columns(task="user", features="x0")
    for task in LogReading(frame, columns, 1):
        x = frame.loc[frame["user"] == task.name, "x0"].to_numpy()
        np.testing.assert_allclose(task.statistics.gram, x[None] @ x[:, None])
    with pytest.raises(ValueError, match="features must be 3 columns, got 1: \\['x0'\\]"):
        list(LogReading(frame, columns, 3))


def test_columns_are_checked() -> None:
    cases: list[dict[str, Any]] = [
        {"features": ["a", "a"]},
        {"features": ["a", "reward"]},
        {"features": []},
        {"about": ["s", "s"]},
        {"task": ""},
        {"weight": 5},
        {"task_type": "float"},
    ]
    for settings in cases:
        with pytest.raises(ValueError, match="must"):
            Columns(**settings)
    assert Columns(features=NAMES, about="age").about == ("age",)


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz", "log.tsv"])
def test_a_row_with_too_few_or_too_many_columns_is_a_bad_row(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the file is parsed in blocks, of which each begins after some bad rows."""
    monkeypatch.setattr(sources, "_BLOCK", 1 << 12)
    frame, path = small_log(rows=600), tmp_path / name
    frame.loc[400, "reward"] = np.nan
    separator = "\t" if name == "log.tsv" else ","
    lines = frame.to_csv(index=False, sep=separator).splitlines()
    uneven = {3: 1, 4: 5, 350: 2, 599: 3}
    for row, n in uneven.items():
        lines[row + 1] = separator.join((lines[row + 1].split(separator) * 2)[:n])
    opener = gzip.open if name.endswith(".gz") else open
    with opener(path, "wt") as file:
        file.write("\n".join(lines) + "\n")
    reading = LogReading(str(path), COLUMNS, 2, on_bad="drop")
    tasks = {task.name: task for task in reading}
    assert_sums(tasks, frame.drop([*uneven, 400]))
    report = reading.report
    assert (report.rows, report.n_bad, report.n_used) == (600, 5, 595)
    missing, found = report.bad
    assert missing.examples[0].row == 400  # by its number in the file
    assert found.what == "has not 4 columns, as the first line has"
    assert found.count == 4
    assert [(each.row, each.value) for each in found.examples] == [(3, 1), (4, 5), (350, 2)]
    said = r'every row must have 4 columns, as the first line has, got 1 in row 3 of .*"drop"'
    with pytest.raises(ValueError, match=said):
        read(str(path))


@pytest.mark.parametrize("kind", ["table", "dask"])
def test_a_reward_outside_of_the_range_makes_a_bad_row(kind: str) -> None:
    frame = small_log()
    frame["reward"] = frame["reward"].clip(-3.0, 3.0)
    frame.loc[[7, 20], "reward"] = [1e49, -3.5]
    log: Any = frame
    if kind == "dask":
        log = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)
    reading = LogReading(log, COLUMNS, 2, on_bad="drop", reward_range=(-3.0, 3.0))
    assert_sums({task.name: task for task in reading}, frame.drop([7, 20]))
    (bad,) = reading.report.bad
    assert (bad.what, bad.count) == ("column 'reward' is outside of reward_range (-3, 3)", 2)
    # Partitions are read at the same time.
    said = r"'reward' must be within reward_range \(-3, 3\), got (1e\+49 in row 7|-3\.5 in row 0)"
    with pytest.raises(ValueError, match=said):
        read(log, reward_range=(-3.0, 3.0))


def test_side_information_out_of_range_makes_a_bad_row() -> None:
    frame = small_log().assign(age=0.5)
    frame.loc[frame["user"] == "u0", "age"] = 1e300
    columns = Columns(task="user", features=NAMES, about=["age"])
    report = check_log(frame, columns, 2)
    assert report.bad[0].what == "column 'age' is beyond 1e+50"
    assert report.n_bad == (frame["user"] == "u0").sum()


@pytest.mark.parametrize("kind", ["csv", "text columns"])
def test_words_for_no_number_are_missing_numbers_but_names_of_tasks(
    kind: str, tmp_path: Path
) -> None:
    words = ["NA", "nan", "null", "n/a", "None", ""]
    frame = pd.DataFrame({"task": "NA", "x0": [*words, "1"], "reward": "2.5"}, dtype=object)
    frame.to_csv(tmp_path / "log.csv", index=False)
    log = tmp_path / "log.csv" if kind == "csv" else frame
    columns = Columns(features=["x0"])
    report = check_log(log, columns)
    assert (report.n_bad, report.bad[0].what) == (6, "column 'x0' is missing")
    (task,) = LogReading(log, columns, 1, on_bad="drop")
    assert (task.name, task.statistics.gram.item()) == ("NA", 1.0)
