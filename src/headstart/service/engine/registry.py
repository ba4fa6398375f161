"""Registry: the bandits that a process holds, as they are in the store."""

from collections.abc import Callable
from typing import Any

import msgspec
from sqlalchemy import Connection, select

from headstart.live.stored import Model, StoredMemory
from headstart.service.engine import configuration
from headstart.service.engine.bandits import Bandit, PriorInUse
from headstart.service.engine.catalogue import StoredCatalogue
from headstart.service.engine.records import bandit_row
from headstart.service.engine.transaction import Transaction
from headstart.service.store import schema


class Registry:
    """Bandits by name. Only the thread that commits uses them.

    Where other processes share the store, every transaction looks whether a bandit has changed.
    """

    def __init__(self, clock: Callable[[], float], cache_bytes: int) -> None:
        self._clock = clock
        self._cache_bytes = cache_bytes
        self._bandits: dict[str, Bandit] = {}
        self._current: set[str] = set()

    def __iter__(self) -> Any:
        return iter(list(self._bandits.values()))

    def forget(self, name: str) -> None:
        """Look into the store when the bandit is next used."""
        self._current.discard(name)

    def get(self, transaction: Transaction, name: str) -> Bandit:
        """A bandit as the store has it."""
        if transaction.owns_store and name in self._current:
            return self._bandits[name]
        connection = transaction.connection
        try:
            row = bandit_row(connection, name)
        except Exception:
            self._bandits.pop(name, None)
            raise
        bandit = self._bandits.get(name)
        if bandit is None or bandit.number != row.id or bandit.changed != row.changed:
            bandit = self._read(connection, row)
            self._bandits[name] = bandit
        if bandit.catalogue_version != row.catalogue_version:
            dimension = bandit.model.dimension
            bandit.catalogue = StoredCatalogue.read(connection, row.id, dimension)
            bandit.catalogue_version = row.catalogue_version
        self._current.add(name)
        return bandit

    def _read(self, connection: Connection, row: Any) -> Bandit:
        given = configuration.decode(row.configuration)
        model = configuration.model_of(given, self._clock)
        bandit = Bandit(row.id, row.name, given, row.changed, model, self._cache_bytes)
        prior = read_prior(connection, row.id, model)
        if prior is not None:
            bandit.use(prior)
        return bandit


def read_prior(connection: Connection, bandit: int, model: Model) -> PriorInUse | None:
    """The latest version of a bandit's prior; None if there is none yet."""
    found = read_memory(connection, bandit, model)
    if found is None:
        return None
    version, memory, others = found
    merged = memory.merged(others, model)
    return PriorInUse(version=version, memory=merged, start=merged.start(model))


def read_memory(
    connection: Connection, bandit: int, model: Model
) -> tuple[int, StoredMemory, list[StoredMemory]] | None:
    """The latest version, the memory of the store's tasks, and those of the promoted logs."""
    table = schema.priors
    query = (
        select(table.c.version, table.c.memory, table.c.fits)
        .where(table.c.bandit == bandit)
        .order_by(table.c.version.desc())
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    memory = StoredMemory.from_bytes(row.memory, model)
    return row.version, memory, read_fits(connection, msgspec.json.decode(row.fits), model)


def read_fits(connection: Connection, numbers: list[int], model: Model) -> list[StoredMemory]:
    """The memories of logs."""
    table = schema.fits
    query = select(table.c.memory).where(table.c.id.in_(numbers)).order_by(table.c.id)
    return [StoredMemory.from_bytes(row.memory, model) for row in connection.execute(query)]


def promoted(connection: Connection, bandit: int) -> list[int]:
    """The numbers of the logs that count now."""
    table = schema.fits
    query = select(table.c.id).where(table.c.bandit == bandit, table.c.status == "promoted")
    return [row.id for row in connection.execute(query.order_by(table.c.id))]
