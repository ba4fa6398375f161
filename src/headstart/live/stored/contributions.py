"""What the memory counts for a task, as bytes: position, T, q, b, the lower triangle of V, side."""

import numpy as np

from headstart import checks
from headstart.arrays import floats, packed
from headstart.core.statistics import TaskStatistics
from headstart.live.memory.population import Contribution


def to_bytes(contribution: Contribution) -> bytes:
    """A contribution as bytes."""
    task = contribution.task
    numbers = [contribution.position, float(task.count), float(task.sum_of_squares)]
    lower = task.gram[np.tril_indices(task.dimension)]
    side = np.empty(0) if task.side is None else task.side
    return packed(np.concatenate([numbers, task.moment, lower, side]))


def from_bytes(content: bytes, dimension: int, n_side: int) -> Contribution:
    """The contribution that `to_bytes` wrote."""
    numbers = floats(content)
    length = 3 + dimension + dimension * (dimension + 1) // 2
    checks.shape("the contribution", numbers, (length + n_side,), "(n,)")
    gram = np.zeros((dimension, dimension))
    gram[np.tril_indices(dimension)] = numbers[3 + dimension : length]
    task = checks.trusted(
        TaskStatistics,
        gram=gram + np.tril(gram, -1).T,
        moment=numbers[3 : 3 + dimension],
        count=np.array(numbers[1]),
        sum_of_squares=np.array(numbers[2]),
        side=numbers[length:] if n_side else None,
    )
    return Contribution(task, float(numbers[0]))
