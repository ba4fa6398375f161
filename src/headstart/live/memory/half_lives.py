"""Half-lives: the positions of contributions where the half-life of a memory becomes another."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.layout import AS_IT_IS, COUNTED, COUNTED_AT

_KINDS = ("half_life_tasks", "half_life_seconds")


def same(settings: Mapping[str, Any], tasks: Tasks) -> bool:
    """Whether settings have the half-life of a bandit."""
    return all(settings.get(kind) == getattr(tasks.settings, kind) for kind in _KINDS)


def change(tasks: Tasks, before: Mapping[str, Any]) -> None:
    """Go on with another half-life: every task weighs at this moment what it weighed before.

    A task of weight 2^(−a) gets the position P − aH in the new half-life H. Where the new one is
    infinite, all tasks that are kept weigh 1 again.
    """
    population, seconds = tasks.population, tasks.settings.half_life_seconds
    old = before.get("half_life_seconds") or before.get("half_life_tasks") or math.inf
    new = seconds or tasks.settings.half_life_tasks or math.inf
    end = population.state.position
    now = float(population.state.n_tasks) if seconds is None else float(tasks.settings.clock())
    population.install(replace(population.state, position=now))
    for name in [*tasks.slots, *tasks.finished.numbers]:
        row = tasks.row(name)
        if row[COUNTED] != AS_IT_IS:
            continue
        age = (end - row[COUNTED_AT]) / old
        if math.isfinite(new):
            row[COUNTED_AT] = now - age * new
        else:
            task = tasks.statistics(name)
            without = population.counted(population.state, task, 2.0**-age, -1)
            population.install(population.counted(without, task, 1.0, 1))
            row[COUNTED_AT] = now
