"""Everything a bandit knows, bit for bit: the only tests' file that looks into its parts."""

import numpy as np

import headstart as hs
from headstart.kernels import TaskState
from headstart.live._population import State
from headstart.live._rows import FIRST_PENDING, PRIOR_TASKS
from headstart.live.inputs import Name


def memory_state(bandit: hs.MetaBandit) -> State:
    """The memory as it is, with what it weighs."""
    return bandit._memory.population.state


def all_names(bandit: hs.MetaBandit) -> list[Name]:
    """The names of all tasks, open and finished."""
    return bandit._tasks.all_names()


def pending_ids(bandit: hs.MetaBandit) -> list[str]:
    """The ids of the decisions that wait, the oldest first."""
    pending = bandit._tasks.pending
    return [pending.decision(place) for place in pending.oldest_first()]


def settled_values(bandit: hs.MetaBandit) -> dict[str, float | None]:
    """The decisions that wait no longer, the oldest first: what each was paid."""
    return dict(bandit._tasks.settled.values)


def run_out(bandit: hs.MetaBandit) -> None:
    """Settle what is due, as every call does first."""
    bandit._rewards.run_out()


def is_busy(bandit: hs.MetaBandit) -> bool:
    """Whether the thread has something left to do."""
    with bandit._lock:
        return bandit._memory.is_busy


def prior_tasks(bandit: hs.MetaBandit, name: Name) -> int:
    """How many tasks the prior of an open one was learned from."""
    return int(bandit._tasks.rows[bandit._tasks.slots[name], PRIOR_TASKS])


def sizes(bandit: hs.MetaBandit) -> dict[str, int]:
    """How many bytes the arrays take."""
    tasks = bandit._tasks
    arrays = {
        "rows": tasks.rows,
        "finished": tasks.finished.rows,
        "features": tasks.pending.features,
        "links": tasks.pending.links,
        "times": tasks.pending.times,
        "provisional": tasks.pending.provisional,
    }
    return {name: array.nbytes for name, array in arrays.items()}


def fingerprint(bandit: hs.MetaBandit, *, ids: bool = True) -> tuple[object, ...]:
    """Equal for two bandits that will do the same on everything, unequal otherwise.

    Without ids, bandits that were made apart are equal as well: each gives ids of its own.
    """
    tasks = bandit._tasks
    pending, state, finished = tasks.pending, memory_state(bandit), tasks.finished.numbers
    # Which of its decisions a task names first is a number of a place, which may differ.
    rows = {
        name: np.delete(tasks.rows[slot], FIRST_PENDING).tobytes()
        for name, slot in tasks.slots.items()
    }
    others = {
        name: np.delete(tasks.finished.row(name), FIRST_PENDING).tobytes() for name in finished
    }
    owners = {
        place: name for name in [*tasks.slots, *finished] for place in pending.of(tasks.row(name))
    }
    waiting = [
        (
            pending.decision(place) if ids else None,
            owners[place],
            pending.features[place].tobytes(),
            pending.provisional[place].tobytes(),
            float(pending.times[place]),
        )
        for place in pending.oldest_first()
    ]
    settled = [(each if ids else None, value) for each, value in tasks.settled.values.items()]
    memory = {name: np.asarray(array).tobytes() for name, array in state.memory.items()}
    population = bandit._memory.population
    scales = None if population.scales is None else population.scales.tobytes()
    counts = (state.n_tasks, state.position, state.weight, state.rounds, state.squares)
    more = (list(tasks.changed), tasks.n_from_logs, scales, population.scales_known)
    counted = {name: tasks.counted.numbers(name).tobytes() for name in tasks.counted}
    abouts = {name: about.tobytes() for name, about in tasks.abouts.items()}
    known = (rows, others, counted, abouts, waiting, settled, memory, counts, more)
    # The random numbers come last.
    return (*known, bandit._stream.peek(64).tobytes())


def assert_alike(one: object, other: object) -> None:
    """Two fingerprints of bandits that were made apart are equal, but for rounding.

    The last bits of a decomposition depend on where in memory its matrix lies.
    """
    assert type(one) is type(other)
    if isinstance(one, dict) and isinstance(other, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_alike(one[key], other[key])
    elif isinstance(one, tuple | list) and isinstance(other, tuple | list):
        assert len(one) == len(other)
        for each, its in zip(one, other, strict=True):
            assert_alike(each, its)
    elif isinstance(one, bytes) and isinstance(other, bytes):
        np.testing.assert_allclose(np.frombuffer(one), np.frombuffer(other), rtol=1e-9, atol=1e-9)
    elif isinstance(one, float) and isinstance(other, float):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    else:
        assert one == other


def kept_state(bandit: hs.MetaBandit, name: Name) -> TaskState:
    """The estimate of an open task, as it is kept."""
    tasks = bandit._tasks
    return tasks.layout.state(tasks.rows[tasks.slots[name]])
