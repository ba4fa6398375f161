"""The figure of the front page: what people choose, by how often each has been there.

`python -m benchmarks.people_picture` plays the choices of electricity contracts with headstart as
it comes, one ridge regression for all people, and one for each person alone, both tuned on a
quarter of the people; it writes docs/figures/people.png and prints the means. Bands are 95 %
intervals over the people who stayed for all visits.
"""

from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.people_data import Rounds, people_of
from benchmarks.people_players import (
    Headstart,
    Player,
    rewards_by_visit,
    settings_of_ridges,
    tuned,
)
from benchmarks.trial import tuned_alone

from headstart import plotting
from headstart.arrays import Floats
from headstart.plotting.curves import band
from headstart.plotting.style import COLD, GREY, WARM

DATA = "electricity"
ORDERS = 10
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "people.png"
ALONE, ONE, OURS = "each person alone", "one model for all", "headstart"
LOOKS: dict[str, dict[str, Any]] = {
    ALONE: {"color": COLD, "linestyle": (0, (5, 1.5))},
    ONE: {"color": GREY, "linestyle": (0, (2, 1))},
    OURS: {"color": WARM, "linestyle": "-"},
}


def played(seed: int = 0) -> dict[str, Floats]:
    """The reward of every person by visit (people, T), the mean over orders."""
    people = people_of(DATA)(np.random.default_rng(seed))
    drawn = np.random.default_rng(seed).permutation(len(people))
    for_tuning, others = drawn[: len(drawn) // 4], drawn[len(drawn) // 4 :]
    dimension = people[0].arms.shape[2]

    def coming(who: np.ndarray, number: int) -> list[tuple[int, Rounds]]:
        """People in another order, and their situations: all were asked the same ones in turn."""
        rng = np.random.default_rng([seed, number])
        found = []
        for person in rng.permutation(who).tolist():
            at = rng.permutation(len(people[person].arms))
            found.append((person, Rounds(people[person].arms[at], people[person].rewards[at])))
        return found

    before = [coming(for_tuning, number) for number in range(2)]
    one_model = tuned(dimension, settings_of_ridges(people_differ=False, items=False), before)
    alone = tuned_alone(dimension, before[0])
    visits = max(len(one.arms) for one in people)
    stayed = [person for person in others.tolist() if len(people[person].arms) == visits]
    totals = {name: np.zeros((len(stayed), visits)) for name in (ALONE, ONE, OURS)}
    for number in range(2, 2 + ORDERS):
        players: dict[str, Player] = {
            ALONE: alone,
            ONE: one_model(),
            OURS: Headstart(dimension, number),
        }
        for name, player in players.items():
            found = rewards_by_visit(player, coming(others, number))
            totals[name] += np.array([found[person] for person in stayed])
    return {name: total / ORDERS for name, total in totals.items()}


def main() -> None:
    """Play, draw and print."""
    rewards = played()
    with plotting.figure(FIGURE, width=5.6, height=3.1) as (axes,):
        for name, values in rewards.items():
            visits = np.arange(1, values.shape[1] + 1)
            band(axes, visits, values, name, LOOKS[name])
        axes.set(xlim=(1, visits[-1]), xlabel="visit of a new person")
        axes.legend(loc="lower right", fontsize=8)
        axes.set_ylabel("share of visits in which the contract\nshown is the one that was chosen")
    for name, values in rewards.items():
        first, last = values[:, 0].mean(), values[:, -4:].mean()
        print(f"{name:20} {len(values)} people, first {first:.2f}, last four visits {last:.2f}")


if __name__ == "__main__":
    main()
