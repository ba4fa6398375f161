"""Pending: decisions without a reward yet."""

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled
from headstart.live.engine.layout import FIRST_PENDING, NONE

# An id is a place and how often it was used before, in 53 bits, so that JSON carries it exactly.
_PLACE_BITS = 26
_MASK = (1 << _PLACE_BITS) - 1
_USES = (1 << 27) - 1

# The columns of `links`: the task whose decision is in the place, the place's uses before this
# one, and the task's next and previous decision. So the time to
# finish a task is proportional to its pending decisions.
OWNER, USED, NEXT, PREVIOUS = range(4)

# In place of a number of rewards: the decision kept no u.
_NO_U = -1.0


@compiled
def hold(links: Integers, rows: Floats, slot: int, place: int) -> int:
    """Give a free place to a decision of a task; returns the decision's id."""
    first = int(rows[slot, FIRST_PENDING])
    links[place, OWNER] = slot
    links[place, NEXT] = first
    links[place, PREVIOUS] = NONE
    if first != NONE:
        links[first, PREVIOUS] = place
    rows[slot, FIRST_PENDING] = place
    return int(links[place, USED] << _PLACE_BITS) | place


@compiled(inline="always")
def find(links: Integers, decision: int) -> int:
    """The place of an open decision, or NONE."""
    place = decision & _MASK
    if decision < 0 or place >= links.shape[0] or links[place, OWNER] == NONE:
        return NONE
    return place if links[place, USED] == decision >> _PLACE_BITS else NONE


@compiled
def release(links: Integers, rows: Floats, place: int) -> None:
    """Forget the decision in a place."""
    before, after = links[place, PREVIOUS], links[place, NEXT]
    if after != NONE:
        links[after, PREVIOUS] = before
    if before != NONE:
        links[before, NEXT] = after
    else:
        rows[links[place, OWNER], FIRST_PENDING] = after
    links[place, OWNER] = NONE
    links[place, USED] = (links[place, USED] + 1) & _USES


@compiled
def undo_hold(links: Integers, rows: Floats, place: int) -> None:
    """Take back a decision that was just held, as if it had never been."""
    used = links[place, USED]
    release(links, rows, place)
    links[place, USED] = used


class Pending:
    """The features of open decisions, and their tasks.

    `kept` is (places, 2d + 1): x, then u = Ax at the time of the decision, then the number of the
    task's rewards at that time. While no other came since, the reward need not compute u again.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.kept = np.zeros((0, 2 * dimension + 1))
        self.links = np.zeros((0, 4), dtype=np.int64)
        self.free: list[int] = []

    def __len__(self) -> int:
        return len(self.links) - len(self.free)

    def reserve(self, n: int) -> None:
        """Have at least n free places."""
        if len(self.free) < n:
            old, more = len(self.links), max(n, len(self.links) // 8, 64)
            self.kept = np.concatenate([self.kept, np.zeros((more, self.kept.shape[1]))])
            fresh = np.full((more, 4), NONE)
            fresh[:, USED] = 0
            self.links = np.concatenate([self.links, fresh])
            self.free.extend(range(old + more - 1, old - 1, -1))

    def hold(self, rows: Floats, slot: int, features: Floats) -> int:
        """Keep the chosen features (d,) of a task, without u; returns the decision's id."""
        self.reserve(1)
        place = self.free.pop()
        self.kept[place, : self.dimension] = features
        self.kept[place, -1] = _NO_U
        return int(hold(self.links, rows, slot, place))

    def of(self, row: Floats) -> list[int]:
        """The places of a task's decisions, the latest first."""
        places = []
        place = int(row[FIRST_PENDING])
        while place != NONE:
            places.append(place)
            place = int(self.links[place, NEXT])
        return places

    def drop(self, rows: Floats, place: int) -> None:
        """Forget one decision."""
        release(self.links, rows, place)
        self.free.append(place)

    def owner(self, place: int) -> int:
        """The slot of the task whose decision is there."""
        return int(self.links[place, OWNER])

    def decision(self, place: int) -> int:
        """The id of the decision that is there."""
        return int(self.links[place, USED]) << _PLACE_BITS | place

    def saved(self) -> tuple[Integers, Integers]:
        """How often every place was used, and the free places in the order of their next use."""
        return self.links[:, USED].copy(), np.array(self.free, dtype=np.int64)

    def restore(
        self,
        rows: Floats,
        uses: Integers,
        free: list[int],
        held: list[tuple[int, int]],
        kept: Floats,
    ) -> None:
        """Put back what was saved: decisions (place, slot), a task's latest first, as in `of`.

        Uses go on where they were, so that no id is given twice.
        """
        self.reserve(len(uses))
        self.links[: len(uses), USED] = uses
        self.free = [*range(len(self.links) - 1, len(uses) - 1, -1), *free]
        for (place, slot), row in zip(reversed(held), kept[::-1], strict=True):
            self.kept[place] = row
            hold(self.links, rows, slot, place)

    def shuffle(self, rng: np.random.Generator) -> None:
        """Give free places other uses, so that ids of two copies of a file do not collide."""
        self.links[self.free, USED] = rng.integers(_USES, size=len(self.free))
