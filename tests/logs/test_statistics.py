"""A log of any kind gives what live use would have learned, to rounding."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.live.state import fingerprint, memory_state
from typer.testing import CliRunner

import headstart as hs
from headstart.cli import app
from headstart.logs import sources

DIMENSION = 3
NAMES = [f"x{a}" for a in range(DIMENSION)]


@pytest.fixture
def table() -> pd.DataFrame:
    """500 rows of 20 users in random order, features in columns and as lists."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, DIMENSION))
    frame = pd.DataFrame(x, columns=NAMES)
    frame["features"] = list(x)
    frame["user"] = [f"user-{u}" for u in rng.integers(20, size=500)]
    frame["reward"] = x @ np.ones(DIMENSION) + 0.1 * rng.standard_normal(500)
    frame["weight"] = rng.uniform(0.5, 2.0, 500)
    return frame


def live_bandit(frame: pd.DataFrame, weight: bool = False) -> hs.MetaBandit:
    """The bandit that observed row by row, one user after another in order of appearance."""
    bandit = hs.MetaBandit(dimension=DIMENSION, seed=0)
    for user in frame["user"].unique():
        rows = frame[frame["user"] == user]
        weights = rows["weight"] if weight else np.ones(len(rows))
        for x, y, w in zip(rows["features"], rows["reward"], weights, strict=True):
            bandit.observe(user, x, float(y), weight=float(w))
        bandit.finish(user)
    bandit.next_prior()  # brings the memory up to date
    return bandit


def assert_same(ours: hs.MetaBandit, theirs: hs.MetaBandit) -> None:
    assert ours.n_finished == theirs.n_finished
    memory = memory_state(theirs).memory
    for name, array in memory_state(ours).memory.items():
        np.testing.assert_allclose(array, memory[name], rtol=1e-9, atol=1e-9)


def parquet(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_parquet(path, row_group_size=70)
    return path


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "file", "folder"])
@pytest.mark.parametrize("features", ["features", NAMES], ids=["lists", "columns"])
def test_fit_equals_live(kind: str, features: Any, table: pd.DataFrame, tmp_path: Path) -> None:
    made: dict[str, Callable[[], Any]] = {
        "pandas": lambda: table,
        "polars": lambda: pl.from_pandas(table),
        "arrow": lambda: pa.Table.from_pandas(table),
        "file": lambda: parquet(table, tmp_path / "log.parquet"),
        "folder": lambda: parquet(table, tmp_path / "log.parquet").parent,
    }
    logs = made[kind]()
    reported = []
    bandit = hs.MetaBandit(dimension=DIMENSION, seed=0)
    fitted = bandit.fit(
        logs, task="user", features=features, progress=lambda *done: reported.append(done)
    )
    assert fitted is bandit
    assert reported[-1] == (500, 500)
    assert_same(bandit, live_bandit(table))


def test_weights_are_those_of_live_use(table: pd.DataFrame) -> None:
    bandit = hs.MetaBandit(dimension=DIMENSION, seed=0).fit(table, task="user", weight="weight")
    assert_same(bandit, live_bandit(table, weight=True))


def test_rows_grouped_by_task_give_the_same(table: pd.DataFrame) -> None:
    grouped = table.sort_values("user", kind="stable")
    bandit = hs.MetaBandit(dimension=DIMENSION, seed=0)
    bandit.fit(grouped, task="user", grouped_by_task=True)
    assert_same(bandit, live_bandit(grouped))
    before = fingerprint(bandit)
    with pytest.raises(ValueError, match=r"but the rows of task .user-\d+. are not"):
        bandit.fit(table, task="user", grouped_by_task=True)
    assert fingerprint(bandit) == before


def test_batches_do_not_matter(table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = hs.MetaBandit(dimension=DIMENSION, seed=0).fit(table, task="user")
    monkeypatch.setattr(sources, "BATCH_ROWS", 7)
    assert_same(hs.MetaBandit(dimension=DIMENSION, seed=0).fit(table, task="user"), whole)


def test_partitions_add_up(table: pd.DataFrame) -> None:
    """A Dask frame has partitions behind `to_delayed`; here five of them."""
    dask = pytest.importorskip("dask")

    class Frame:
        def to_delayed(self) -> list[Any]:
            cuts = np.array_split(np.arange(len(table)), 5)
            return [dask.delayed(table.iloc[cut]) for cut in cuts]

    with dask.config.set(scheduler="threads"):
        bandit = hs.MetaBandit(dimension=DIMENSION, seed=0).fit(Frame(), task="user")
    assert_same(bandit, live_bandit(table))


BAD: list[tuple[Any, str]] = [
    (lambda f: f.drop(columns="reward"), "column 'reward'"),
    (
        lambda f: f.assign(reward=np.nan),
        "'reward' must have a value .*, got nan in row 0",
    ),
    (lambda f: f.assign(user=None), "'user' must have a value .*, got None in row 0"),
    (lambda f: f.assign(features=[np.ones(2)] * len(f)), "3 features"),
    (lambda f: f.assign(features=[np.array([1.0, np.inf, 0.0])] * len(f)), "finite"),
    (lambda f: [1, 2, 3], "got int"),
    (lambda f: f.iloc[:0], "at least one row that counts, got 0 rows"),
    (lambda f: [], "an empty list"),
    (lambda f: pd.concat([f, f[["reward"]]], axis=1), "one column 'reward', got several"),
]


@pytest.mark.parametrize(("spoil", "message"), BAD, ids=range(len(BAD)))
def test_bad_logs_change_nothing(spoil: Any, message: str, table: pd.DataFrame) -> None:
    bandit = live_bandit(table)
    before = fingerprint(bandit)
    with pytest.raises(ValueError, match=message):
        bandit.fit(spoil(table), task="user")
    assert fingerprint(bandit) == before


def test_the_command_saves_the_bandit(table: pd.DataFrame, tmp_path: Path) -> None:
    path = parquet(table, tmp_path / "log.parquet")
    out = tmp_path / "bandit.npz"
    done = CliRunner().invoke(app, ["fit", str(path), "--out", str(out), "--task", "user"])
    assert done.exit_code == 0, done.output
    assert "20 tasks with 3 features" in done.output
    assert_same(hs.MetaBandit.load(out), live_bandit(table))
    bad = CliRunner().invoke(app, ["fit", str(path), "--out", str(out), "--task", "missing"])
    assert bad.exit_code == 2
    assert "column 'missing'" in bad.output
