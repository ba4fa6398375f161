"""What real people chose, rated and answered, as tasks whose arms all have known rewards.

The folders are searched in $HEADSTART_DATA or beside the repository (../shared/data); their README
files have the sources and licences. A task is one person, or one subject for MMLU-Pro.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headstart.arrays import Floats, Integers

# How many people are taken where a data set has thousands, and how many before them give the jokes
# their features.
MOST_PEOPLE = 500
BEFORE = 2000


@dataclass(frozen=True, eq=False)
class Rounds:
    """What one person is offered: T rounds of K arms, and what each of them would pay."""

    arms: Floats  # (T, K, d)
    rewards: Floats  # (T, K)
    items: Integers | None = None  # (T, K), which item an arm is; None if arms are no items


# The people of a data set, in its order; a generator says which rows meet in a round.
People = Callable[[np.random.Generator], list[Rounds]]


class PeopleMissing(FileNotFoundError):  # noqa: N818 - as FileNotFoundError, without "Error"
    """A file of people's choices is in none of the searched folders."""


def _file(*parts: str) -> Path:
    beside = Path(__file__).parents[2] / "shared" / "data"
    folders = [Path(folder) for folder in (os.environ.get("HEADSTART_DATA"), beside) if folder]
    for folder in folders:
        if folder.joinpath(*parts).is_file():
            return folder.joinpath(*parts)
    where = " or ".join(map(str, folders))
    raise PeopleMissing(f"{'/'.join(parts)} is not in {where}; set $HEADSTART_DATA")


def _alike(columns: Any) -> Floats:
    """Columns with mean 0 and standard deviation 1, and a constant."""
    values = np.asarray(columns, dtype=np.float64)
    spread = values.std(0)
    values = (values - values.mean(0)) / np.where(spread > 0.0, spread, 1.0)
    return np.concatenate([values, np.ones((len(values), 1))], 1)


def _situations(file: str, alternatives: int, features: Sequence[str]) -> People:
    """Choices among described alternatives: 1 for the one that the person chose."""
    table = pd.read_csv(_file("people", "conjoint", file))
    table["none"] = (table[list(features)] == 0.0).all(axis=1).astype(float)
    names = [*features, "none"] if table["none"].any() else list(features)
    table[[*names, "1"]] = _alike(table[names])
    shape = (-1, alternatives)
    people = [
        Rounds(own[[*names, "1"]].to_numpy().reshape(*shape, len(names) + 1),
               own["chosen"].to_numpy(float).reshape(shape))
        for _, own in table.groupby("respondent", sort=False)
    ]  # fmt: skip
    return lambda rng: people


def electricity() -> People:
    """Contracts for electricity: 12 situations of 4."""
    return _situations("electricity.csv", 4, ["pf", "cl", "loc", "wk", "tod", "seas"])


def camera() -> People:
    """Cameras: 16 situations of 4, or none of them."""
    brands = ["canon", "sony", "nikon", "panasonic"]
    rest = ["pixels", "zoom", "video", "swivel", "wifi", "price"]
    return _situations("camera.csv", 5, brands + rest)


def bank() -> People:
    """Pairs of credit cards, coded as half of their difference for the one, minus it for the other.

    The order of a pair says nothing, so the first of each is a random one.
    """
    table = pd.read_csv(_file("people", "conjoint", "bank_pairs.csv"))
    names = [name for name in table.columns if name not in ("id", "choice")]

    def people(rng: np.random.Generator) -> list[Rounds]:
        found = []
        for _, own in table.groupby("id", sort=False):
            half = own[names].to_numpy(float)[:, None] / 2.0 * np.array([1.0, -1.0])[:, None]
            chosen = np.stack([own["choice"] == 1, own["choice"] != 1], 1).astype(float)
            order = rng.permuted(np.tile([0, 1], (len(own), 1)), axis=1)
            arms = np.take_along_axis(half, order[..., None], 1)
            found.append(Rounds(arms, np.take_along_axis(chosen, order, 1)))
        return found

    return people


def _in_sets(n_rounds: int, n_arms: int, rows: Sequence[tuple[Floats, Floats, Integers]]) -> People:
    """Disjoint random sets of each person's rows: features, rewards and items."""

    def people(rng: np.random.Generator) -> list[Rounds]:
        found = []
        for features, rewards, items in rows:
            order = rng.permutation(len(rewards))[: n_rounds * n_arms].reshape(n_rounds, n_arms)
            found.append(Rounds(features[order], rewards[order], items[order]))
        return found

    return people


def coupons() -> People:
    """Would this driver use the coupon? 7 sets of 3 of a driver's 22 situations, each used once."""
    table = pd.read_csv(_file("people", "coupons", "coupons.csv"), dtype=str).fillna("")
    kinds = ["destination", "passenger", "weather", "temperature", "time", "coupon", "expiration"]
    ways = ["toCoupon_GEQ15min", "toCoupon_GEQ25min", "direction_same"]
    x = _alike(pd.get_dummies(table[kinds + ways], drop_first=True))
    y = np.asarray(table["Y"] == "1", dtype=np.float64)
    item = np.asarray(table.groupby(["coupon", "expiration"]).ngroup(), dtype=np.int64)
    places = table.groupby("respondent").indices.values()
    return _in_sets(7, 3, [(x[own], y[own], item[own]) for own in places if len(own) >= 21])


def jester() -> People:
    """Jokes: 15 sets of 6, with 8 numbers of a decomposition of other people's ratings."""
    table = pd.read_csv(_file("people", "jester5k", "ratings.csv.gz"))
    ratings = table.pivot_table(index="user", columns="joke", values="rating").to_numpy()
    before, after = ratings[:BEFORE], ratings[BEFORE:]
    centred = np.nan_to_num(before - np.nanmean(before, 1, keepdims=True))
    features = _alike(np.linalg.svd(centred, full_matrices=False)[2][:8].T)
    whole = after[~np.isnan(after).any(1)][:MOST_PEOPLE]
    jokes = np.arange(len(features))
    return _in_sets(15, 6, [(features, own / 20.0 + 0.5, jokes) for own in whole])


def movielens(n_rounds: int, n_arms: int = 10) -> People:
    """Films: is it one that the person rates 4 or 5? Films have genres and a year."""
    known = {}
    for line in _file("ml-1m", "movies.dat").read_text("latin-1").splitlines():
        film, title, genres = line.split("::")
        year = re.search(r"\((\d{4})\)\s*$", title)
        known[int(film)] = dict.fromkeys(genres.split("|"), 1.0) | {
            "year": 1980.0 if year is None else float(year[1])
        }
    films = pd.DataFrame.from_dict(known, orient="index").fillna(0.0)
    x, place = _alike(films), {film: i for i, film in enumerate(films.index)}
    table = pd.read_csv(_file("ml-1m", "ratings.dat"), sep=":", header=None, usecols=[0, 2, 4])
    table.columns = pd.Index(["user", "film", "rating"])
    table["place"] = table["film"].map(place)
    rows: list[tuple[Floats, Floats, Integers]] = []
    for _, own in table.groupby("user", sort=False):
        if len(own) >= n_rounds * n_arms and len(rows) < MOST_PEOPLE:
            items = np.asarray(own["place"], dtype=np.int64)
            rows.append((x[items], np.asarray(own["rating"] >= 4, dtype=np.float64), items))
    return _in_sets(n_rounds, n_arms, rows)


def mmlu_pro(n_rounds: int = 56) -> People:
    """Which language model answers right? 26 models with family, kind and size as attributes."""
    questions = pd.read_parquet(_file("people", "mmlu_pro_routing", "questions.parquet"))
    correct = pd.read_parquet(_file("people", "mmlu_pro_routing", "correct.parquet"))
    correct = correct.dropna(axis=1)
    size = [re.search(r"(\d+)x?(\d*)[bB]", name) for name in correct.columns]
    families = pd.get_dummies(correct.columns.str.split(r"[-_.\d]", regex=True).str[0])
    numbers = np.array([
        [float("nan") if match is None else np.log(float(match[1]) * float(match[2] or 1)),
         float("nstruct" in name or "hat" in name)]
        for name, match in zip(correct.columns, size, strict=True)
    ])  # fmt: skip
    numbers[:, 0] = np.nan_to_num(numbers[:, 0], nan=np.nanmean(numbers[:, 0]))
    x, models = _alike(np.concatenate([numbers, families], 1)), np.arange(correct.shape[1])
    subject = questions.loc[correct.index]
    answers = [
        own.to_numpy(float)
        for _, own in correct.groupby([subject["category"], subject["src"]])
        if len(own) >= 20
    ]

    def people(rng: np.random.Generator) -> list[Rounds]:
        found = []
        for rewards in answers:
            rows = rewards[rng.permutation(len(rewards))[:n_rounds]]
            shape = *rows.shape, x.shape[1]
            found.append(Rounds(np.broadcast_to(x, shape), rows, np.tile(models, (len(rows), 1))))
        return found

    return people


DATA: Mapping[str, Callable[[], People]] = {
    "electricity": electricity,
    "camera": camera,
    "bank": bank,
    "coupons": coupons,
    "jester": jester,
    "mmlu-pro": mmlu_pro,
    "movielens 5": lambda: movielens(5),
    "movielens 15": lambda: movielens(15),
    "movielens 40": lambda: movielens(40),
}


@cache
def people_of(name: str) -> People:
    """The people of a data set, read once."""
    return DATA[name]()
