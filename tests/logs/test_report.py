"""Bad rows, duplicates and scales: refused, or left out and counted."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.logs.small import COLUMNS, NAMES, assert_sums, read, small_log

from headstart import checks
from headstart.logs import Columns, LogReading, check_log, sources


def _reading(logs: Any, columns: Columns = COLUMNS, **settings: Any) -> LogReading:
    reading = LogReading(logs, columns, 2, on_bad="drop", **settings)
    list(reading)
    return reading


def _spoilt() -> pd.DataFrame:
    frame = small_log()
    frame.loc[3, "x0"] = np.nan
    frame.loc[4, "x0"] = np.inf
    frame.loc[5, "x1"] = 1e60
    frame.loc[[6, 7], "reward"] = np.nan
    frame.loc[8, "user"] = None
    frame.loc[9, ["x0", "reward"]] = np.nan
    return frame


def test_bad_rows_are_left_out_and_counted_once() -> None:
    frame = _spoilt()
    good = frame.drop(index=range(3, 10))
    assert_sums(read(frame, on_bad="drop"), good)
    report = _reading(frame).report
    assert (report.rows, report.n_bad, report.n_used) == (60, 7, 53)
    counts = {each.what: each.count for each in report.bad}
    assert counts == {
        "column 'user' is missing": 1,
        "column 'x0' is missing": 2,
        "column 'x0' is not finite": 1,
        "column 'x1' is beyond 1e+50": 1,
        "column 'reward' is missing": 2,
    }
    assert [scale.missing for scale in (*report.features, report.reward)] == [2, 0, 3]


@pytest.mark.parametrize("batch_rows", [4, 1000])
def test_rows_are_numbered_through_the_whole_table(
    batch_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "BATCH_ROWS", batch_rows)
    frame = small_log()
    frame.loc[41, "reward"] = np.nan
    frame.loc[47, "x0"] = np.nan
    with pytest.raises(ValueError, match=r"'reward' must have .*, got nan in row 41"):
        read(frame)
    (reward,) = (each for each in _reading(frame).report.bad if "reward" in each.what)
    assert [example.row for example in reward.examples] == [41]


def test_rows_of_files_are_named_with_the_file(tmp_path: Path) -> None:
    frame = small_log()
    frame.loc[41, "reward"] = np.nan
    frame[:30].to_parquet(tmp_path / "a.parquet", row_group_size=3)
    frame[30:].to_parquet(tmp_path / "b.parquet", row_group_size=3)
    with pytest.raises(ValueError, match=r"in row 11 of .*b\.parquet \(rows count from 0\)"):
        read(tmp_path)
    (bad,) = _reading(tmp_path).report.bad
    assert bad.examples[0].row == 11
    assert str(bad.examples[0].file).endswith("b.parquet")


def test_text_that_is_no_number_is_bad(tmp_path: Path) -> None:
    frame = small_log().astype({"x0": object})
    frame.loc[7, "x0"] = "many"
    frame.loc[8, "x0"] = " 1.5 "
    frame.loc[9, "x0"] = ""
    frame.to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(
        ValueError, match=r"'x0' must be a number .* got 'many' in row 7 of .*log\.csv"
    ):
        read(tmp_path)
    frame.loc[8, "x0"] = 1.5
    assert_sums(read(tmp_path, on_bad="drop"), frame.drop(index=[7, 9]))


@pytest.mark.parametrize("kind", ["csv", "strings", "objects", "categories", "polars"])
def test_text_is_read_row_by_row_whatever_holds_it(kind: str, tmp_path: Path) -> None:
    """A frame was refused as a whole for what was one bad row in a file."""
    frame = small_log().astype({"x0": object, "reward": object})
    frame.loc[7, "reward"] = "yes"
    frame.loc[8, "x0"] = " 1.5 "
    frame.loc[9, "x0"] = None
    made: dict[str, Any] = {
        "csv": lambda: frame.to_csv(tmp_path / "log.csv", index=False) or tmp_path,
        "strings": lambda: frame.astype({"reward": str}),
        "objects": lambda: frame,
        "categories": lambda: frame.astype({"reward": str}).astype({"reward": "category"}),
        "polars": lambda: pl.from_pandas(frame.astype({"reward": str, "x0": str})),
    }
    logged = made[kind]()
    with pytest.raises(ValueError, match=r"'reward' must be a number .* got 'yes' in row 7"):
        read(logged)
    frame.loc[8, "x0"] = 1.5
    assert_sums(read(logged, on_bad="drop"), frame.drop(index=[7, 9]))


def test_rewards_outside_of_the_range_are_bad() -> None:
    frame = small_log()
    frame["reward"] = (frame["reward"] > 0).astype(float)
    frame.loc[[7, 31], "reward"] = [100000.0, -0.5]
    with pytest.raises(
        ValueError,
        match=r"'reward' must be within reward_range \(0, 1\), got 100000.0 in row 7 \(rows",
    ):
        read(frame, reward_range=(0.0, 1.0))
    dropped = read(frame, on_bad="drop", reward_range=(0.0, 1.0))
    assert_sums(dropped, frame.drop(index=[7, 31]))
    (bad,) = check_log(frame, COLUMNS, reward_range=(0.0, 1.0)).bad
    assert bad.what == "column 'reward' is outside of reward_range (0, 1)"
    assert (bad.count, [each.row for each in bad.examples]) == (2, [7, 31])


def test_booleans_are_numbers(tmp_path: Path) -> None:
    frame = small_log()
    frame["reward"] = frame["reward"] > 0
    assert_sums(read(frame), frame)
    frame.to_csv(tmp_path / "log.csv", index=False)
    assert_sums(read(tmp_path), frame)


TYPES: dict[str, Any] = {
    "timestamp": pd.date_range("2024-01-01", periods=60),
    "date": [pd.Timestamp("2024-01-01").date()] * 60,
    "duration": pd.to_timedelta(np.arange(60), unit="s"),
    "binary": [b"1"] * 60,
    "list": [[1.0]] * 60,
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("column", ["x0", "reward"])
@pytest.mark.parametrize("on_bad", ["raise", "drop"])
def test_what_is_no_number_is_refused_by_its_type(kind: str, column: str, on_bad: Any) -> None:
    """A timestamp became a feature of 1.7e18, or the reward."""
    frame = small_log().assign(**{column: TYPES[kind]})
    with pytest.raises(ValueError, match=f"'{column}' must hold numbers or booleans, got .*{kind}"):
        read(frame, on_bad=on_bad)


def test_lists_of_timestamps_are_refused() -> None:
    dates: Any = [[pd.Timestamp("2024-01-01")] * 2] * 60
    frame = small_log().assign(features=dates)
    with pytest.raises(ValueError, match="must hold lists of numbers or booleans, got list<"):
        read(frame, Columns(task="user"))


def test_lists_may_be_missing_or_of_another_length() -> None:
    frame = small_log()
    lists: list[Any] = frame[NAMES].to_numpy().tolist()
    lists[3:7] = [None, [1.0], [1.0, 2.0, 3.0], [np.nan, 0.0]]
    columns = Columns(task="user")
    others = {name: frame[name].tolist() for name in ("user", "reward")}
    logged = pa.table({"features": lists, **others})
    assert_sums(read(logged, columns, on_bad="drop"), frame.drop(index=[3, 4, 5, 6]))
    with pytest.raises(ValueError, match=r"'features' must have a value in every row.* row 3"):
        read(logged, columns)
    with pytest.raises(ValueError, match=r"'features' has not 2 features.* in row 0"):
        read(logged.slice(4), columns)
    lists[4:6] = [[0.5, 0.5], None]
    fixed = pa.array(lists, type=pa.list_(pa.float64(), 2))
    frame.loc[4, NAMES] = 0.5
    found = read(pa.table({"features": fixed, **others}), columns, on_bad="drop")
    assert_sums(found, frame.drop(index=[3, 5, 6]))


def test_an_empty_log_is_an_error(tmp_path: Path) -> None:
    frame = small_log()
    for grouped in (False, True):
        for empty in (frame[:0], frame.assign(reward=np.nan)):
            with pytest.raises(ValueError, match="at least one row that counts"):
                read(empty, on_bad="drop", grouped_by_task=grouped)
    frame[:0].to_parquet(tmp_path / "log.parquet")
    with pytest.raises(ValueError, match="got 0 rows"):
        read(tmp_path)


@pytest.mark.parametrize("ids", ["numbers", "texts"])
def test_of_rows_with_one_id_the_first_counts(ids: str, tmp_path: Path) -> None:
    frame = small_log()
    frame["event"] = np.arange(60) if ids == "numbers" else [f"event {i}" for i in range(60)]
    again = pd.concat([frame, frame[10:30].assign(reward=99.0)])
    columns = Columns(task="user", features=NAMES, id="event")
    again[:40].to_parquet(tmp_path / "a.parquet", row_group_size=3)
    again[40:].to_parquet(tmp_path / "b.parquet", row_group_size=3)
    assert_sums(read(tmp_path, columns), frame)
    duplicates = _reading(tmp_path, columns).report.duplicates
    assert duplicates is not None
    assert duplicates.count == 20
    summary = _reading(tmp_path, columns).report.summary()
    assert "20 repeated rows ('event' seen before) left out (row 20 of " in summary
    summary = _reading(frame, columns).report.summary()
    assert summary.splitlines()[-1] == "0 repeated rows ('event' seen before)"
    assert duplicates.examples[0].row == 20  # of the second file
    assert duplicates.examples[0].value == frame["event"][10]


def test_a_bad_row_does_not_use_up_its_id() -> None:
    frame = small_log().assign(event=np.arange(60))
    spoilt = frame.copy()
    spoilt.loc[5, "reward"] = np.nan
    columns = Columns(task="user", features=NAMES, id="event")
    both = pd.concat([spoilt, frame])
    assert sum(float(t.statistics.count) for t in read(both, columns, on_bad="drop").values()) == 60
    missing = frame.astype({"event": "Int64"})
    missing.loc[3, "event"] = None
    with pytest.raises(ValueError, match=r"'event' must have .*, got None in row 3"):
        read(missing, columns)


def test_equal_rows_count_and_are_reported() -> None:
    frame = pd.concat([small_log(), small_log()[:7]])
    assert_sums(read(frame), frame)
    identical = check_log(frame, COLUMNS).identical
    assert identical is not None
    assert identical.count == 7
    assert [each.row for each in identical.examples] == [60, 61, 62]
    timed = frame.assign(time=np.arange(67.0))
    signs = frame[:1].loc[[0, 0]].assign(**{COLUMNS.task: [-1, -2]})
    alike = check_log(signs, COLUMNS).identical  # Python's hashes of −1 and −2 are the same
    assert alike is not None
    assert alike.count == 0
    different = check_log(timed, Columns(task="user", features=NAMES, time="time")).identical
    assert different is not None
    assert different.count == 0
    assert _reading(frame).report.identical is None


def test_scales_are_those_of_the_rows_that_count() -> None:
    frame = small_log()
    frame["x1"] = 1000.0 * frame["x1"] + 5.0
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 60)
    frame["w"] = weights
    frame.loc[[3, 9], "x0"] = np.nan
    good = frame.drop(index=[3, 9])
    for settings in ({}, {"grouped_by_task": True}):
        columns = Columns(task="user", features=NAMES, weight="w")
        report = _reading(frame.sort_values("user"), columns, **settings).report
        for scale, name in zip((*report.features, report.reward), [*NAMES, "reward"], strict=True):
            values = good[name].to_numpy()
            np.testing.assert_allclose(scale.least, values.min())
            np.testing.assert_allclose(scale.largest, values.max())
            mean = np.average(values, weights=good["w"])
            np.testing.assert_allclose(scale.mean, mean)
            square = np.average(values**2, weights=good["w"])
            np.testing.assert_allclose(scale.root_mean_square, np.sqrt(square))
            np.testing.assert_allclose(scale.standard_deviation, np.sqrt(square - mean**2))
        assert report.features[0].missing == 2


def test_features_far_apart_are_named() -> None:
    frame = small_log().assign(a=1.0, b=1e9, c=0.0)
    report = check_log(frame, Columns(task="user", features=[*NAMES, "a", "b", "c"]))
    assert report.far_apart() == ("b", "c")
    near, far = (checks.far_apart(np.array([1.0, 1.0, 1.0, size]))[1] for size in (7.9, 8.1))
    assert not near.any()
    assert far.tolist() == [False, False, False, True]
    assert check_log(small_log(), COLUMNS).far_apart() == ()


def test_the_report_reads_well() -> None:
    text = str(check_log(_spoilt(), COLUMNS))
    lines = text.splitlines()
    assert lines[0] == "60 rows of 5 tasks; 53 count"
    assert "2 rows left out: column 'x0' is missing (row 3: nan; row 9: nan)" in lines
    assert any(line.split() == ["min", "max", "mean", "rms", "missing"] for line in lines)
    assert max(map(len, lines)) <= 100


def test_weights_must_be_above_zero() -> None:
    frame = small_log().assign(w=1.0)
    frame.loc[5, "w"] = 0.0
    columns = Columns(task="user", features=NAMES, weight="w")
    with pytest.raises(ValueError, match=r"column 'w' must be above 0, got 0.0 in row 5"):
        read(frame, columns)
    assert_sums(read(frame, columns, on_bad="drop"), frame.drop(index=5))


def test_on_bad_is_one_of_two_words() -> None:
    with pytest.raises(ValueError, match="on_bad must be one of drop, raise, got 'ignore'"):
        read(small_log(), on_bad="ignore")
