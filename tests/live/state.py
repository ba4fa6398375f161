"""Everything a bandit knows, bit for bit."""

import numpy as np

import headstart as hs
from headstart.kernels import TaskState
from headstart.live.decision import Name


def fingerprint(bandit: hs.MetaBandit) -> tuple[object, ...]:
    """Equal for two bandits that will do the same on everything, unequal otherwise."""
    tasks = bandit._tasks
    first_pending = tasks.layout.length - 4
    rows = {
        name: np.delete(tasks.rows[slot], first_pending).tobytes()
        for name, slot in tasks.slots.items()
    }
    finished = {
        name: np.delete(tasks.finished.row(name), first_pending - tasks.dimension**2).tobytes()
        for name in tasks.finished.numbers
    }
    pending = {
        tasks.pending.decision(place): tasks.pending.kept[place].tobytes()
        for place in tasks.pending.oldest_first()
    }
    owners = {
        tasks.pending.decision(place): name
        for name in [*tasks.slots, *tasks.finished.numbers]
        for place in tasks.pending.of(tasks.row(name))
    }
    state = tasks.population.state
    memory = {name: np.asarray(array).tobytes() for name, array in state.memory.items()}
    counts = (state.n_tasks, state.position, state.weight, tasks.changes.n_waiting)
    known = (rows, finished, pending, owners, memory, counts, dict(tasks.settled.values))
    return (*known, bandit._stream.peek(64).tobytes())


def kept_state(bandit: hs.MetaBandit, name: Name) -> TaskState:
    """The estimate of an open task, as it is kept."""
    tasks = bandit._tasks
    return tasks.layout.state(tasks.rows[tasks.slots[name]])
