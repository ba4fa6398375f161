"""Whether the verdict of `headstart trial` agrees with what playing the bandit then earns.

`python -m benchmarks.trial` asks for the verdict on six made logs and six of real people
(`trial_logs`), plays tasks of the same kind with headstart, one model for all and each task alone,
and writes the table to benchmarks/trial.md. The verdict comes from a log of random choices, and
playing sees nothing of that log. headstart is as it comes, and one model for all is the same bandit
with everything as one task; the penalty and confidence of each task alone are tuned on a quarter of
the tasks. Intervals are paired, over tasks and orders of tasks.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.people_data import Rounds
from benchmarks.people_players import (
    OWN,
    Headstart,
    Player,
    play,
)
from benchmarks.trial_logs import MADE, REAL, Case

import headstart as hs
from headstart.arrays import Floats, Integers
from headstart.intervals import Interval, interval_from, standard_errors

OURS, ONE, ALONE = "headstart", "one model", "each task alone"
PAGE = Path(__file__).with_suffix(".md")
# Why playing disagrees: guesses, which no experiment has tested.
WHY = {
    "coupons": "headstart predicts these people better, and earns less than the same bandit with "
    "one task; in seven decisions per person, better predictions may not repay what it explores.",
    "movielens 15": "one model that knows a person's level predicts as well, and headstart earns "
    "more than it all the same; the two do not explore alike.",
    "a leak": "this is without the column. headstart and each task alone, whose penalty and "
    "confidence are tuned, earn the same within the interval.",
}


class Alone:
    """A ridge regression of each task's own rewards, with a confidence bound."""

    def __init__(self, dimension: int, *, own: float, z: float) -> None:
        self._dimension, self._own, self._z = dimension, own, z

    def begin(self, person: int) -> None:
        """Nothing is known of a new task."""
        self._inverse, self._moment = np.eye(self._dimension) / self._own, np.zeros(self._dimension)

    def choose(self, arms: Floats, items: Integers | None) -> int:
        """The arm of the largest upper end."""
        widths = np.sqrt(np.maximum(((arms @ self._inverse) * arms).sum(-1), 0.0))
        k = int((arms @ (self._inverse @ self._moment) + self._z * widths).argmax())
        self._x = arms[k]
        return k

    def learn(self, reward: float) -> None:
        """One more reward of the task."""
        u = self._inverse @ self._x
        self._inverse = self._inverse - np.outer(u, u) / (1.0 + self._x @ u)
        self._moment = self._moment + reward * self._x


class OneTask(Headstart):
    """One model for all: the same bandit, for which everything is one task."""

    def begin(self, person: int) -> None:
        """No new task."""
        super().begin(0)


@dataclass(frozen=True, kw_only=True)
class Result:
    """The verdict on a log, and what playing earned per round."""

    name: str
    answer: str
    verdict: str
    seconds: float
    rewards: Mapping[str, Floats]  # (orders, people)

    def over(self, one: str, other: str) -> Interval:
        """How much more one player earned than another.

        Both people and orders vary, each of which is another run of learning.
        """
        differences = self.rewards[one] - self.rewards[other]
        errors = [standard_errors(differences.mean(axis)) for axis in (0, 1)]
        return interval_from(
            float(differences.mean()), float(np.hypot(*errors)), differences.shape[1]
        )

    @property
    def played(self) -> str:
        """What playing says one should take."""
        if self.over(OURS, ALONE).low <= 0.0 and self.over(ALONE, ONE).low > 0.0:
            return "alone"
        ours = self.over(OURS, ONE).low > 0.0 and self.over(OURS, ALONE).low > 0.0
        return "yes" if ours else "one model"

    @property
    def beaten(self) -> bool:
        """Whether another player earned more than the one that the verdict says to take."""
        taken = {"yes": OURS, "one model": ONE, "alone": ALONE}[self.answer]
        return any(self.over(other, taken).low > 0.0 for other in self.rewards if other != taken)


def result(name: str, case: Case, *, n_orders: int) -> Result:
    """The verdict, and the game."""
    began = time.perf_counter()
    found = hs.trial(case.log, **case.columns)
    seconds = time.perf_counter() - began
    answer = found.answer
    if answer == "cannot tell" and "paid" in case.log:
        again = hs.trial(case.log, **case.columns, leave_out=["paid"])
        answer = again.answer
        found_text = f"{found.verdict} Without it: {again.verdict}"
    else:
        found_text = found.verdict
    first = case.people(np.random.default_rng(0))
    n = len(first)
    everyone = np.arange(n)
    if not case.in_order:
        everyone = np.random.default_rng(1).permutation(n)
    for_tuning, others = everyone[: n // 4], everyone[n // 4 :]
    counted = everyone[n // 2 :] if case.in_order else others
    d = first[0].arms.shape[2]
    alone = tuned_alone(d, [(int(person), first[int(person)]) for person in for_tuning])
    rewards = {name: np.zeros((n_orders, len(counted))) for name in (OURS, ONE, ALONE)}
    for order in range(n_orders):
        rng = np.random.default_rng([2, order])
        people = case.people(rng)
        who = everyone if case.in_order else rng.permutation(others)
        players: dict[str, Player] = {
            OURS: Headstart(d, order),
            ONE: OneTask(d, order),
            ALONE: alone,
        }
        for player_name, player in players.items():
            earned = {
                int(person): _earned(player, int(person), people[int(person)], case.worth)
                for person in who
            }
            rewards[player_name][order] = [earned[int(person)] for person in counted]
    return Result(name=name, answer=answer, verdict=found_text, seconds=seconds, rewards=rewards)


def _earned(player: Player, person: int, rounds: Rounds, worth: Floats | None) -> float:
    """The reward per round of one task; the expected one where that is known."""
    player.begin(person)
    total = 0.0
    for t in range(len(rounds.rewards)):
        items = None if rounds.items is None else rounds.items[t]
        k = player.choose(rounds.arms[t], items)
        player.learn(float(rounds.rewards[t, k]))
        total += float(rounds.rewards[t, k] if worth is None else worth[person, k])
    return total / len(rounds.rewards)


def tuned_alone(dimension: int, before: Sequence[tuple[int, Rounds]]) -> Alone:
    """Each task alone, with the penalty and the confidence that earn most on these people."""
    players = [Alone(dimension, own=own, z=z) for own in OWN for z in (0.0, 0.5, 1.0, 2.0)]
    return max(players, key=lambda one: float(np.mean(list(play(one, before).values()))))


def page(results: Sequence[Result]) -> list[str]:
    """The page, line by line."""
    agree = sum(one.answer == one.played for one in results)
    best = sum(not one.beaten for one in results)
    lines = [
        "# Does the verdict of `headstart trial` agree with playing?",
        "",
        f"In {agree} of {len(results)} logs it is what playing says. In {best}, no other player "
        "earned more than the one that it says to take, by 95 % intervals. Made by `python -m "
        "benchmarks.trial`, whose source says how.",
        "",
        "Reward per round, expected where the world is made, and differences with 95 % intervals "
        "over tasks and orders of tasks.",
        "",
        "| log | verdict | playing says | headstart | one model | each task alone "
        "| headstart − one model | headstart − alone |",
        "|---|---|---|---:|---:|---:|---:|---:|",
    ]
    for one in results:
        means = [f"{rewards.mean():.4f}" for rewards in one.rewards.values()]
        beside = [f"{one.over(OURS, other):+.4f}" for other in (ONE, ALONE)]
        mark = "" if one.answer == one.played else " (disagrees)"
        cells = [one.name, one.answer, one.played + mark, *means, *beside]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "The verdicts:", ""]
    lines += [f"- **{one.name}**: {one.verdict}" for one in results]
    lines += ["", "Where they disagree, and a guess why, which no experiment has tested:", ""]
    lines += [f"- **{one.name}**: {WHY[one.name]}" for one in results if one.name in WHY]
    return lines


def main() -> None:
    """Play, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", nargs="+", default=[*MADE, *REAL], choices=[*MADE, *REAL])
    parser.add_argument("--orders", type=int, default=10)
    given = parser.parse_args()
    results = []
    for name in given.logs:
        one = result(name, {**MADE, **REAL}[name](), n_orders=given.orders)
        results.append(one)
        print(*(line for line in page([one]) if name in line), sep="\n", flush=True)
    if len(results) == len(MADE) + len(REAL):
        PAGE.write_text("\n".join(page(results)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
