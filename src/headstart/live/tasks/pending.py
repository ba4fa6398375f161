"""Pending: decisions that wait for their reward."""

import secrets
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled
from headstart.live.tasks.ids import CODE_DIGITS, ID_DIGITS, ORIGIN_DIGITS
from headstart.live.tasks.layout import FIRST_PENDING, NONE

# The code in an id is a place and how often it was used before.
_CODE = f"%0{CODE_DIGITS}x"
_PLACE_BITS = 26
_MASK = (1 << _PLACE_BITS) - 1
_USES = (1 << 27) - 1

# The columns of `links`: the task whose decision is in the place; the place's uses before this one;
# the task's next and previous decision; and the next newer and older of all. So the time to end a
# task is proportional to its pending decisions, and the oldest decision is known.
OWNER, USED, NEXT, PREVIOUS, NEWER, OLDER = range(6)
_COLUMNS = 6

# Place 0 holds no decision: it is the end of the list of all, in both directions.
_END = 0

# In place of a number of rewards: the decision kept no u.
_NO_U = -1.0


@compiled
def hold(links: Integers, rows: Floats, slot: int, place: int) -> int:
    """Give a free place to a decision of a task; returns the code of the decision's id."""
    first = int(rows[slot, FIRST_PENDING])
    links[place, OWNER] = slot
    links[place, NEXT] = first
    links[place, PREVIOUS] = NONE
    if first != NONE:
        links[first, PREVIOUS] = place
    rows[slot, FIRST_PENDING] = place
    newest = links[_END, OLDER]
    links[place, OLDER], links[place, NEWER] = newest, _END
    links[newest, NEWER] = place
    links[_END, OLDER] = place
    return int(links[place, USED] << _PLACE_BITS) | place


@compiled(inline="always")
def find(links: Integers, code: int) -> int:
    """The place of a pending decision, or NONE."""
    place = code & _MASK
    if code < 0 or place >= links.shape[0] or links[place, OWNER] == NONE:
        return NONE
    return place if links[place, USED] == code >> _PLACE_BITS else NONE


@compiled
def release(links: Integers, rows: Floats, place: int) -> None:
    """Forget the decision of an open task in a place."""
    before, after = links[place, PREVIOUS], links[place, NEXT]
    if after != NONE:
        links[after, PREVIOUS] = before
    if before != NONE:
        links[before, NEXT] = after
    else:
        rows[links[place, OWNER], FIRST_PENDING] = after
    links[links[place, OLDER], NEWER] = links[place, NEWER]
    links[links[place, NEWER], OLDER] = links[place, OLDER]
    links[place, OWNER] = NONE
    links[place, USED] = (links[place, USED] + 1) & _USES


@compiled
def undo_hold(links: Integers, rows: Floats, place: int) -> None:
    """Take back a decision that was just held, as if it had never been."""
    used = links[place, USED]
    release(links, rows, place)
    links[place, USED] = used


class Pending:
    """The features of pending decisions, their tasks, their ids and when they were made.

    `kept` is (places, 2d + 1): x, then u = Ax at the time of the decision, then the number of the
    task's rewards at that time. While no other came since, the reward need not compute u again.
    An owner of −2 − i is the i-th of the finished tasks.
    """

    def __init__(self, dimension: int, most: int) -> None:
        self.dimension = dimension
        self._most = most
        self.least_free = 0  # how many places have to stay free, for there to be at most so many
        self.kept = np.zeros((1, 2 * dimension + 1))
        self.links = np.full((1, _COLUMNS), NONE)
        self.links[_END, NEWER] = self.links[_END, OLDER] = _END
        self.arrays = (self.kept, self.links)  # they grow in place
        self.times = np.zeros(1)
        self.clock: Callable[[], float] | None = None  # where decisions have a deadline
        self.free: list[int] = []
        # Decisions whose ids another origin gave: a file, another bandit, or before a fork.
        self.foreign: dict[str, int] = {}
        self._foreign_ids: dict[int, str] = {}
        self.prefix = secrets.token_hex(ORIGIN_DIGITS // 2)

    def __len__(self) -> int:
        return len(self.links) - 1 - len(self.free)

    def renew(self) -> None:
        """Draw another origin: no id that is given from now on was ever given before."""
        for place in self.oldest_first():
            decision = self.decision(place)
            self.foreign[decision], self._foreign_ids[place] = place, decision
        self.prefix = secrets.token_hex(ORIGIN_DIGITS // 2)

    def parse(self, decision: str) -> int:
        """The code of a decision here; NONE for what was not decided here."""
        if decision.startswith(self.prefix) and len(decision) == ID_DIGITS:
            try:
                return int(decision[ORIGIN_DIGITS:], 16)
            except ValueError:
                return NONE
        place = self.foreign.get(decision, NONE)
        return NONE if place == NONE else self._code(place)

    def id_of(self, code: int) -> str:
        """The id of a decision that was just held."""
        return self.prefix + _CODE % code

    def find(self, decision: str) -> int:
        """The place of a pending decision, or NONE."""
        return int(find(self.links, self.parse(decision)))

    def reserve(self, n: int) -> None:
        """Have at least n free places."""
        if len(self.free) < n:
            old, more = len(self.links), max(n, len(self.links) // 8, 64)
            # In place where the system can; no view of them outlives a call.
            for array in (self.kept, self.links, self.times):
                array.resize((old + more, *array.shape[1:]), refcheck=False)
            self.links[old:] = NONE
            self.links[old:, USED] = 0
            self.free.extend(range(old + more - 1, old - 1, -1))
            self.least_free = max(0, len(self.links) - 1 - self._most)

    def hold(self, rows: Floats, slot: int, features: Floats) -> int:
        """Keep the chosen features (d,) of a task, without u; returns the code of the id."""
        self.reserve(1)
        place = self.free.pop()
        self.kept[place, : self.dimension] = features
        self.kept[place, -1] = _NO_U
        self.note_time(place)
        return int(hold(self.links, rows, slot, place))

    def note_time(self, places: int | Integers) -> None:
        """Note when decisions were made, where that matters."""
        if self.clock is not None:
            self.times[places] = self.clock()

    def of(self, row: Floats) -> list[int]:
        """The places of a task's decisions, the latest first."""
        places = []
        place = int(row[FIRST_PENDING])
        while place != NONE:
            places.append(place)
            place = int(self.links[place, NEXT])
        return places

    def oldest(self) -> int:
        """The place of the oldest decision; NONE if there is none."""
        place = int(self.links[_END, NEWER])
        return NONE if place == _END else place

    def oldest_first(self) -> list[int]:
        """The places of all decisions, the oldest first."""
        places, place = [], int(self.links[_END, NEWER])
        while place != _END:
            places.append(place)
            place = int(self.links[place, NEWER])
        return places

    def drop(self, rows: Floats, place: int) -> None:
        """Forget one decision of an open task."""
        release(self.links, rows, place)
        self.freed(place)

    def freed(self, place: int) -> None:
        """Take back a place that was released."""
        self.free.append(place)
        if self.foreign and place in self._foreign_ids:
            del self.foreign[self._foreign_ids.pop(place)]

    def own(self, row: Floats, owner: int) -> None:
        """Give a task's decisions another owner: its slot, or its number among finished tasks."""
        self.links[self.of(row), OWNER] = owner

    def decision(self, place: int) -> str:
        """The id of the decision that is there."""
        return self._foreign_ids.get(place) or self.id_of(self._code(place))

    def restore(self, rows: Floats, slot: int, decision: str, kept: Floats, time: float) -> None:
        """Hold a decision that has an id already."""
        self.reserve(1)
        place = self.free.pop()
        self.kept[place] = kept
        self.times[place] = time
        hold(self.links, rows, slot, place)
        self.foreign[decision], self._foreign_ids[place] = place, decision

    def _code(self, place: int) -> int:
        return int(self.links[place, USED]) << _PLACE_BITS | place


def sort(pending: Pending) -> None:
    """Put the decisions of several bandits into the order of their times."""
    places = sorted(pending.oldest_first(), key=pending.times.__getitem__)
    links = pending.links
    for older, newer in pairwise([_END, *places, _END]):
        links[older, NEWER], links[newer, OLDER] = newer, older


def clear(pending: Pending, rows: Floats, slots: Integers) -> None:
    """Forget all decisions, which are those of open tasks in these slots."""
    rows[slots, FIRST_PENDING] = NONE
    links = pending.links
    links[1:, OWNER] = NONE
    links[_END, NEWER] = links[_END, OLDER] = _END
    pending.free = list(range(len(links) - 1, 0, -1))


def owner(pending: Pending, place: int) -> int:
    """The slot of the task whose decision is there, or below NONE a finished task."""
    return int(pending.links[place, OWNER])


def drop_projections(pending: Pending, row: Floats) -> None:
    """Forget u = Ax of a task's decisions: A is another now."""
    pending.kept[pending.of(row), -1] = _NO_U
