"""Everything a bandit knows, bit for bit."""

import numpy as np

import headstart as hs


def fingerprint(bandit: hs.MetaBandit) -> tuple[object, ...]:
    """Equal for two bandits that will do the same on everything, unequal otherwise."""
    store, tasks = bandit._store, bandit._tasks
    rows = {name: store.state[slot].tobytes() for name, slot in store.slots.items()}
    waiting = {
        store.pending.decision(place): (name, store.pending.kept[place].tobytes())
        for name, slot in store.slots.items()
        for place in store.pending.of(int(store.heads[slot]))
    }
    memory = {name: np.asarray(array).tobytes() for name, array in tasks.memory.items()}
    return rows, waiting, memory, tasks.finished, bandit._luck.peek(64).tobytes()
