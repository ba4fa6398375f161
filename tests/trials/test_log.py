"""Which rows of a log are kept."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.trials import log as logs
from headstart.trials.log import CannotTell, Names, read

NAMES = Names(task="user", reward="y")


def _frame(n_tasks: int = 50, n: int = 2000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "user": [f"u{j}" for j in rng.integers(n_tasks, size=n)],
        "x": rng.normal(size=n),
        "y": rng.normal(size=n),
        "when": rng.permutation(n) * 1.5,
    })  # fmt: skip


def test_the_first_rewards_of_every_task_are_kept_in_their_order() -> None:
    frame = _frame(10)
    found = read(frame, NAMES)
    assert (found.n_rows, found.n_tasks, found.kept) == (2000, 10, 10)
    # Tasks are numbered by their first row.
    for number, (_, own) in enumerate(frame.groupby("user", sort=False)):
        assert found.rewards[found.tasks == number] == pytest.approx(own["y"].to_numpy()[:50])


def test_times_order_rewards_and_tasks() -> None:
    frame = _frame()
    names = Names(task="user", reward="y", time="when")
    found = read(frame, names)
    in_order = read(frame.sort_values("when"), NAMES)
    assert found.rewards == pytest.approx(in_order.rewards)
    assert found.times is not None
    stamps = pd.to_datetime(frame["when"], unit="s", origin="2026-01-01", utc=True)
    by_text = read(frame.assign(when=stamps.map(lambda time: time.isoformat())), names)
    assert by_text.rewards == pytest.approx(found.rewards)
    assert by_text.times is not None
    assert np.diff(by_text.times) == pytest.approx(np.diff(found.times), abs=1e-5)


@pytest.mark.parametrize("form", ["csv", "parquet", "csv.gz", "tsv", "polars", "arrow", "dask"])
def test_every_kind_of_log_is_read_alike(form: str, tmp_path: Path) -> None:
    frame = _frame()
    expected = read(frame, NAMES)
    path = tmp_path / f"log.{form}"
    source: object = path
    if form == "parquet":
        frame.to_parquet(path)
    elif form == "polars":
        source = pytest.importorskip("polars").from_pandas(frame)
    elif form == "arrow":
        source = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    elif form == "dask":
        source = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)
    else:
        frame.to_csv(path, index=False, sep="\t" if form == "tsv" else ",")
    found = read(source, NAMES)
    assert found.rewards == pytest.approx(expected.rewards, rel=1e-14)
    assert (found.tasks == expected.tasks).all()
    assert found.frame["x"].to_numpy() == pytest.approx(expected.frame["x"].to_numpy(), rel=1e-14)


def test_whole_tasks_are_drawn_and_the_seed_says_which() -> None:
    frame = _frame(100)
    counts = frame["user"].value_counts()
    drawn = []
    for seed in (0, 0, 1):
        found = read(frame, NAMES, seed=seed, most_rows=500)
        assert 400 < len(found.rewards) <= 500
        own = found.frame["user"].value_counts()
        assert (own == counts[own.index]).all()
        assert found.n_tasks == 100
        drawn.append(set(own.index))
    assert drawn[0] == drawn[1] != drawn[2]


def test_with_very_many_rows_a_part_of_the_tasks_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = _frame(1000, 8000)
    monkeypatch.setattr(logs, "_MOST_COUNTED", 3000)
    few = read(frame, NAMES, most_rows=1000)
    monkeypatch.undo()
    all_of_them = read(frame, NAMES, most_rows=1000)
    assert few.rewards == pytest.approx(all_of_them.rewards)
    assert few.n_rows == 8000
    # A quarter of 1000 tasks: the estimate's standard error is 55.
    assert abs(few.n_tasks - 1000) < 200


def test_rows_without_a_number_as_reward_are_counted_and_left_out() -> None:
    frame = _frame().astype({"y": str})
    frame.loc[:9, "y"] = "none"
    frame.loc[10:12, "y"] = None
    found = read(frame, NAMES)
    assert found.left_out == 13
    assert np.isfinite(found.rewards).all()
    words = read(_frame().assign(y=lambda log: np.where(log["y"] > 0, "true", "False")), NAMES)
    assert set(words.rewards) == {0.0, 1.0}


def test_a_log_without_the_column_is_refused() -> None:
    with pytest.raises(ValueError, match="'nobody'"):
        read(_frame(), Names(task="nobody", reward="y"))
    with pytest.raises(ValueError, match="must be a file or a frame, got int"):
        read(3, NAMES)
    with pytest.raises(ValueError, match="column 'user' must hold times"):
        read(_frame(), Names(task="user", reward="y", time="user"))
    with pytest.raises(ValueError, match="'other'"):
        hs.trial(_frame(), task="user", reward="y", leave_out=["other"])
    with pytest.raises(CannotTell, match="no rows with a task"):
        read(_frame()[:0], NAMES)
