"""Pending: decisions that wait for their reward."""

import numpy as np
from numba import njit

from headstart.arrays import Floats, Integers

# An id is a place and how often it was used before, in 53 bits, so that JSON carries it unharmed.
_PLACE_BITS = 26
_MASK = (1 << _PLACE_BITS) - 1
_USES = (1 << 27) - 1

# The columns of `links`: whose decision lies in the place, the place's uses before this one, and
# the task's next and previous decision. So finishing a task costs what it has waiting.
_OWNER, _USED, _AFTER, _BEFORE = range(4)
NONE = -1


@njit(cache=True, nogil=True)
def hold(links: Integers, heads: Integers, slot: int, place: int) -> int:
    """Give a free place to a decision of a task; returns the decision's id."""
    head = heads[slot]
    links[place, _OWNER] = slot
    links[place, _AFTER] = head
    links[place, _BEFORE] = NONE
    if head != NONE:
        links[head, _BEFORE] = place
    heads[slot] = place
    return int(links[place, _USED] << _PLACE_BITS) | place


@njit(cache=True, nogil=True)
def find(links: Integers, decision: int) -> int:
    """The place of an open decision, or NONE."""
    place = decision & _MASK
    if decision < 0 or place >= links.shape[0] or links[place, _OWNER] == NONE:
        return NONE
    return place if links[place, _USED] == decision >> _PLACE_BITS else NONE


@njit(cache=True, nogil=True)
def release(links: Integers, heads: Integers, place: int) -> None:
    """Forget the decision in a place."""
    before, after = links[place, _BEFORE], links[place, _AFTER]
    if after != NONE:
        links[after, _BEFORE] = before
    if before != NONE:
        links[before, _AFTER] = after
    else:
        heads[links[place, _OWNER]] = after
    links[place, _OWNER] = NONE
    links[place, _USED] = (links[place, _USED] + 1) & _USES


class Pending:
    """What open decisions chose, and whose they are.

    `kept` is (places, 2d + 1): x, then u = Ax as the decision saw it, then after how many of the
    task's rewards that was. While no other came since, the reward need not compute u again.
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
            fresh[:, _USED] = 0
            self.links = np.concatenate([self.links, fresh])
            self.free.extend(range(old + more - 1, old - 1, -1))

    def of(self, head: int) -> list[int]:
        """The places of a task's decisions, the latest first, from where they begin."""
        places = []
        while head != NONE:
            places.append(head)
            head = int(self.links[head, _AFTER])
        return places

    def drop(self, heads: Integers, place: int) -> None:
        """Forget one decision."""
        release(self.links, heads, place)
        self.free.append(place)

    def owner(self, place: int) -> int:
        """The slot of the task whose decision lies there."""
        return int(self.links[place, _OWNER])

    def decision(self, place: int) -> int:
        """The id of the decision that lies there."""
        return int(self.links[place, _USED]) << _PLACE_BITS | place

    def saved(self) -> tuple[Integers, Integers]:
        """How often every place was used, and the free places in the order of their next use."""
        return self.links[:, _USED].copy(), np.array(self.free, dtype=np.int64)

    def restore(
        self,
        heads: Integers,
        uses: Integers,
        free: list[int],
        held: list[tuple[int, int]],
        kept: Floats,
    ) -> None:
        """Put back what was saved: decisions (place, slot), a task's latest first, as in `of`.

        Uses go on where they stood, so that no id is given twice.
        """
        self.reserve(len(uses))
        self.links[: len(uses), _USED] = uses
        self.free = [*range(len(self.links) - 1, len(uses) - 1, -1), *free]
        for (place, slot), row in zip(reversed(held), kept[::-1], strict=True):
            self.kept[place] = row
            hold(self.links, heads, slot, place)

    def shuffle(self, rng: np.random.Generator) -> None:
        """Give free places other uses, so that ids of two copies of a file do not meet."""
        self.links[self.free, _USED] = rng.integers(_USES, size=len(self.free))
