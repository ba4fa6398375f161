"""The bits of features: the same in Python, from files and frames, and in another process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.features.golden import FILE, ROWS, bits

import headstart as hs
from headstart.features import Features
from headstart.logs import Columns, sources
from headstart.logs.rows import read_fields
from headstart.logs.values import KeyColumn

GOLDEN = json.loads(FILE.read_text(encoding="utf-8"))
SCHEMA = hs.Features.from_plain(GOLDEN["schema"])
EXPECTED = [vector["x"] for vector in GOLDEN["vectors"]]
SIDES = [vector["z"] for vector in GOLDEN["vectors"]]
MERGED = [{**row["item"], **row["context"], **row["about"]} for row in ROWS]


def _encoded(schema: Features) -> list[list[str]]:
    return [bits(schema.encode(row["item"], row["context"], row["about"])) for row in ROWS]


def test_the_schema_has_the_columns_of_the_file() -> None:
    assert list(SCHEMA.columns) == GOLDEN["columns"]


def test_rows_in_python() -> None:
    assert _encoded(SCHEMA) == EXPECTED
    assert [bits(SCHEMA.encode_about(row["about"])) for row in ROWS] == SIDES


def test_after_a_way_through_json() -> None:
    assert _encoded(hs.Features.from_json(SCHEMA.to_json())) == EXPECTED


def test_after_a_way_through_a_saved_bandit(tmp_path: Path) -> None:
    prior = hs.priors.Hierarchical(covariance="isotropic")
    hs.MetaBandit(features=SCHEMA, prior=prior).save(tmp_path / "bandit.npz")
    loaded = hs.MetaBandit.load(tmp_path / "bandit.npz").features
    assert isinstance(loaded, Features)
    assert _encoded(loaded) == EXPECTED


def test_arms_of_a_decision() -> None:
    items = SCHEMA.encode_items({i: row["item"] for i, row in enumerate(ROWS)})
    for i, row in enumerate(ROWS):
        context, task = SCHEMA.encode_context(row["context"]), SCHEMA.encode_about(row["about"])
        assert bits(SCHEMA.arms(items.matrix, context, task)[i]) == EXPECTED[i]


def _frames() -> dict[str, Any]:
    frame = pd.DataFrame(MERGED)
    typed = frame.assign(
        brand=frame["brand"].astype("category"),
        country=frame["country"].astype("string"),
        new=frame["new"].astype("boolean"),
        at=pd.to_datetime(frame["at"], format="ISO8601"),
        hour=frame["hour"].astype("Float64"),
    )
    polars = pl.DataFrame(MERGED).with_columns(
        pl.col("at").str.to_datetime(), pl.col("device").cast(pl.Categorical)
    )
    return {"pandas": typed, "polars": polars, "arrow": pa.Table.from_pylist(MERGED)}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_columns_of_frames(kind: str) -> None:
    frame = _frames()[kind]
    x, z = SCHEMA.encode_log({name: frame[name] for name in SCHEMA.attributes})
    assert [bits(row) for row in x] == EXPECTED
    assert [bits(row) for row in z] == SIDES


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "pandas", "polars", "arrow"])
def test_logs(kind: str, tmp_path: Path) -> None:
    log: Any = tmp_path / f"log.{kind}"
    frame = pd.DataFrame(MERGED).assign(task="ann", reward=1.0)
    if kind in ("csv", "tsv"):
        lists = ("genres", "words", "embedding")
        text: dict[str, Any] = {
            name: [None if v is None else json.dumps(v) for v in frame[name]] for name in lists
        }
        frame.assign(**text).to_csv(log, index=False, sep="\t" if kind == "tsv" else ",")
    elif kind == "parquet":
        frame.to_parquet(log)
    elif kind == "pandas":
        log = _frames()["pandas"].assign(task="ann", reward=1.0)
    else:
        rows = [row | {"task": "ann", "reward": 1.0} for row in MERGED]
        log = pl.DataFrame(rows) if kind == "polars" else pa.Table.from_pylist(rows)
    columns = Columns(features=SCHEMA)
    (piece,) = sources.pieces(log, columns.names(), only_empty_is_missing=True)
    keys = KeyColumn("task"), KeyColumn("")
    found = [
        read_fields(batch, columns, SCHEMA.dimension, piece, 0, keys) for batch in piece.batches()
    ]
    assert all(not fields.refused for fields in found)
    x = np.concatenate([fields.features for fields in found])
    assert [bits(row) for row in x] == EXPECTED


def test_another_process() -> None:
    code = (
        "import sys; from tests.features import test_golden as t; "
        "sys.exit(t._encoded(t.SCHEMA) != t.EXPECTED)"
    )
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
