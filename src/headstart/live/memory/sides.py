"""Side information: what is known of a task beside its rewards."""

from collections.abc import Iterator
from contextlib import contextmanager

from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.interfaces import n_side
from headstart.live import inputs
from headstart.live.decision import Name
from headstart.live.tasks.all_tasks import Tasks


@contextmanager
def knowing(tasks: Tasks, name: Name, side: ArrayLike | None) -> Iterator[None]:
    """Note the side information (p,) of a task for a call; it is taken back if the call fails.

    The first that is given for a task counts. An open task moves to the prior that it gives.
    """
    if side is None:
        yield
        return
    given, name = _checked(tasks, side), inputs.name_of(name)
    new, was_open = name not in tasks.sides, name in tasks.slots
    if new:
        tasks.sides[name] = given
    try:
        yield
    except BaseException:
        if new:
            del tasks.sides[name]
        raise
    if was_open and new:
        tasks.changes.move(name)


def _checked(tasks: Tasks, side: ArrayLike) -> Floats:
    size, estimator = n_side(tasks.population.estimator), tasks.population.estimator
    if size == 0:
        raise ValueError(
            f"side information must be given to a prior that uses it, got {estimator!r}"
        )
    return checks.side("side", side, (), size)
