"""Logs of decisions: both forms, Parquet and CSV, and rows that are refused."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.logs import DecisionColumns, read_decisions

CATALOGUE = {"tea": np.array([1.0, 0.0]), "milk": np.array([0.0, 1.0])}


def frame(n: int = 12) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((n, 3, 2))
    return pd.DataFrame(
        {
            "task": [f"u{i // 4}" for i in range(n)],
            "arms": [each.tolist() for each in arms],
            "choice": rng.integers(3, size=n),
            "reward": rng.standard_normal(n),
            "propensity": np.full(n, 1 / 3),
            "all": [[1 / 3] * 3 for _ in range(n)],
            "time": np.arange(n)[::-1],
        }
    )


def written(table: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        table.to_parquet(path)
    else:
        texts = {name: table[name].map(json.dumps) for name in ("arms", "all")}
        table.assign(**texts).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", ["log.parquet", "log.csv"])
def test_a_file_is_read_as_its_table(tmp_path: Path, name: str) -> None:
    table = frame()
    columns = DecisionColumns(propensities="all")
    found = read_decisions(written(table, tmp_path / name), columns, 2)
    np.testing.assert_allclose(
        np.array([found.arms[i] for i in range(12)]), np.array(table["arms"].tolist())
    )
    np.testing.assert_array_equal(found.choices, table["choice"])
    np.testing.assert_allclose(found.rewards, table["reward"])
    assert found.propensities_of_all is not None
    np.testing.assert_allclose(found.propensities_of_all, np.full((12, 3), 1 / 3))
    assert list(found.tasks) == list(table["task"])


def test_rounds_are_in_the_order_of_their_times() -> None:
    table = frame()
    found = read_decisions(table, DecisionColumns(time="time"), 2)
    np.testing.assert_allclose(found.rewards, table["reward"][::-1])
    assert list(found.tasks) == list(table["task"])[::-1]


def test_arms_of_a_catalogue() -> None:
    table = frame().assign(item=["tea", "milk"] * 6)
    found = read_decisions(table, DecisionColumns(arm="item"), 2, catalogue=CATALOGUE)
    assert found.arms.shape == (12, 2, 2)
    np.testing.assert_array_equal(found.arms[7], np.eye(2))
    np.testing.assert_array_equal(found.choices, [0, 1] * 6)


@pytest.mark.parametrize("schema", [False, True])
def test_the_arms_of_a_catalogue_are_stored_once(schema: bool) -> None:
    """20,000 rounds among 1,000 items of 20 features would be 3.2 GB."""
    n = 20_000
    names = [f"x{a}" for a in range(20)]
    numbers = np.random.default_rng(0).standard_normal((1000, 20))
    frame = pd.DataFrame({"task": np.arange(n) // 10, "item": "i7", "reward": 0.0})
    features = hs.Features(item=[hs.Number(name, mean=0, scale=1) for name in names])
    rows: Any = [dict(zip(names, x.tolist(), strict=True)) for x in numbers] if schema else numbers
    found = read_decisions(
        frame.assign(propensity=0.5),
        DecisionColumns(arm="item", features=features if schema else None),
        features.dimension if schema else 20,
        catalogue={f"i{i}": x for i, x in enumerate(rows)},
    )
    assert found.arms.shape == (n, 1000, 21 if schema else 20)
    np.testing.assert_allclose(found.arms[n - 1][:, :20], numbers)
    again = dataclasses.replace(found, rewards=np.ones(n))
    np.testing.assert_array_equal(again.arms[3], found.arms[5])


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("choice", 5, 3, "'choice' must be the index of one of 3 arms, got 3 in row 5"),
        ("reward", 2, float("nan"), "'reward' must be finite, got .* in row 2"),
        ("propensity", 7, 0.0, "'propensity' must be above 0 and at most 1, got 0.0 in row 7"),
        ("task", 1, None, "'task' must have a value, got None in row 1"),
        ("arms", 4, [[1.0, 2.0]], "as many arms in every row as in the first, 3, got .* in row 4"),
        ("arms", 6, [[1.0], [2.0], [3.0]], "'arms' must hold 2 numbers per arm, got .* in row 6"),
        ("all", 3, [0.5, 0.5], "'all' must hold 3 numbers, got .* in row 3"),
    ],
)
def test_a_bad_row_is_named(column: str, row: int, value: Any, message: str) -> None:
    table = frame()
    table[column] = [value if i == row else each for i, each in enumerate(table[column])]
    with pytest.raises(ValueError, match=message):
        read_decisions(table, DecisionColumns(propensities="all"), 2)


def test_an_arm_that_is_not_in_the_catalogue_is_named() -> None:
    table = frame().assign(item=["tea"] * 11 + ["rum"])
    columns = DecisionColumns(arm="item")
    with pytest.raises(ValueError, match="must be an arm of the catalogue, got 'rum' in row 11"):
        read_decisions(table, columns, 2, catalogue=CATALOGUE)
    with pytest.raises(ValueError, match="the catalogue is empty"):
        read_decisions(table, columns, 2)


def test_progress_counts_rows_and_rounds() -> None:
    seen: list[tuple[int, int]] = []
    found = read_decisions(frame(), DecisionColumns(), 2, progress=lambda *at: seen.append(at))
    assert seen[-1] == (12, 12)
    bandit = hs.MetaBandit(dimension=2, policy=hs.policies.Uniform(), seed=0)
    seen.clear()
    hs.evaluate_logged(bandit, found, progress=lambda *at: seen.append(at))
    assert seen == [(12, 12)]


def test_a_row_with_too_few_columns_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("task,arm,reward,propensity\nann,tea,1,0.5\nbob,tea,1\n")
    said = r"every row must have 4 columns, as the first line has, got 3 in row 1 of .*log\.csv"
    with pytest.raises(ValueError, match=said):
        read_decisions(path, DecisionColumns(arm="arm"), 1, catalogue={"tea": np.ones(1)})


SCHEMA = hs.Features(
    item=[hs.Number("price", mean=2.0, scale=1.0), hs.Category("brand", levels=["a"])],
    context=[hs.Category("device", levels=["phone"])],
    about=[hs.Category("country", levels=["NL"])],
    cross=[("device", "price"), ("country", "brand")],
)
ITEMS: dict[str, dict[str, Any]] = {"tea": {"price": 1.0, "brand": "a"}, "rum": {"price": 5.0}}


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("named", [True, False])
def test_rounds_with_attributes_are_the_arms_of_their_contexts(
    form: str, named: bool, tmp_path: Path
) -> None:
    rows: list[dict[str, Any]] = [
        {"task": "ann", "device": "phone", "country": "NL", "arm": "rum", "reward": 1.0},
        {"task": "bob", "device": "desktop", "country": None, "arm": "tea", "reward": 0.0},
    ]
    shown: Any = [list(ITEMS.values())] * 2
    frame = pd.DataFrame(rows).assign(propensity=0.5, choice=[1, 0], arms=shown)
    log: Any = frame
    if form == "csv":
        log = tmp_path / "log.csv"
        frame.assign(arms=json.dumps(list(ITEMS.values()))).to_csv(log, index=False)
    elif form == "parquet":
        log = tmp_path / "log.parquet"
        frame.to_parquet(log)
    columns = DecisionColumns(arm="arm" if named else None, features=SCHEMA)
    found = read_decisions(log, columns, SCHEMA.dimension, catalogue=ITEMS if named else None)
    expected = [
        [
            SCHEMA.encode(item, {"device": row["device"]}, {"country": row["country"]})
            for item in ITEMS.values()
        ]
        for row in rows
    ]
    assert found.arms.shape == (2, 2, SCHEMA.dimension)
    assert [found.arms[i].tolist() for i in range(2)] == np.array(expected).tolist()
    assert found.choices.tolist() == [1, 0]


def test_a_schema_for_decisions_is_settled_and_its_items_are_named() -> None:
    log = pd.DataFrame({"task": ["a"], "arm": ["tea"], "reward": 1.0, "propensity": 1.0})
    open_schema = hs.Features(item=[hs.Number("price")])
    columns = DecisionColumns(arm="arm", features=open_schema)
    with pytest.raises(ValueError, match="mean and scale"):
        read_decisions(log, columns, open_schema.dimension, catalogue=ITEMS)
    flat = hs.Features(item=[hs.Flag("new")])
    columns = DecisionColumns(features=flat)
    arms: Any = [[{"new": True}, {"newer": True}]]
    rows = log.assign(arms=arms, choice=0)
    with pytest.raises(ValueError, match=r"column 'arms' in row 0.*newer"):
        read_decisions(rows, columns, flat.dimension)
