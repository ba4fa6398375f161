"""Export: the decisions of a bandit as a log in Parquet, a part at a time.

Every part is read in its own transaction, so that a slow reader blocks nothing. A log has the
decisions of its range in the order in which they were made.
"""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import select

from headstart.arrays import floats
from headstart.service.store.bandits import BanditRow
from headstart.service.store.blocks import first_id
from headstart.service.store.database import Database
from headstart.service.store.decisions import scanned
from headstart.service.store.schema import DECISION_STATUS, PENDING, decisions, tasks

if TYPE_CHECKING:
    import pyarrow as pa

# The columns of a log and their types in Parquet; `features` follows.
COLUMNS = {
    "id": "string",
    "task": "string",
    "arm": "string",
    "rank": "int16",
    "slate": "string",
    "observed": "bool",
    "time": "double",
    "propensity": "double",
    "control": "bool",
    "status": "string",
    "reward": "double",
    "weight": "double",
    "paid_time": "double",
    "round": "int64",
    "prior_version": "int32",
    "mean": "double",
    "service_arm": "string",
    "service_propensity": "double",
    "chance": "double",
    "catalogue": "int64",
    "offered": "binary",
    "about": "binary",
}
# The columns with the same names in the table of decisions.
_KEPT = [
    name
    for name in COLUMNS
    if name in decisions.c and name not in ("task", "status", "weight", "observed")
]


def rows(
    database: Database,
    bandit: BanditRow,
    *,
    start: float = 0.0,
    end: float = 1e11,
    rewarded: bool = False,
) -> Iterator[list[dict[str, Any]]]:
    """Decisions from one time to before another, some at a time.

    rewarded: only decisions with a reward.
    """
    c, last = decisions.c, first_id(start)
    query = (
        select(decisions, tasks.c.name, tasks.c.control, tasks.c.about)
        .join(tasks, tasks.c.id == c.task)
        .where(c.bandit == bandit.id, c.id < first_id(end))
        .order_by(c.id)
        .limit(scanned(bandit.dimension))
    )
    if rewarded:
        query = query.where(c.status != PENDING, c.value.is_not(None))
    while True:
        with database.reading() as connection:
            found = connection.execute(query.where(c.id > last)).mappings().all()
        if not found:
            return
        last = found[-1]["id"]
        yield [_row(row) for row in found]


def _row(row: Any) -> dict[str, Any]:
    waits = row["status"] == PENDING  # what it counts as is not a reward
    return {name: row[name] for name in _KEPT} | {
        "task": row["name"],
        "observed": bool(row["observed"]),
        "control": bool(row["control"]),
        "status": DECISION_STATUS[row["status"]],
        "reward": None if waits else row["value"],
        "weight": None if waits else row["weight"],
        "about": row["about"],
        "features": floats(row["features"]),
    }


class _Parts(io.RawIOBase):
    """A file whose content is taken away, part by part, as it is written."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any, /) -> int:
        part = bytes(content)
        self._parts.append(part)
        self._size += len(part)
        return len(part)

    def tell(self) -> int:
        return self._size

    def take(self) -> bytes:
        """The bytes written since the last call."""
        content = b"".join(self._parts)
        self._parts.clear()
        return content


def parquet(pages: Iterator[list[dict[str, Any]]], dimension: int) -> Iterator[bytes]:
    """A Parquet file of decisions, in parts."""
    import pyarrow as pa  # noqa: PLC0415 - a third of a second
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415

    fields = [pa.field(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()]
    schema = pa.schema([*fields, pa.field("features", pa.list_(pa.float64(), dimension))])
    file = _Parts()
    with ParquetWriter(file, schema) as writer:
        for page in pages:
            writer.write_batch(_batch(page, schema, dimension))
            yield file.take()
    yield file.take()


def _batch(page: list[dict[str, Any]], schema: "pa.Schema", dimension: int) -> "pa.RecordBatch":
    import pyarrow as pa  # noqa: PLC0415

    columns = [pa.array([row[name] for row in page], schema.field(name).type) for name in COLUMNS]
    numbers = pa.array(np.concatenate([row["features"] for row in page]))
    features = pa.FixedSizeListArray.from_arrays(numbers, dimension)
    return pa.RecordBatch.from_arrays([*columns, features], schema=schema)
