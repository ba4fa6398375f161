"""Logs are read in batches, with the columns and rows that are asked for."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.logs.small import NAMES, assert_sums, read, small_log

from headstart.logs import ColumnNames, Columns, ItemColumn, LogReading, n_features, sources
from headstart.logs.read import Reader

ROWS = 300_000


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    """A log larger than one batch, in one row group."""
    path = tmp_path / "log.parquet"
    features = np.arange(2.0 * ROWS).reshape(ROWS, 2)
    frame = pd.DataFrame({"user": np.arange(ROWS) % 20, "a": features[:, 0], "b": features[:, 1]})
    frame["reward"] = 1.0
    pq.write_table(pa.Table.from_pandas(frame), path)
    return path


def test_no_batch_is_larger_than_the_limit(path: Path) -> None:
    (piece,) = sources.pieces(path, ["user", "a", "b", "reward"])
    assert piece.n_rows == ROWS
    sizes = [batch.num_rows for batch in piece.batches()]
    assert sum(sizes) == ROWS
    assert max(sizes) <= sources.BATCH_ROWS
    assert len(sizes) > 1


def test_a_batch_holds_its_rows_in_the_order_of_tasks(path: Path) -> None:
    reader = Reader(path, Columns(task="user", features=["a", "b"]), 2)
    first = next(reader.batches())
    n = len(first)
    assert reader.total == ROWS
    for code, name in enumerate(first.names):
        of_task = slice(first.ends[code], first.ends[code + 1])
        rows = first.numbers[of_task]
        np.testing.assert_array_equal(rows, np.arange(n)[np.arange(n) % 20 == name])
        np.testing.assert_array_equal(first.rows[of_task, 0], 2.0 * rows)
    np.testing.assert_array_equal(first.rows[:, 2:], 1.0)


def test_the_number_of_features_is_that_of_the_columns_or_lists(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pd.DataFrame({"x": [[1.0, 2.0, 3.0]], "y": [1.0]}).to_parquet(path)
    assert n_features(path, "x") == 3
    assert n_features(path, ["a", "b"]) == 2
    assert n_features(path, "y") == 1
    with pytest.raises(ValueError, match="logs must have a column 'z'"):
        n_features(path, "z")


def test_columns_are_named_by_the_same_words_everywhere() -> None:
    assert list(ColumnNames.__annotations__) == [field.name for field in fields(Columns)]


def test_a_log_that_names_items_has_their_features() -> None:
    items = {"tea": [1.0, 0.5], "rum": [-2.0, 1.0], "7": [0.0, 3.0]}
    frame = small_log()
    named = np.random.default_rng(1).choice(list(items), len(frame))
    frame[NAMES] = [items[each] for each in named]
    by_item = frame.drop(columns=NAMES).assign(item=named)
    columns = Columns(task="user", features=ItemColumn("item", items))
    assert_sums(read(by_item, columns), frame)
    # An id may be a number, and an unknown one is a bad row.
    numbers = by_item[named == "7"].assign(item=7)
    assert_sums(read(numbers, columns), frame[named == "7"])
    by_item.loc[3, "item"] = "gin"
    by_item.loc[5, "item"] = None
    with pytest.raises(ValueError, match=r"must be one of the items, got 'gin' .*row 3"):
        read(by_item, columns)
    kept = frame.drop(index=[3, 5])
    assert_sums(read(by_item, columns, on_bad="drop"), kept)


@pytest.mark.parametrize("how", ["whole", "batches", "grouped", "dask"])
def test_rewards_are_summed_by_task_and_item(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = small_log().sort_values("user", kind="stable", ignore_index=True)
    rng = np.random.default_rng(0)
    frame["item"], frame["w"] = rng.integers(7, size=60), rng.uniform(0.5, 2.0, 60)
    if how != "whole":
        monkeypatch.setattr(sources, "BATCH_ROWS", 7)
        monkeypatch.setattr("headstart.logs.statistics._PAIRS", 3)
    columns = Columns(task="user", features=NAMES, weight="w", item="item")
    log = frame
    if how == "dask":
        log = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=4)
    found = LogReading(log, columns, 2, grouped_by_task=how == "grouped")
    items = {task.name: task.items for task in found}
    for user, of_user in frame.groupby("user"):
        assert set(items[user]) == set(of_user["item"])  # type: ignore[index]
        for item, rows in of_user.groupby("item"):
            x, w = rows[NAMES].to_numpy(), rows["w"].to_numpy()
            expected = [w.sum(), w @ rows["reward"].to_numpy(), *(w @ x)]
            np.testing.assert_allclose(items[user][item].tolist(), expected)  # type: ignore[index]


@pytest.mark.parametrize("wrong", [{}, {"a": [1.0], "b": [1.0, 2.0]}, {"a": [np.nan]}])
def test_items_of_a_log_have_features(wrong: dict[str, list[float]]) -> None:
    with pytest.raises(ValueError, match="items"):
        ItemColumn("item", wrong)
