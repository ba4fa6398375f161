"""The tasks of a log: their names and types, their side information, their last times."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs.small import NAMES, assert_sums, read, small_log

from headstart.logs import Columns, LogReading, sources


def _numbered() -> pd.DataFrame:
    frame = small_log()
    frame["user"] = frame["user"].str[1:].astype(int)
    return frame


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint32", "Int64", "category"])
def test_integers_of_any_width_are_python_integers(dtype: str) -> None:
    frame = _numbered()
    tasks = read(frame.astype({"user": dtype}))
    assert_sums(tasks, frame)
    assert all(type(name) is int for name in tasks)


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_strings_of_any_kind_are_python_strings(dtype: str) -> None:
    tasks = read(small_log().astype({"user": dtype}))
    assert all(type(name) is str for name in tasks)


@pytest.mark.parametrize("dtype", ["float64", "bool", "bytes"])
def test_other_names_are_refused(dtype: Any) -> None:
    frame = _numbered()
    users: Any = (
        [b"%d" % u for u in frame["user"]] if dtype == "bytes" else frame["user"].astype(dtype)
    )
    kind = {"float64": "double", "bool": "bool", "bytes": "binary"}[dtype]
    with pytest.raises(ValueError, match=f"'user' must hold strings or integers, got {kind}"):
        read(frame.assign(user=users))
    with pytest.raises(ValueError, match="one type each"):
        read(frame.assign(user=[1, "a"] * 30))


def test_one_type_in_all_files(tmp_path: Path) -> None:
    """5 in one file and "5" in another would be two tasks, or one under another name."""
    frame = _numbered()
    frame[:30].to_parquet(tmp_path / "a.parquet")
    frame[30:].astype({"user": str}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"one type, got integers in .*a\.parquet and strings in"):
        read(tmp_path)
    as_text = Columns(task="user", features=NAMES, task_type="str")
    assert_sums(read(tmp_path, as_text), frame.astype({"user": str}))
    as_number = Columns(task="user", features=NAMES, task_type="int")
    assert_sums(read(tmp_path, as_number), frame)
    frame[30:].astype({"user": float}).to_parquet(tmp_path / "b.parquet")
    assert_sums(read(tmp_path, as_number), frame)
    frame[30:].assign(user=0.5).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"'user' must hold integers in .*b\.parquet"):
        read(tmp_path, as_number)


def test_widths_may_differ_between_files() -> None:
    frame = _numbered()
    parts = [frame[:30].astype({"user": "int16"}), frame[30:].astype({"user": "category"})]
    assert_sums(read(parts), frame)


def test_names_in_text_files_are_integers_where_all_are(tmp_path: Path) -> None:
    frame = _numbered()
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert_sums(read(tmp_path / "a.csv"), frame)
    padded = frame.assign(user=[f"00{u}" for u in frame["user"]])
    padded.to_csv(tmp_path / "a.csv", index=False)
    assert_sums(read(tmp_path / "a.csv"), padded)
    columns = Columns(task="user", features=NAMES, task_type="str")
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert_sums(read(tmp_path / "a.csv", columns), frame.astype({"user": str}))
    small_log().to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(ValueError, match=r'must hold integers in .*b\.csv.*task_type="str"'):
        read(tmp_path)


def _sided() -> tuple[pd.DataFrame, dict[Any, tuple[float, float]]]:
    frame = small_log()
    about = {user: (20.0 + i, float(i % 2)) for i, user in enumerate(frame["user"].unique())}
    frame["age"] = [int(about[user][0]) for user in frame["user"]]
    frame["member"] = [bool(about[user][1]) for user in frame["user"]]
    return frame, about


SIDE = Columns(task="user", features=NAMES, about=("age", "member"))


@pytest.mark.parametrize("grouped", [False, True])
def test_side_information_comes_with_its_task(grouped: bool, monkeypatch: Any) -> None:
    monkeypatch.setattr(sources, "BATCH_ROWS", 7)
    frame, about = _sided()
    frame = frame.sort_values("user") if grouped else frame
    tasks = read(frame, SIDE, grouped_by_task=grouped)
    for name, task in tasks.items():
        np.testing.assert_array_equal(task.statistics.about, about[name])
    assert all(task.statistics.about is None for task in read(frame).values())


@pytest.mark.parametrize("grouped", [False, True])
def test_side_information_must_not_change(grouped: bool, monkeypatch: Any) -> None:
    monkeypatch.setattr(sources, "BATCH_ROWS", 7)
    frame, _ = _sided()
    frame = frame.sort_values("user", ignore_index=True)
    frame.loc[9, "age"] = 70
    message = "column 'age' must be constant within a task, got .* for task 'u0' in row 9"
    with pytest.raises(ValueError, match=message):
        read(frame, SIDE, grouped_by_task=grouped)


def test_side_information_is_joined_over_partitions() -> None:
    dd = pytest.importorskip("dask.dataframe")
    import dask

    frame, about = _sided()
    with dask.config.set(scheduler="synchronous"):
        for name, task in read(dd.from_pandas(frame, npartitions=4), SIDE).items():
            np.testing.assert_array_equal(task.statistics.about, about[name])
        frame.loc[59, "age"] = 70
        with pytest.raises(ValueError, match="constant within a task"):
            read(dd.from_pandas(frame, npartitions=4), SIDE)


def test_side_information_is_numbers() -> None:
    frame, _ = _sided()
    with pytest.raises(ValueError, match="'age' must be a number in every row, got 'old' in row 0"):
        read(frame.assign(age="old"), SIDE)


@pytest.mark.parametrize("kind", ["seconds", "timestamps", "zoned", "text", "dates"])
def test_the_last_time_comes_with_its_task(kind: str, tmp_path: Path) -> None:
    frame = small_log()
    stamps = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60) * 86400, unit="s")
    seconds = 1704067200.0 + 86400.0 * np.arange(60)
    made: dict[str, Any] = {
        "seconds": seconds,
        "timestamps": stamps,
        "zoned": stamps.tz_localize("UTC").tz_convert("Asia/Tokyo"),
        "text": stamps,
        "dates": [stamp.date() for stamp in stamps],
    }
    logged: Any = frame.assign(when=made[kind])
    if kind == "text":
        logged.to_csv(tmp_path / "log.csv", index=False)
        logged = tmp_path
    columns = Columns(task="user", features=NAMES, time="when")
    tasks = read(logged, columns)
    for user, rows in frame.assign(when=seconds).groupby("user"):
        assert tasks[user].last_time == rows["when"].max()  # type: ignore[index]
    with pytest.raises(ValueError, match=r"'when' must hold seconds or timestamps, got .*binary"):
        read(frame.assign(when=b"now"), columns)


ISO = {
    "2024-01-01T00:00:00": 1704067200.0,
    "2024-01-01T00:00:00Z": 1704067200.0,
    "2024-01-01 02:00:00.25+02:00": 1704067200.25,
    "2024-01-01": 1704067200.0,
    "20240101T000000Z": 1704067200.0,
    "1704067200.5": 1704067200.5,
}


@pytest.mark.parametrize("kind", ["csv", "strings"])
@pytest.mark.parametrize("text", [*ISO, "all"])
def test_times_may_be_text_in_iso_8601(text: str, kind: str, tmp_path: Path) -> None:
    texts = list(ISO) if text == "all" else [text]
    frame = small_log(len(texts), 1).assign(user=range(len(texts)), when=texts)
    columns = Columns(task="user", features=NAMES, time="when")
    if kind == "csv":
        frame.to_csv(tmp_path / "log.csv", index=False)
    found = read(tmp_path if kind == "csv" else frame, columns)
    assert [task.last_time for task in found.values()] == [ISO[each] for each in texts]


def test_a_text_that_is_no_time_is_a_bad_row() -> None:
    frame = small_log().assign(when="2024-01-01T00:00:00Z")
    frame.loc[7, "when"] = "now"
    columns = Columns(task="user", features=NAMES, time="when")
    with pytest.raises(ValueError, match=r"'when' must be seconds or a time.*, got 'now' in row 7"):
        read(frame, columns)
    assert_sums(read(frame, columns, on_bad="drop"), frame.drop(index=7))


def test_a_log_grouped_by_task_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = small_log(rows=300, users=60).sort_values("user", kind="stable")
    for batch_rows, tasks_at_once in ((1000, 1024), (7, 1024), (1000, 3), (7, 1)):
        monkeypatch.setattr(sources, "BATCH_ROWS", batch_rows)
        monkeypatch.setattr("headstart.logs.read._TASKS", tasks_at_once)
        assert_sums(read(frame, grouped_by_task=True), frame)


def test_a_task_in_two_runs_is_refused_with_its_place(tmp_path: Path) -> None:
    frame = _numbered().sort_values("user", ignore_index=True)
    frame["user"] = -frame["user"] - 1  # Python's hashes of -1 and -2 are the same
    assert_sums(read(frame, grouped_by_task=True), frame)
    frame[:40].to_parquet(tmp_path / "a.parquet", row_group_size=5)
    frame[:40].to_parquet(tmp_path / "b.parquet", row_group_size=5)
    message = r"rows of task -1 are not consecutive in row 0 of .*b\.parquet; sort the log"
    with pytest.raises(ValueError, match=message):
        read(tmp_path, grouped_by_task=True)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.floats(-9, 9), st.floats(-9, 9), st.floats(0.1, 9)),
        min_size=1,
        max_size=40,
    ),
    cut=st.integers(0, 40),
)
def test_sums_are_those_of_the_rows_however_they_are_cut(rows: Any, cut: int) -> None:
    frame = pd.DataFrame(rows, columns=["user", "x0", "reward", "w"]).assign(x1=1.0)
    columns = Columns(task="user", features=NAMES, weight="w")
    parts = [part for part in (frame[:cut], frame[cut:]) if len(part)]
    tasks = {task.name: task.statistics for task in LogReading(parts, columns, 2)}
    for user, of_task in frame.groupby("user"):
        x, y = of_task[NAMES].to_numpy(), of_task["reward"].to_numpy()
        w = of_task["w"].to_numpy()
        found = tasks[user]  # type: ignore[index]
        np.testing.assert_allclose(found.gram, (x.T * w) @ x, atol=1e-9)
        np.testing.assert_allclose(found.moment, (x.T * w) @ y, atol=1e-9)
        np.testing.assert_allclose(found.count, w.sum())
        np.testing.assert_allclose(found.sum_of_squares, w @ y**2, atol=1e-9)
