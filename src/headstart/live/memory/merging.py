"""Merging: what another bandit knows, taken over."""

from dataclasses import replace

import numpy as np

from headstart import specs
from headstart.arrays import Floats
from headstart.live.memory import half_lives
from headstart.live.persistence import Saved, restore_tasks, state_of
from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.layout import COUNTED_AT
from headstart.live.tasks.pending import sort


def merge(tasks: Tasks, other: Saved) -> None:
    """Add the memory, the tasks and the pending decisions of another bandit."""
    header, population = other.header, tasks.population
    if header["dimension"] != tasks.dimension:
        raise ValueError(
            f"bandits must have the same dimension to be merged, got {tasks.dimension} "
            f"and {header['dimension']}"
        )
    mine = specs.describe(population.estimator, "priors").plain()
    if header["prior"] != mine:
        raise ValueError(
            f"bandits must have the same prior to be merged, got {mine} and {header['prior']}"
        )
    both = [name for name in [*header["tasks"], *header["finished"]] if _is_known(tasks, name)]
    if both:
        raise ValueError(
            f"bandits must have different tasks to be merged, got {len(both)} that both have, "
            f"such as {both[0]!r}"
        )
    if not half_lives.same(header["settings"], tasks):
        raise ValueError("bandits must have the same half-life to be merged")
    tasks.changes.bring_up_to_date()
    state = state_of(other, tasks)
    if tasks.settings.half_life_tasks is not None:
        # The latest tasks of both are equally new.
        shift = population.state.position - state.position
        state = replace(state, position=population.state.position)
        for rows in (other.rows("rows"), other.rows("finished")):  # views
            rows[:, COUNTED_AT] += shift
    scales = None if header["scales"] is None else np.array(header["scales"])
    if state.n_tasks and population.state.n_tasks:
        same = np.array_equal(_or_ones(scales, tasks), _or_ones(population.scales, tasks))
        if not same:
            raise ValueError(
                "bandits must have the same scales of features to be merged: set scales for both"
            )
    elif state.n_tasks:
        population.scales = scales
    population.scales_known = population.scales_known or bool(header["scales_known"])
    population.install(population.merged(population.state, state))
    tasks.n_from_logs += header["n_from_logs"]
    tasks.settled.note_all(header["settled"].items())
    restore_tasks(other, tasks)
    sort(tasks.pending)
    tasks.changes.generation += 1


def _is_known(tasks: Tasks, name: object) -> bool:
    return name in tasks.slots or name in tasks.finished


def _or_ones(scales: Floats | None, tasks: Tasks) -> Floats:
    return np.ones(tasks.dimension) if scales is None else scales
