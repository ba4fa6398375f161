"""Blocks: decisions that were made about the same time, and how those of a task are found.

The index of decisions by task is an index by block and then by task. So a new decision goes into a
small part of it, that of the latest block. In an index of tasks alone every decision of a batch has
a place of its own, and to write all of these pages took more than half of the time of a commit.
What it costs: to find the decisions of a task, every block is looked into.
"""

import math
from collections.abc import Iterator

from sqlalchemy import ColumnElement, Connection, and_, func, select

from headstart.service.store.schema import decisions

_C = decisions.c
# A block ends with so many decisions, or after so long.
_DECISIONS = 1 << 15
SECONDS = 3600
# How many blocks one statement looks into at most.
_MOST = 512


class Blocks:
    """The block into which the decisions of a process go.

    Its number is the second in which it began; that of a decision is at most SECONDS later. Where
    processes begin blocks in the same second, they share one.
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
    """The blocks of a store, the latest first; each is found by one step in the index."""
    found = select(func.max(_C.block).label("block")).cte("blocks", recursive=True)
    earlier = select(func.max(_C.block)).where(_C.block < found.c.block).scalar_subquery()
    found = found.union_all(select(earlier).where(found.c.block.is_not(None)))
    query = select(found.c.block).where(found.c.block.is_not(None))
    return sorted(connection.execute(query).scalars(), reverse=True)


def of_task(connection: Connection, task: int) -> Iterator[tuple[ColumnElement[bool], str]]:
    """Conditions of which one holds for each decision of a task, for the latest blocks first.

    With each, a bound: the ids of the decisions for which a later one holds are below it.
    """
    blocks, size = all_blocks(connection), 1
    while blocks:
        some, blocks = blocks[:size], blocks[size:]
        size = min(2 * size, _MOST)
        condition = and_(_C.block.in_(some), _C.task == task)
        yield condition, first_id(blocks[0] + SECONDS) if blocks else ""


def first_id(time: float) -> str:
    """What is not above the id of any decision from a time on: ids begin with milliseconds."""
    return f"{max(int(time * 1000), 0):012x}"
