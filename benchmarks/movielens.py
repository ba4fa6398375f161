"""MovieLens with raw attributes: reward per round beside features that are numbers already.

`python -m benchmarks.movielens` prints the table of docs/how-to/features.md. Every round offers one
film that the user rated 4 or 5 and four that it rated at most 3; the reward is 1 for the first. The
random choices of half of the users are the log that a bandit is fitted to; the others are then
played, and learned from as they come. The data are found as `Ratings.movielens` finds them.
"""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd

import headstart as hs
from headstart.arrays import Floats, Integers
from headstart.datasets.locations import locate
from headstart.datasets.published import MOVIELENS
from headstart.environments import AllUsers, Ratings
from headstart.intervals import interval

AGES = {1: "under 18", 18: "18-24", 25: "25-34", 35: "35-44", 45: "45-49", 50: "50-55", 56: "56+"}
OCCUPATIONS = (
    "other", "academic/educator", "artist", "clerical/admin", "college/grad student",
    "customer service", "doctor/health care", "executive/managerial", "farmer", "homemaker",
    "K-12 student", "lawyer", "programmer", "retired", "sales/marketing", "scientist",
    "self-employed", "technician/engineer", "tradesman/craftsman", "unemployed", "writer",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Data:
    """The films and users after the paper's filter, as text and as numbers."""

    environment: Ratings

    @classmethod
    def found(cls) -> "Data":
        """The data where they are found."""
        return cls(environment=Ratings.movielens(grouping=AllUsers(), reward="linear"))

    @cached_property
    def films(self) -> list[dict[str, Any]]:
        """Genres and year of every film, as the publisher writes them."""
        known = {}
        for line in _lines("movies.dat"):
            film, title, genres = line.split("::")
            year = re.search(r"\((\d{4})\)\s*$", title)
            known[int(film)] = {"genres": genres, "year": None if year is None else int(year[1])}
        return [known[film] for film in self.environment.filtered.item_names.tolist()]

    @cached_property
    def users(self) -> list[dict[str, str]]:
        """Gender, age and occupation of every user, in words."""
        known = {}
        for line in _lines("users.dat"):
            user, gender, age, occupation, _ = line.split("::")
            words = AGES[int(age)], OCCUPATIONS[int(occupation)]
            known[int(user)] = {"gender": gender, "age": words[0], "occupation": words[1]}
        return [known[user] for user in self.environment.filtered.user_names.tolist()]

    @cached_property
    def vectors(self) -> Floats:
        """The films' vectors of the environment: an SVD of all ratings, those of players too."""
        return self.environment.embedding.items

    @cached_property
    def by_hand(self) -> Floats:
        """Genres as 0 and 1, years in decades since 1980, and a constant."""
        genres = sorted({genre for film in self.films for genre in film["genres"].split("|")})
        rows = [
            [float(genre in film["genres"].split("|")) for genre in genres]
            + [(film["year"] - 1980) / 10.0, 1.0]
            for film in self.films
        ]
        return np.array(rows)

    def rounds(self, user: int, n: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """The films (n, 5) of a user's rounds, and which of them is the liked one, (n,)."""
        sets = self.environment.decision_sets
        films = sets.sample(user, rng.random((n, 10)))
        table = self.environment.filtered
        own = table.users == user
        rating = dict(zip(table.items[own].tolist(), table.ratings[own].tolist(), strict=True))
        liked = np.array([[rating[film] >= 4.0 for film in row] for row in films.tolist()])
        return films, liked.argmax(1)


def _lines(file: str) -> list[str]:
    path = locate(MOVIELENS.folder, file, command=MOVIELENS.name, data=None)
    return path.read_bytes().decode("latin-1").splitlines()


class Player:
    """A bandit, fitted to a log, and how it is told of users and films."""

    def __init__(self, data: Data, log: pd.DataFrame) -> None:
        self.data = data

    def play(self, user: int, films: Integers, liked: Integers) -> float:
        """The rewards of one user's rounds."""
        raise NotImplementedError


class Uniform(Player):
    """One of five at random."""

    def play(self, user: int, films: Integers, liked: Integers) -> float:
        """A fifth of the rounds."""
        return float(len(films) / films.shape[1])


class Numbers(Player):
    """Features that are numbers."""

    def __init__(self, data: Data, log: pd.DataFrame) -> None:
        super().__init__(data, log)
        self.features = self.of_films()
        self.bandit = hs.MetaBandit(dimension=self.features.shape[1], seed=0)
        frame = log[["user", "reward"]].assign(x=list(self.features[log["film"]]))
        self.bandit.fit(frame, task="user", features="x")

    def of_films(self) -> Floats:
        """The features (m, d) of all films."""
        raise NotImplementedError

    def play(self, user: int, films: Integers, liked: Integers) -> float:
        """Decide, round by round."""
        total = 0.0
        for row, best in zip(films, liked.tolist(), strict=True):
            decision = self.bandit.decide(f"u{user}", self.features[row])
            reward = float(decision.arm == best)
            self.bandit.reward(decision.id, reward)
            total += reward
        return total


class Vectors(Numbers):
    """The environment's vectors of films, made of all ratings."""

    def of_films(self) -> Floats:
        """The vectors."""
        return self.data.vectors


class ByHand(Numbers):
    """Genres and year as a user of numbers would write them."""

    def of_films(self) -> Floats:
        """The numbers."""
        return self.data.by_hand


class Raw(Player):
    """A schema of one line per attribute; the attributes are as the publisher has them."""

    crosses: Sequence[tuple[str, str]] = ()

    def __init__(self, data: Data, log: pd.DataFrame) -> None:
        super().__init__(data, log)
        self.items = self.films()
        frame = log.join(pd.DataFrame(self.items), on="film").join(
            pd.DataFrame(data.users), on="user"
        )
        # Attributes of users are used where they are crossed, as for numbers there are none.
        prior = hs.priors.Hierarchical()
        self.bandit = hs.MetaBandit(features=self.schema(frame), prior=prior, seed=0)
        self.bandit.fit(frame, task="user")

    def films(self) -> Sequence[Mapping[str, Any]]:
        """The attributes of films."""
        return self.data.films

    def schema(self, frame: pd.DataFrame) -> hs.Features:
        """The schema."""
        return hs.Features(
            item=self.attributes(),
            about=[
                hs.Category("gender", levels=["F", "M"]),
                hs.Category("age", levels=list(AGES.values())),
                hs.Category("occupation", levels=list(OCCUPATIONS)),
            ],
            cross=self.crosses,
        )

    def attributes(self) -> list[Any]:
        """Those of films."""
        genres = sorted({genre for film in self.data.films for genre in film["genres"].split("|")})
        return [hs.Tags("genres", levels=genres), hs.Number("year")]

    def play(self, user: int, films: Integers, liked: Integers) -> float:
        """Decide, round by round."""
        total = 0.0
        for row, best in zip(films.tolist(), liked.tolist(), strict=True):
            items = [self.items[film] for film in row]
            decision = self.bandit.decide(f"u{user}", items, about=self.data.users[user])
            reward = float(decision.arm == best)
            self.bandit.reward(decision.id, reward)
            total += reward
        return total


class Crossed(Raw):
    """With what each gender, age and occupation thinks of older films, and genders of genres."""

    crosses = (
        ("gender", "genres"), ("gender", "year"), ("age", "year"), ("occupation", "year"),
    )  # fmt: skip


class Inferred(Raw):
    """The schema that `Features.infer` proposes for the log."""

    def schema(self, frame: pd.DataFrame) -> hs.Features:
        """The proposal."""
        return hs.Features.infer(frame, task="user", item="film")


class RawAndVectors(Raw):
    """Raw attributes and the environment's vectors together."""

    def films(self) -> Sequence[Mapping[str, Any]]:
        """The attributes of films, and their vectors."""
        pairs = zip(self.data.films, self.data.vectors.tolist(), strict=True)
        return [{**film, "vector": vector} for film, vector in pairs]

    def attributes(self) -> list[Any]:
        """Those of films, and their vectors."""
        return [*super().attributes(), hs.Vector("vector", self.data.vectors.shape[1])]


PLAYERS: Mapping[str, Callable[[Data, pd.DataFrame], Player]] = {
    "at random": Uniform,
    "numbers by hand: genres as 0 and 1, year": ByHand,
    "raw genres and year": Raw,
    "raw genres and year, crossed with gender, age, occupation": Crossed,
    "the schema of `Features.infer`": Inferred,
    "numbers of an SVD of all ratings": Vectors,
    "raw genres and year, and those numbers": RawAndVectors,
}


def replication(seed: int, n_train: int, n_test: int, horizon: int) -> dict[str, float]:
    """The reward per round of every player, for the same users and rounds."""
    data, rng = Data.found(), np.random.default_rng(seed)
    users = rng.permutation(data.environment.decision_sets.eligible)
    log = []
    for user in users[:n_train].tolist():
        films, liked = data.rounds(user, horizon, rng)
        choices = rng.integers(films.shape[1], size=horizon)
        for t in range(horizon):
            reward = float(choices[t] == liked[t])
            log.append({"user": user, "film": int(films[t, choices[t]]), "reward": reward})
    tests = [(user, *data.rounds(user, horizon, rng)) for user in users[n_train:][:n_test].tolist()]
    frame = pd.DataFrame(log)
    return {
        name: sum(player.play(*test) for test in tests) / (len(tests) * horizon)
        for name, player in ((name, make(data, frame)) for name, make in PLAYERS.items())
    }


def main() -> None:
    """Play and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=10)
    parser.add_argument("--train", type=int, default=200)
    parser.add_argument("--test", type=int, default=100)
    parser.add_argument("--horizon", type=int, default=30)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    rest = given.train, given.test, given.horizon
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
        pending = [pool.submit(replication, seed, *rest) for seed in range(given.replications)]
        found = [one.result() for one in pending]
    print("| features | reward per round | beside numbers by hand |")
    print("|---|---|---|")
    base = np.array([one[list(PLAYERS)[1]] for one in found])
    for name in PLAYERS:
        rewards = np.array([one[name] for one in found])
        print(f"| {name} | {interval(rewards):.3f} | {interval(rewards - base):+.3f} |")


if __name__ == "__main__":
    main()
