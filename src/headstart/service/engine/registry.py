"""Registry: the bandits that a process holds, as they are in the store."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from headstart.live.stored import Model, StoredMemory
from headstart.service.engine import configuration
from headstart.service.engine.bandits import Bandit, PriorInUse
from headstart.service.engine.catalogue import StoredCatalogue
from headstart.service.engine.transaction import Transaction
from headstart.service.store.queries import bandits, priors
from headstart.service.store.queries.bandits import BanditRow


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
            row = bandits.named(connection, name)
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

    def _read(self, connection: Connection, row: BanditRow) -> Bandit:
        model = configuration.model_of(row.configuration, self._clock)
        bandit = Bandit(row, model, self._cache_bytes)
        prior = read_prior(connection, row.id, model)
        if prior is not None:
            bandit.use(prior)
        return bandit


def read_prior(connection: Connection, bandit: int, model: Model) -> PriorInUse | None:
    """The latest version of a bandit's prior; None if there is none yet."""
    latest = priors.latest_memory(connection, bandit)
    if latest is None:
        return None
    memory = StoredMemory.from_bytes(latest.memory, model)
    merged = memory.merged(read_fits(connection, latest.fits, model), model)
    return PriorInUse(version=latest.version, memory=merged, start=merged.start(model))


def read_fits(connection: Connection, numbers: list[int], model: Model) -> list[StoredMemory]:
    """The memories of logs."""
    memories = priors.fit_memories(connection, numbers)
    return [StoredMemory.from_bytes(memory, model) for memory in memories]
