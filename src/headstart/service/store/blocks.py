"""Blocks: decisions made at about the same time, and how to find the decisions of a task.

The index of decisions is by block and then by task. So a new decision goes into a small part of it,
the latest block. In an index by task alone, every decision of a batch would go to another page, and
writing these pages took more than half of the time of a commit. In exchange, finding one task's
decisions means searching every block.
"""

import math
from collections.abc import Iterator

from sqlalchemy import ColumnElement, Connection, and_, func, select

from headstart.service.store.schema import decisions

_C = decisions.c
# A block ends after this many decisions, or after this long.
_DECISIONS = 1 << 15
SECONDS = 3600
# How many blocks one statement searches at most.
_MOST = 512


class Blocks:
    """The block into which the decisions of a process go.

    Its number is the second in which it began; its decisions are made at most SECONDS later.
    Processes that begin blocks in the same second share one.
    """

    def __init__(self) -> None:
        self._begin = -math.inf
        self._n = 0

    def take(self, n: int, now: float) -> int:
        """The block of n new decisions."""
        if self._n >= _DECISIONS or not self._begin <= now < self._begin + SECONDS:
            self._begin, self._n = int(now), 0
        self._n += n
        return int(self._begin)


def all_blocks(connection: Connection) -> list[int]:
    """The blocks of a store, latest first; each is found by one step in the index."""
    found = select(func.max(_C.block).label("block")).cte("blocks", recursive=True)
    earlier = select(func.max(_C.block)).where(_C.block < found.c.block).scalar_subquery()
    found = found.union_all(select(earlier).where(found.c.block.is_not(None)))
    query = select(found.c.block).where(found.c.block.is_not(None))
    return sorted(connection.execute(query).scalars(), reverse=True)


def of_task(connection: Connection, task: int) -> Iterator[tuple[ColumnElement[bool], str]]:
    """Conditions, one of which holds for each decision of a task, for the latest blocks first.

    Each comes with a bound: decisions that meet a later condition have ids below it.
    """
    blocks, size = all_blocks(connection), 1
    while blocks:
        some, blocks = blocks[:size], blocks[size:]
        size = min(2 * size, _MOST)
        condition = and_(_C.block.in_(some), _C.task == task)
        yield condition, first_id(blocks[0] + SECONDS) if blocks else ""


def first_id(time: float) -> str:
    """A lower bound of the ids of decisions from a time on: ids begin with milliseconds."""
    return f"{max(int(time * 1000), 0):012x}"
