"""Logs with attributes: what their columns teach is what the rows teach, one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import headstart as hs
from headstart.features import Features
from headstart.logs import Columns, LogReading, check_log, n_features

FEATURES = hs.Features(
    item=[
        hs.Number("price", log=True, missing=True),
        hs.Category("brand", levels=["acme", "NA", "Čapek"]),
        hs.Tags("genres", levels=["Action", "Comedy"]),
        hs.Flag("new"),
    ],
    context=[hs.Category("device", buckets=4), hs.Date("at", parts=["hour"])],
    about=[hs.Category("country", levels=["NL", "BE"])],
    cross=[("device", "brand"), ("country", "price")],
)
ROWS: list[dict[str, Any]] = [
    {"task": "ann", "price": 3.5, "brand": "acme", "genres": "Action|Comedy", "new": True,
     "device": "phone", "at": "2024-05-01T06:00:00", "country": "NL", "reward": 1.0},
    {"task": "bob", "price": None, "brand": "NA", "genres": "Drama", "new": False,
     "device": "desktop", "at": "2024-05-01T12:30:00", "country": "BE", "reward": 0.0},
    {"task": "ann", "price": 120.0, "brand": None, "genres": None, "new": None,
     "device": "phone", "at": None, "country": "NL", "reward": 0.0},
    {"task": "ann", "price": 17.0, "brand": "Čapek", "genres": "Comedy", "new": True,
     "device": "tablet", "at": "2024-05-02T23:59:59", "country": "NL", "reward": 1.0},
]  # fmt: skip


def _frame() -> pd.DataFrame:
    return pd.DataFrame(ROWS)


def _logs(folder: Path) -> dict[str, Any]:
    frame = _frame()
    frame.to_csv(folder / "log.csv", index=False)
    frame.to_parquet(folder / "log.parquet")
    typed = pd.DataFrame(
        {
            **{name: frame[name] for name in ("task", "price", "genres", "reward")},
            "brand": frame["brand"].astype("category"),
            "new": frame["new"].astype("boolean"),
            "device": frame["device"].astype("string"),
            "at": pd.to_datetime(frame["at"]),
            "country": frame["country"].astype("category"),
        }
    )
    polars = pl.DataFrame(ROWS).with_columns(
        pl.col("brand").cast(pl.Enum(["NA", "acme", "Čapek"])),
        pl.col("device").cast(pl.Categorical),
        pl.col("at").str.to_datetime(),
        pl.col("genres").str.split("|"),
    )
    arrow = pa.Table.from_pylist(ROWS)
    arrow = arrow.set_column(2, "brand", arrow.column("brand").dictionary_encode())
    return {
        "csv": folder / "log.csv",
        "parquet": folder / "log.parquet",
        "pandas": typed,
        "polars": polars,
        "arrow": arrow,
        "lazy": polars.lazy(),
    }


@pytest.fixture
def settled() -> Features:
    return FEATURES.settled(items=_frame())


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars", "arrow", "lazy"])
def test_a_log_teaches_what_its_rows_do(kind: str, tmp_path: Path, settled: Features) -> None:
    reading = LogReading(_logs(tmp_path)[kind], Columns(features=FEATURES), FEATURES.dimension)
    found = {task.name: task.statistics for task in reading}
    assert reading.columns.schema == settled
    parts = {part: [one.name for one in getattr(settled, part)] for part in ("item", "context")}
    for name, statistics in found.items():
        rows = [row for row in ROWS if row["task"] == name]
        about = {"country": rows[0]["country"]}
        x = np.array(
            [
                settled.encode(
                    {key: row[key] for key in parts["item"]},
                    {key: row[key] for key in parts["context"]},
                    about,
                )
                for row in rows
            ]
        )
        np.testing.assert_allclose(statistics.gram, x.T @ x, atol=1e-14)
        np.testing.assert_allclose(statistics.moment, x.T @ [row["reward"] for row in rows])
        assert statistics.about is not None
        assert statistics.about.tolist() == settled.encode_about(about).tolist()


def test_a_report_speaks_of_the_schemas_columns() -> None:
    assert n_features(_frame(), FEATURES) == FEATURES.dimension
    report = check_log(_frame(), Columns(features=FEATURES))
    assert tuple(scale.name for scale in report.features) == FEATURES.columns
    assert report.n_used == len(ROWS)
    assert report.far_apart() == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [("price", "cheap"), ("price", float("inf")), ("brand", "x" * 1001), ("new", "perhaps"),
     ("at", "yesterday"), ("genres", "|".join(map(str, range(101))))],
)  # fmt: skip
def test_a_row_that_cannot_be_read_is_named_or_left_out(
    name: str, value: object, tmp_path: Path
) -> None:
    rows = [row | {name: value} if i == 1 else row for i, row in enumerate(ROWS)]
    pd.DataFrame(rows).to_csv(tmp_path / "log.csv", index=False)
    columns = Columns(features=FEATURES)
    with pytest.raises(ValueError, match=rf"column '{name}' must .* in row 1 of"):
        list(LogReading(tmp_path / "log.csv", columns, FEATURES.dimension))
    report = check_log(tmp_path / "log.csv", columns)
    assert report.n_bad == 1
    assert report.bad[0].examples[0].row == 1


def test_words_for_a_missing_number_are_missing_in_files_without_types(tmp_path: Path) -> None:
    text = "task,price,brand,reward\nann,NA,NA,1\nann,2,acme,0\nann,null,,1\n"
    (tmp_path / "log.csv").write_text(text)
    features = hs.Features(
        item=[
            hs.Number("price", missing=True),
            hs.Category("brand", levels=["NA"], missing=True),
        ]
    )
    (task,) = LogReading(tmp_path / "log.csv", Columns(features=features), features.dimension)
    counts = dict(zip(features.columns, task.statistics.gram[-1], strict=True))
    assert counts["price missing"] == 2
    assert counts["brand=NA"] == 1
    assert counts["brand other"] == 1
    assert counts["brand missing"] == 1


def test_attributes_must_be_columns_and_side_is_theirs() -> None:
    with pytest.raises(ValueError, match="a column 'price'"):
        check_log(_frame().drop(columns="price"), Columns(features=FEATURES))
    with pytest.raises(ValueError, match="about"):
        Columns(features=FEATURES, about=["age"])


def test_a_bandit_learns_a_log_by_its_schema(tmp_path: Path) -> None:
    bandit = hs.MetaBandit(features=FEATURES, seed=0)
    bandit.fit(_logs(tmp_path)["csv"])
    assert bandit.n_finished == 2
    assert bandit.features == FEATURES.settled(items=_frame())
    decision = bandit.decide(
        "cleo", {"a": {"price": 3}, "b": {}}, context={"device": "phone"}, about={"country": "NL"}
    )
    assert decision.arm in ("a", "b")
    alone = hs.MetaBandit(features=FEATURES, prior=hs.priors.Hierarchical(), seed=0)
    assert alone.fit(_frame()).n_finished == 2


def test_the_first_that_a_log_says_of_a_task_counts() -> None:
    features = hs.Features(
        item=[hs.Category("brand", levels=["a"])], about=[hs.Number("age", mean=40, scale=10)]
    )
    log = pd.DataFrame(
        {
            "user": ["ann", "ann", "bob", "bob"],
            "brand": ["a", None, "a", "b"],
            "age": [30.0, None, 50.0, 60.0],
            "click": [1.0, 0.0, 1.0, 0.0],
        }
    )
    bandit = hs.MetaBandit(features=features, seed=0).fit(log, task="user", reward="click")
    assert bandit.n_finished == 2
