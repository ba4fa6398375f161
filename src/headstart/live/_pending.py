"""Pending decisions, settled decisions, and the ids of both."""

import secrets
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled
from headstart.live._rows import FIRST_PENDING, NONE
from headstart.live.outcomes import DecisionState, Outcome, outcome_of
from headstart.live.settings import Settings

# Every bandit that is made, loaded, copied or forked draws its origin at random.
ORIGIN_DIGITS, CODE_DIGITS = 16, 14
ID_DIGITS = ORIGIN_DIGITS + CODE_DIGITS

# A text as NumPy keeps it: 32 bits per character.
_Characters = NDArray[np.uint32]
_TEXT: np.dtype[np.str_] = np.dtype(f"U{ID_DIGITS}")
_ZERO, _A = ord("0"), ord("a")


@compiled
def _write(origin: _Characters, codes: Integers, texts: _Characters) -> None:
    """Set texts (n, ID_DIGITS) to the origin and the digits of the codes (n,)."""
    for i in range(codes.shape[0]):
        for a in range(ORIGIN_DIGITS):
            texts[i, a] = origin[a]
        rest = codes[i]
        for a in range(CODE_DIGITS):
            digit = rest & 15
            texts[i, ID_DIGITS - 1 - a] = digit + (_ZERO if digit < 10 else _A - 10)
            rest >>= 4


@compiled
def _read(origin: _Characters, texts: _Characters, codes: Integers) -> bool:
    """Set codes (n,) from the texts; false if `_write` did not write one of them."""
    for i in range(codes.shape[0]):
        for a in range(ORIGIN_DIGITS):
            if texts[i, a] != origin[a]:
                return False
        code = np.int64(0)
        for a in range(ORIGIN_DIGITS, ID_DIGITS):
            character = np.int64(texts[i, a])
            digit = character - _ZERO
            if not 0 <= digit < 10:
                digit = character - _A + 10
                if not 10 <= digit < 16:
                    return False
            code = code << 4 | digit
        codes[i] = code
    return True


def _characters(text: str) -> _Characters:
    return np.array([text]).view(np.uint32)


class Ids(NamedTuple):
    """The ids of n decisions of one origin."""

    origin: str
    codes: Integers  # (n,)

    def texts(self) -> NDArray[np.str_]:
        """The ids, (n,)."""
        texts = np.empty(len(self.codes), dtype=_TEXT)
        if len(texts):
            characters = texts.view(np.uint32).reshape(-1, ID_DIGITS)
            _write(_characters(self.origin), self.codes, characters)
        return texts


def read_ids(origin: str, decisions: Sequence[str] | NDArray[np.str_]) -> Ids | None:
    """The ids of decisions of this origin; None if there are none, or one is something else."""
    array = decisions
    if not isinstance(array, np.ndarray):
        if set(map(len, array)) != {ID_DIGITS}:  # in an array, each takes as much as the longest
            return None
        array = np.array(array, dtype=_TEXT)
    if array.dtype != _TEXT or array.ndim != 1 or not len(array):
        return None
    texts = np.require(array, requirements=["C", "W"]).view(np.uint32).reshape(-1, ID_DIGITS)
    codes = np.empty(len(array), dtype=np.int64)
    return Ids(origin, codes) if _read(_characters(origin), texts, codes) else None


# The code in an id is a place, in the last bits, and how often that place was used before.
_CODE = f"%0{CODE_DIGITS}x"
_PLACE_BITS = 26
PLACE = (1 << _PLACE_BITS) - 1
_USES = (1 << 27) - 1

# The columns of `links`: the task whose decision is in the place; the place's uses before this one;
# the task's next and previous decision; and the next newer and older of all. So ending a task takes
# time proportional to its pending decisions, and the oldest decision is known.
OWNER, USED, NEXT, PREVIOUS, NEWER, OLDER = range(6)
_COLUMNS = 6

# Place 0 holds no decision: it is the end of the list of all, in both directions.
_END = 0

# If more decisions than this are pending, the oldest expire, without their default.
MOST_PENDING = 1_000_000

# The columns of `provisional`: the reward that the task has learned for the decision, and its
# weight, 0 if it has learned none; the discount of that weight since; the number of the reward
# among the task's; and whether it was reported, or is the default.
VALUE, WEIGHT, FADE, NUMBER, TOLD = range(5)
N_PROVISIONAL = 5


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
    place = code & PLACE
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


def owner_of_finished(number: int) -> int:
    """Instead of a slot: the finished task of this number owns a decision."""
    return -2 - number


def finished_number(owner: int) -> int:
    """The number of the finished task that owns a decision."""
    return -2 - owner


class Held(NamedTuple):
    """What is kept of a pending decision."""

    features: Floats  # (d,)
    time: float
    provisional: Floats  # (5,)
    item: Hashable = None  # that was chosen from a catalogue


class Pending:
    """The features of pending decisions, their tasks, their ids and when they were made.

    `features` is (places, d). `provisional` is (places, 5): what the task has learned for the
    decision, which another reward may replace until the deadline. The owner of a decision is a
    slot, or a finished task (`owner_of_finished`).
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.least_free = 0  # how many places must stay free to respect the maximum
        self.features = np.zeros((1, dimension))
        self.links = np.full((1, _COLUMNS), NONE)
        self.links[_END, NEWER] = self.links[_END, OLDER] = _END
        self.times = np.zeros(1)
        self.provisional = np.zeros((1, N_PROVISIONAL))
        self.arrays = self.features, self.links, self.provisional  # they grow in place
        self.n_provisional = 0
        self.items: dict[int, Hashable] = {}  # by place, the item that was chosen from a catalogue
        self.clock: Callable[[], float] | None = None  # where decisions have a deadline
        self.free: list[int] = []
        # Decisions with ids of another origin: a file, another bandit, or before a fork.
        self.foreign: dict[str, int] = {}
        self._foreign_ids: dict[int, str] = {}
        self.prefix = secrets.token_hex(ORIGIN_DIGITS // 2)

    def __len__(self) -> int:
        return len(self.links) - 1 - len(self.free)

    @property
    def are_too_many(self) -> bool:
        """Whether the oldest decision must expire to make room."""
        return len(self) > MOST_PENDING

    def renew(self) -> None:
        """Draw another origin: ids from now on have never been used before."""
        for place in self.oldest_first():
            decision = self.decision(place)
            self.foreign[decision], self._foreign_ids[place] = place, decision
        self.prefix = secrets.token_hex(ORIGIN_DIGITS // 2)

    def parse(self, decision: str) -> int:
        """The code of a decision made here, else NONE."""
        if decision.startswith(self.prefix) and len(decision) == ID_DIGITS:
            digits = decision[ORIGIN_DIGITS:]
            try:
                code = int(digits, 16)
            except ValueError:
                return NONE
            return code if _CODE % code == digits else NONE  # int also takes "1_1" and "+1"
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
            for array in (self.features, self.links, self.times, self.provisional):
                array.resize((old + more, *array.shape[1:]), refcheck=False)
            self.links[old:] = NONE
            self.links[old:, USED] = 0
            self.free.extend(range(old + more - 1, old - 1, -1))
            self.least_free = max(0, len(self.links) - 1 - MOST_PENDING)

    def hold(self, rows: Floats, slot: int, features: Floats) -> int:
        """Keep the chosen features (d,) of a task; returns the code of the id."""
        self.reserve(1)
        place = self.free.pop()
        self.features[place] = features
        self.note_time(place)
        return int(hold(self.links, rows, slot, place))

    def note_time(self, places: int | Integers) -> None:
        """Note when decisions were made, if that matters."""
        if self.clock is not None:
            self.times[places] = self.clock()

    def of(self, row: Floats) -> list[int]:
        """The places of a task's decisions, latest first."""
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
        """The places of all decisions, oldest first."""
        places, place = [], int(self.links[_END, NEWER])
        while place != _END:
            places.append(place)
            place = int(self.links[place, NEWER])
        return places

    def drop(self, rows: Floats, place: int) -> None:
        """Forget one decision of an open task."""
        release(self.links, rows, place)
        self.freed(place)

    def free_all(self, places: list[int]) -> None:
        """Take back places that were released."""
        if self.n_provisional:
            self.n_provisional -= int((self.provisional[places, WEIGHT] > 0.0).sum())
            self.provisional[places] = 0.0
        if not self.foreign and not self.items:
            self.free.extend(places)
            return
        for place in places:
            self.freed(place)

    def freed(self, place: int) -> None:
        """Take back a place that was released."""
        self.free.append(place)
        if self.items:
            self.items.pop(place, None)
        if self.n_provisional and self.is_provisional(place):
            self.provisional[place] = 0.0
            self.n_provisional -= 1
        if self.foreign and place in self._foreign_ids:
            del self.foreign[self._foreign_ids.pop(place)]

    def own(self, row: Floats, owner: int) -> None:
        """Give a task's decisions another owner: its slot, or its number among finished tasks."""
        self.links[self.of(row), OWNER] = owner

    def decision(self, place: int) -> str:
        """The id of the decision in a place."""
        return self._foreign_ids.get(place) or self.id_of(self._code(place))

    def restore(self, rows: Floats, slot: int, decision: str, held: "Held") -> None:
        """Hold a decision that has an id already."""
        self.reserve(1)
        place = self.free.pop()
        self.features[place], self.times[place], self.provisional[place], item = held
        if item is not None:
            self.items[place] = item
        self.n_provisional += self.is_provisional(place)
        hold(self.links, rows, slot, place)
        self.foreign[decision], self._foreign_ids[place] = place, decision

    def _code(self, place: int) -> int:
        return int(self.links[place, USED]) << _PLACE_BITS | place

    def owner(self, place: int) -> int:
        """The slot of the task whose decision is in a place; below NONE, a finished task."""
        return int(self.links[place, OWNER])

    def owners(self, codes: Integers) -> Integers:
        """The owners of n decisions, (n,); anything for those that are not pending."""
        places = np.minimum(codes & PLACE, len(self.links) - 1)
        owners: Integers = self.links[places, OWNER]
        return owners

    # What counts before its reward is final.

    def count(self, place: int, value: float, number: float) -> None:
        """Note that the task has learned a default for a decision, as its reward of this number."""
        self.provisional[place] = value, 1.0, 1.0, number, 0.0
        self.n_provisional += 1

    def is_provisional(self, place: int) -> bool:
        """Whether the task has learned a reward for the decision that may still be replaced."""
        return bool(self.provisional[place, WEIGHT])

    def is_told(self, place: int) -> bool:
        """Whether that reward was reported, rather than being the default."""
        return bool(self.provisional[place, TOLD])

    def fade(self, row: Floats, discount: float) -> None:
        """Note that all rewards of a task were discounted."""
        if self.n_provisional:
            self.provisional[self.of(row), FADE] *= discount

    def n_waiting(self, row: Floats) -> int:
        """How many of a task's decisions have no reported reward."""
        places = self.of(row)
        return len(places) - int(self.provisional[places, TOLD].sum())

    def forget_numbers(self, row: Floats) -> None:
        """Note that the latest revision of a task's prior counted all its decisions."""
        self.provisional[self.of(row), NUMBER] = 0.0

    def sort(self) -> None:
        """Put the decisions of several bandits into the order of their times."""
        places = sorted(self.oldest_first(), key=self.times.__getitem__)
        for older, newer in pairwise([_END, *places, _END]):
            self.links[older, NEWER], self.links[newer, OLDER] = newer, older


# How many settled decisions are remembered, at about 250 bytes each. A duplicate of an older one
# counts as unknown.
CAPACITY = 100_000


class Settled:
    """The latest settled decisions by id: the value paid, or None if it expired."""

    def __init__(self) -> None:
        # Ordered, so that the oldest is found without a search past those dropped before.
        self._values: OrderedDict[str, float | None] = OrderedDict()
        # Batches paid since. Most are dropped before anyone asks for one of their ids.
        self._batches: deque[tuple[Ids, Floats]] = deque()
        self._n_in_batches = 0

    @property
    def values(self) -> OrderedDict[str, float | None]:
        """All that is remembered, the oldest first."""
        while self._batches:
            ids, values = self._batches.popleft()
            self._values.update(zip(ids.texts().tolist(), values.tolist(), strict=True))
        self._n_in_batches = 0
        self._drop_oldest()
        return self._values

    def note(self, decision: str, value: float | None) -> None:
        """Remember a paid decision, or None for an expired one."""
        values = self.values if self._batches else self._values
        values[decision] = value
        if len(values) > CAPACITY:
            self._drop_oldest()

    def note_all(self, decisions: Iterable[tuple[str, float | None]]) -> None:
        """Remember several."""
        self.values.update(decisions)
        self._drop_oldest()

    def note_batch(self, ids: Ids, values: Floats) -> None:
        """Remember the values (n,) that decisions were paid. Nothing else may change the arrays."""
        self._batches.append((ids, values))
        self._n_in_batches += len(values)
        while self._n_in_batches - len(self._batches[0][1]) >= CAPACITY:
            self._n_in_batches -= len(self._batches.popleft()[1])
        if self._n_in_batches >= CAPACITY:
            self._values.clear()

    def outcome(self, decision: str, value: float, settings: Settings) -> Outcome:
        """The outcome of a reward for a decision that is not pending."""
        values = self.values
        if decision not in values:
            return outcome_of(None, value, settings)
        paid = values[decision]
        state = DecisionState.EXPIRED if paid is None else DecisionState.PAID
        return outcome_of(state, value, settings, paid=paid, in_time=False)

    def _drop_oldest(self) -> None:
        while len(self._values) > CAPACITY:
            self._values.popitem(last=False)
