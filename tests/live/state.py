"""Everything a bandit knows, bit for bit."""

import numpy as np

import headstart as hs
from headstart.kernels import TaskState
from headstart.live.decision import Name


def fingerprint(bandit: hs.MetaBandit) -> tuple[object, ...]:
    """Equal for two bandits that will do the same on everything, unequal otherwise."""
    tasks = bandit._tasks
    rows = {name: tasks.rows[slot].tobytes() for name, slot in tasks.slots.items()}
    pending = {
        tasks.pending.decision(place): (name, tasks.pending.kept[place].tobytes())
        for name, slot in tasks.slots.items()
        for place in tasks.pending.of(tasks.rows[slot])
    }
    memory = {name: np.asarray(array).tobytes() for name, array in tasks.memory.items()}
    return rows, pending, memory, tasks.n_finished, bandit._stream.peek(64).tobytes()


def kept_state(bandit: hs.MetaBandit, name: Name) -> TaskState:
    """The estimate of an open task, as it is kept."""
    tasks = bandit._tasks
    return tasks.layout.state(tasks.rows[tasks.slots[name]])
