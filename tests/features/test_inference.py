"""A proposal from a log: what columns are, whose they are, and what is left out and why."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import headstart as hs

N_ROWS, N_USERS, N_ITEMS = 3000, 150, 40
COUNTRIES = ("NL", "BE", "DE")
CATEGORIES = ("tea", "coffee", "rum", "milk")


def shop_log() -> pd.DataFrame:
    """A log of a small shop, with everything that a proposal has to tell apart."""
    rng = np.random.default_rng(7)
    prices = np.round(rng.lognormal(3.0, 1.0, N_ITEMS), 2)
    user, item = rng.integers(N_USERS, size=N_ROWS), rng.integers(N_ITEMS, size=N_ROWS)
    likes = np.where((user % 3 == 0) == (item % 4 == 0), 0.2, 0.05)  # country by category
    click = (rng.random(N_ROWS) < likes).astype(int)
    frame = pd.DataFrame(
        {
            "event": [f"e{i}" for i in range(N_ROWS)],
            "user": [f"u{i}" for i in user],
            "item": [f"i{i}" for i in item],
            "title": [f"title {i}" for i in item],
            "price": prices[item],
            "size": rng.normal(10.0, 2.0, N_ITEMS)[item],
            "category": [CATEGORIES[i % 4] for i in item],
            "genres": [("hot|sweet", "hot", "cold")[i % 3] for i in item],
            "new": (item % 5 == 0),
            "country": [COUNTRIES[i % 3] for i in user],
            "age": rng.integers(18, 80, N_USERS)[user].astype(float),
            "device": rng.choice(["phone", "desktop"], N_ROWS),
            "hour": rng.integers(24, size=N_ROWS),
            "at": pd.date_range("2024-01-01", periods=N_ROWS, freq="37min").strftime(
                "%Y-%m-%dT%H:%M:%S"
            ),
            "currency": "EUR",
            "revenue": click * 9.5,
            "clicked_at": np.where(click == 1, 5.0, np.nan),
            "click": click,
        }
    )
    frame.loc[rng.random(N_ROWS) < 0.1, "age"] = np.nan
    ages = frame.groupby("user")["age"].transform("max")
    frame["age"] = np.where(np.isin(user % 7, (1, 2)), np.nan, ages)
    return frame


EXPECTED_LEFT_OUT = {
    "click", "user", "item", "event", "title", "currency", "revenue", "clicked_at", "at"
}  # fmt: skip


def _shape(features: hs.Features) -> dict[str, list[str]]:
    return {
        part: [f"{one.kind} {one.name}" for one in getattr(features, part)]
        for part in ("item", "context", "about")
    }


def test_columns_are_what_they_are() -> None:
    dated = hs.Features.infer(shop_log(), reward="click", task="user")
    assert dated.parts["at"] == "context"
    assert isinstance(dated.attributes["at"], hs.Date)
    features = hs.Features.infer(shop_log(), reward="click", task="user", leave_out=["at"])
    assert _shape(features) == {
        "item": ["number price", "number size", "category category", "tags genres", "flag new"],
        "context": ["category device", "number hour"],
        "about": ["category country", "number age"],
    }
    found = features.attributes
    assert found["price"].log  # type: ignore[union-attr]
    assert not found["size"].log  # type: ignore[union-attr]
    assert found["hour"].period == 24.0  # type: ignore[union-attr]
    assert found["age"].missing
    assert not found["price"].missing
    assert set(found["category"].levels) == set(CATEGORIES)  # type: ignore[union-attr, arg-type]
    assert set(found["genres"].levels) == {"hot", "sweet", "cold"}  # type: ignore[union-attr, arg-type]
    assert features.cross == (("country", "category"),)
    assert features.is_settled
    assert features.report is not None
    assert set(features.report.left_out) == EXPECTED_LEFT_OUT


def test_the_proposal_is_code_that_makes_it() -> None:
    features = hs.Features.infer(shop_log(), reward="click", task="user", item="item")
    assert eval(str(features), {"hs": hs}) == features
    assert hs.Features.from_json(features.to_json()) == features


@pytest.mark.parametrize("kind", ["csv", "parquet", "polars", "arrow", "columns", "dicts"])
def test_all_sources_give_the_same_proposal(kind: str, tmp_path: Path) -> None:
    frame = shop_log()
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_parquet(tmp_path / "log.parquet")
    sources: dict[str, Any] = {
        "csv": tmp_path / "log.csv",
        "parquet": str(tmp_path / "log.parquet"),
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
        "columns": {name: frame[name].tolist() for name in frame},
        "dicts": frame.to_dict("records"),
    }
    expected = hs.Features.infer(frame, reward="click", task="user")
    assert hs.Features.infer(sources[kind], reward="click", task="user") == expected


def test_a_log_is_read_with_its_proposal() -> None:
    from headstart.logs import Columns, check_log

    features = hs.Features.infer(shop_log(), reward="click", task="user")
    columns = Columns(task="user", features=features, reward="click")
    assert check_log(shop_log(), columns).n_used == N_ROWS


def test_a_price_that_changes_at_times_is_still_the_items() -> None:
    frame = shop_log()
    rng = np.random.default_rng(0)
    frame["price"] = np.where(rng.random(N_ROWS) < 0.05, frame["price"] * 0.9, frame["price"])
    features = hs.Features.infer(frame, reward="click", task="user", item="item")
    assert features.parts["price"] == "item"


def test_without_an_item_names_tell_context_from_items() -> None:
    frame = shop_log().drop(columns=["item", "title"])
    frame["category"] = np.random.default_rng(0).permutation(frame["category"])
    frame = frame.drop(columns=["price", "size", "genres", "new"])
    features = hs.Features.infer(frame, reward="click", task="user")
    assert features.parts["category"] == "item"
    assert features.parts["device"] == "context"
    assert features.report is not None
    assert len(features.report.notes) == 1


def test_columns_can_be_left_out_and_must_be_there() -> None:
    features = hs.Features.infer(shop_log(), reward="click", task="user", leave_out=["device"])
    assert "device" not in features.attributes
    with pytest.raises(ValueError, match="a column 'paid'"):
        hs.Features.infer(shop_log(), reward="paid", task="user")
    with pytest.raises(ValueError, match="at least one row"):
        hs.Features.infer(shop_log()[:0], reward="click", task="user")
    only = pd.DataFrame({"task": ["a", "b"], "reward": [0.0, 1.0], "one": 1})
    with pytest.raises(ValueError, match="a column that can be a feature"):
        hs.Features.infer(only)


def _noise(n_tasks: int, **columns: Any) -> pd.DataFrame:
    """A log in which nothing predicts the reward but tastes of users, category by category."""
    rng = np.random.default_rng(4)
    user, item = np.repeat(np.arange(n_tasks), 20), rng.integers(40, size=20 * n_tasks)
    tastes = rng.normal(size=(n_tasks, 4))[user, item % 4]
    items = {f"kind{i}": [f"k{v}" for v in (item + i) % (4 + i)] for i in range(3)}
    about = {f"about{i}": [f"a{v}" for v in rng.integers(5, size=n_tasks)[user]] for i in range(3)}
    frame = {
        "user": user,
        "item": item,
        **items,
        **about,
        "device": rng.choice(["a", "b"], len(user)),
    }
    return pd.DataFrame({**frame, **columns, "click": tastes + rng.normal(size=len(user))})


def test_crosses_of_noise_are_not_proposed() -> None:
    """Eight attributes became d = 289, and most of it was crosses of noise."""
    features = hs.Features.infer(_noise(150), reward="click", task="user", item="item")
    assert features.cross == ()
    assert features.dimension < 25


def test_a_cost_is_noted() -> None:
    wide = np.random.default_rng(0).choice([f"p{i}" for i in range(30)], (3000, 4)).T
    columns = {f"page{i}": column for i, column in enumerate(wide)}
    features = hs.Features.infer(_noise(150, **columns), reward="click", task="user", item="item")
    assert features.report is not None
    assert f"d = {features.dimension} columns" in features.report.notes[-1]


def test_a_bandit_uses_every_attribute_that_is_proposed(caplog: pytest.LogCaptureFixture) -> None:
    features = hs.Features.infer(_noise(150), reward="click", task="user", item="item")
    hs.MetaBandit(features=features, seed=0)
    assert "not used" not in caplog.text
    assert features.report is not None
    proposed = {attribute.name for attribute in features.about}
    about = {"about0", "about1", "about2"}
    assert proposed < about
    assert set(features.report.left_out) >= about - proposed


def test_the_propensity_of_a_log_is_no_attribute() -> None:
    log = hs.environments.Shop(n_items=30).world(seed=0, n_users=100).log(800)
    features = hs.Features.infer(log, reward="click", task="user", item="item")
    assert "propensity" not in features.attributes
    assert features.report is not None
    assert "propensity" in features.report.left_out


@pytest.mark.parametrize("policy", ["popular", "random"])
def test_a_heavy_tail_becomes_a_logarithm_whatever_was_shown(
    policy: Literal["popular", "random"],
) -> None:
    log = hs.environments.Shop(n_items=60).world(seed=0, n_users=400).log(3000, policy=policy)
    popularity = hs.Features.infer(log, reward="click", task="user").attributes["popularity"]
    assert isinstance(popularity, hs.Number)
    assert popularity.log


@pytest.mark.parametrize("digits", [3, 4, 5, 6])
def test_values_that_hardly_repeat_are_no_leak(digits: int) -> None:
    rng = np.random.default_rng(digits)
    for _ in range(5):
        log = pd.DataFrame(
            {
                "user": rng.integers(100, size=1000),
                "brand": rng.choice(["a", "b"], 1000),
                "x": rng.random(1000).round(digits),
                "click": (rng.random(1000) < 0.3).astype(float),
            }
        )
        assert "x" in hs.Features.infer(log, reward="click", task="user").attributes


def test_a_csv_file_has_the_levels_that_fit_reads(tmp_path: Path) -> None:
    rows = ["user,country,price,click"]
    rows += [
        f"{i % 20},{('NL', 'NA')[i % 3 == 0]},{('NA', 1.37 * (i % 37))[i % 5 > 0]},{i % 2}"
        for i in range(200)
    ]
    file = tmp_path / "log.csv"
    file.write_text("\n".join(rows))
    attributes = hs.Features.infer(str(file), reward="click", task="user").attributes
    country, price = attributes["country"], attributes["price"]
    assert isinstance(country, hs.Category)
    assert country.levels is not None
    assert set(country.levels) == {"NL", "NA"}
    assert isinstance(price, hs.Number)
    assert price.missing


def test_an_index_in_a_file_is_ignored(tmp_path: Path) -> None:
    frame = shop_log()
    frame.to_csv(tmp_path / "log.csv")
    expected = hs.Features.infer(frame, reward="click", task="user")
    again = pd.read_csv(tmp_path / "log.csv", keep_default_na=False, na_values=[""])
    for log in (tmp_path / "log.csv", again):
        assert hs.Features.infer(log, reward="click", task="user") == expected
    bandit = hs.MetaBandit(features=expected, seed=0)
    bandit.fit(tmp_path / "log.csv", reward="click", task="user")
    assert bandit.n_finished == frame["user"].nunique()
