"""Registry: the bandits that a process holds, in step with the store, and how they change."""

import logging
from collections.abc import Callable, Collection, Iterator

import msgspec
from sqlalchemy import Connection, delete, func, insert, select, tuple_, update

from headstart.live.stored import Model
from headstart.service.engine import configuration
from headstart.service.engine.bandits import Bandit
from headstart.service.engine.catalogue import Catalogue
from headstart.service.engine.priors import read_prior
from headstart.service.engine.transaction import Transaction
from headstart.service.engine.views import guardrail_views
from headstart.service.messages import BanditConfiguration, BanditView, ServiceError, check_name
from headstart.service.store import bandits, schema
from headstart.service.store.bandits import BanditRow
from headstart.service.store.schema import bandits as table

_log = logging.getLogger("headstart.service")

# How many rows of a deleted bandit one transaction deletes.
_DELETED_ROWS = 5_000
# The tables of what belongs to a bandit.
_OWNED = [each for each in schema.metadata.sorted_tables if "bandit" in each.c]


class Registry:
    """Bandits by name. Only the thread that commits uses them.

    If other processes share the store, every transaction checks whether a bandit has changed.
    Bandits share the memory for tasks evenly; one that holds much more lets go of its tasks.
    """

    def __init__(self, clock: Callable[[], float], cache_bytes: int) -> None:
        self._clock = clock
        self._cache_bytes = cache_bytes
        self._bandits: dict[str, Bandit] = {}
        self._current: set[str] = set()
        self._prepared: dict[str, tuple[BanditConfiguration, Model]] = {}

    def __iter__(self) -> Iterator[Bandit]:
        return iter(list(self._bandits.values()))

    def forget(self, name: str) -> None:
        """Read the bandit from the store again at its next use."""
        self._current.discard(name)

    def keep(self, names: Collection[str]) -> None:
        """Drop all other bandits: they were deleted."""
        for name in self._bandits.keys() - {*names}:
            self._drop(name)

    def _drop(self, name: str) -> None:
        self._current.discard(name)
        if self._bandits.pop(name, None) is not None:
            for each in self:
                each.share(self._share)

    def get(self, transaction: Transaction, name: str) -> Bandit:
        """A bandit, in step with the store."""
        if transaction.owns_store and name in self._current:
            return self._with_room(self._bandits[name])
        connection = transaction.connection
        try:
            row = bandits.named(connection, name)
        except ServiceError:
            self._drop(name)
            raise
        bandit = self._bandits.get(name)
        if bandit is None or bandit.number != row.id or bandit.changed != row.changed:
            transaction.on_rollback(lambda: self._drop(name))
            bandit = self._read(connection, row)
            self._bandits[name] = bandit
            for each in self:
                each.share(self._share)
        if bandit.catalogue_version != row.catalogue_version:
            transaction.on_rollback(lambda: self._drop(name))
            bandit.catalogue = Catalogue.read(connection, row)
            bandit.catalogue_version = row.catalogue_version
        bandit.paused = row.paused is not None
        self._current.add(name)
        return self._with_room(bandit)

    @property
    def _share(self) -> int:
        """The memory of one bandit's tasks, in bytes."""
        return self._cache_bytes // max(len(self._bandits), 1)

    def _with_room(self, bandit: Bandit) -> Bandit:
        """A bandit that holds no more memory than about its share."""
        if len(bandit) > 1 and bandit.bytes_used > 2 * self._share:
            bandit.release()
        return bandit

    def prepare(self, view: BanditView) -> None:
        """Compute what the first tasks of a bandit start from, in any thread: others go on."""
        model = configuration.model_of(view.configuration, self._clock)
        model.prepare()
        self._prepared[view.name] = view.configuration, model

    def _read(self, connection: Connection, row: BanditRow) -> Bandit:
        prepared = self._prepared.pop(row.name, None)
        if prepared is None or prepared[0] != row.configuration:
            model = configuration.model_of(row.configuration, self._clock)
        else:
            model = prepared[1]
        bandit = Bandit(row, model)
        prior = read_prior(connection, row.id, model)
        if prior is not None:
            bandit.use(prior)
        return bandit

    def put_bandit(
        self, transaction: Transaction, name: str, wanted: BanditConfiguration
    ) -> BanditView:
        """Create a bandit, or change it."""
        connection = transaction.connection
        _lock(connection, name)
        row = bandits.find(connection, name)
        if row is None:
            check_name("bandit", name)
        wanted = configuration.completed(wanted)
        configuration.check(wanted)
        content = msgspec.json.encode(wanted).decode()
        if row is None:
            values = {"name": name, "created": transaction.now, "changed": transaction.now}
            connection.execute(insert(table).values(configuration=content, **values))
        elif row.configuration != wanted:
            configuration.check_change(row.configuration, wanted)
            values = {"changed": max(transaction.now, row.changed + 1e-6)}
            if row.configuration.guardrails != wanted.guardrails:
                values["accepted"] = None
            statement = update(table).where(table.c.id == row.id)
            connection.execute(statement.values(configuration=content, **values))
        transaction.after_commit(lambda: self.forget(name))
        return bandits.view(connection, bandits.named(connection, name))

    def pause(self, transaction: Transaction, name: str) -> None:
        """Send new tasks to the control, if a guardrail that pauses is broken."""
        row = self._locked(transaction, name)
        if must_pause(transaction.connection, row):
            self._set(transaction, row, paused=transaction.now)
            _log.warning("a guardrail is broken: new tasks of a bandit go to the control")

    def resume(self, transaction: Transaction, name: str) -> BanditView:
        """Let new tasks start warm again; guardrails that are broken now no longer pause."""
        connection, row = transaction.connection, self._locked(transaction, name)
        if row.paused is not None:
            views = guardrail_views(connection, row)
            broken = [each.name for each in views if each.status == "broken"]
            accepted = msgspec.json.encode(broken).decode()
            self._set(transaction, row, paused=None, accepted=accepted)
        return bandits.view(connection, bandits.named(connection, name))

    def end_shadow(self, transaction: Transaction, name: str) -> BanditView:
        """Serve the service's own choices from now on."""
        row = self._locked(transaction, name)
        wanted = msgspec.structs.replace(row.configuration, shadow=False)
        return self.put_bandit(transaction, name, wanted)

    def _locked(self, transaction: Transaction, name: str) -> BanditRow:
        """A bandit, locked against changes by other processes."""
        _lock(transaction.connection, name)
        return bandits.named(transaction.connection, name)

    def _set(self, transaction: Transaction, row: BanditRow, **values: object) -> None:
        transaction.connection.execute(update(table).where(table.c.id == row.id).values(values))
        transaction.after_commit(lambda: self.forget(row.name))

    def delete_bandit(self, transaction: Transaction, name: str) -> int:
        """Delete a bandit and return its number; `delete_rows` deletes its rows in other tables."""
        row = self._locked(transaction, name)
        transaction.connection.execute(delete(table).where(table.c.id == row.id))
        transaction.after_commit(lambda: self._drop(name))
        return row.id

    def change_items(
        self, transaction: Transaction, name: str, change: Callable[[Connection, BanditRow], int]
    ) -> int:
        """Change a bandit's items by a function of `catalogue`. Returns how many there are now."""
        row = self._locked(transaction, name)
        n = change(transaction.connection, row)
        version = {"catalogue_version": table.c.catalogue_version + 1}
        transaction.connection.execute(update(table).where(table.c.id == row.id).values(version))
        transaction.after_commit(lambda: self.forget(name))
        return n


def _lock(connection: Connection, name: str) -> None:
    """Every change of a bandit begins with its lock, so that processes change it in turns."""
    connection.execute(select(table.c.id).where(table.c.name == name).with_for_update())


def must_pause(connection: Connection, row: BanditRow) -> bool:
    """Whether a guardrail that pauses is broken now, but was not when someone last resumed."""
    pausing = {each.name for each in row.configuration.guardrails if each.pause}
    if row.paused is not None or not pausing - {*row.accepted}:
        return False
    views = guardrail_views(connection, row)
    broken = {each.name for each in views if each.status == "broken"}
    return bool(broken & pausing - {*row.accepted})


def delete_rows(transaction: Transaction, bandit: int) -> bool:
    """Delete some rows of a deleted bandit. Returns whether there may be more."""
    more = False
    for owned in _OWNED:
        key = list(owned.primary_key)
        some = select(*key).where(owned.c.bandit == bandit).limit(_DELETED_ROWS)
        statement = delete(owned).where(tuple_(*key).in_(some))
        more |= transaction.connection.execute(statement).rowcount >= _DELETED_ROWS
    return more


def left_behind(connection: Connection) -> list[int]:
    """The numbers of deleted bandits that still have rows, because a process ended too early."""
    present = {row.id for row in bandits.all_bandits(connection)}
    gone = set()
    for owned in _OWNED:
        number = 0
        while number is not None:
            following = select(func.min(owned.c.bandit)).where(owned.c.bandit > number)
            number = connection.execute(following).scalar_one()
            if number is not None and number not in present:
                gone.add(number)
    return sorted(gone)
