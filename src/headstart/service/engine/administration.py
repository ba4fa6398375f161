"""Administration: bandits and their items are created, changed and deleted."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import msgspec
from sqlalchemy import Connection, delete, func, insert, select, tuple_, update

from headstart.arrays import packed
from headstart.live import inputs
from headstart.service.engine import configuration
from headstart.service.engine.registry import Registry
from headstart.service.engine.requests.tasks import by_names
from headstart.service.engine.transaction import Transaction
from headstart.service.messages import (
    MOST_ARMS,
    BanditConfiguration,
    BanditView,
    Item,
    ItemChange,
    invalid,
    not_found,
)
from headstart.service.store import schema
from headstart.service.store.blocks import of_task
from headstart.service.store.queries import bandits
from headstart.service.store.queries.bandits import BanditRow

# How many rows of a deleted bandit one transaction deletes.
_DELETED_ROWS = 5_000
# Of an item: with a larger one, no decision could be made from the catalogue.
_LARGEST_FEATURE = 1e9


def put_bandit(
    transaction: Transaction, registry: Registry, name: str, given: BanditConfiguration
) -> BanditView:
    """Create a bandit, or change it."""
    configuration.model_of(given, lambda: transaction.now)
    configuration.check_scales(given)
    table, connection = schema.bandits, transaction.connection
    content = msgspec.json.encode(given).decode()
    row = bandits.find(connection, name)
    if row is None:
        values = {"name": name, "created": transaction.now, "changed": transaction.now}
        connection.execute(insert(table).values(configuration=content, **values))
    elif row.configuration != given:
        configuration.check_change(row.configuration, given)
        changed = max(transaction.now, row.changed + 1e-6)
        connection.execute(
            update(table).where(table.c.id == row.id).values(configuration=content, changed=changed)
        )
    transaction.after_commit(lambda: registry.forget(name))
    return bandits.view(connection, bandits.named(connection, name))


def delete_bandit(transaction: Transaction, registry: Registry, name: str) -> int:
    """Delete a bandit; its rows in other tables are deleted by `delete_rows`."""
    row = bandits.named(transaction.connection, name)
    transaction.connection.execute(delete(schema.bandits).where(schema.bandits.c.id == row.id))
    transaction.after_commit(lambda: registry.forget(name))
    return row.id


def delete_rows(transaction: Transaction, bandit: int) -> bool:
    """Delete some rows of a bandit that was deleted; whether there may be more."""
    more = False
    for table in schema.metadata.sorted_tables:
        if "bandit" not in table.c:
            continue
        key = list(table.primary_key)
        some = select(*key).where(table.c.bandit == bandit).limit(_DELETED_ROWS)
        statement = delete(table).where(tuple_(*key).in_(some))
        more |= transaction.connection.execute(statement).rowcount >= _DELETED_ROWS
    return more


def left_behind(connection: Connection) -> list[int]:
    """The numbers of deleted bandits that still have rows, since a process ended before it did."""
    known = set(connection.execute(select(schema.bandits.c.id)).scalars())
    found = set()
    # Of the others none has rows for longer; these have an index that begins with the bandit.
    for table in (schema.tasks, schema.decisions, schema.idempotency, schema.items):
        number = 0
        while number is not None:
            following = select(func.min(table.c.bandit)).where(table.c.bandit > number)
            number = connection.execute(following).scalar_one()
            if number is not None and number not in known:
                found.add(number)
    return sorted(found)


def _features(given: Sequence[float], dimension: int, item: str) -> bytes:
    try:
        found = inputs.vector_of(f"features of {item!r}", given, dimension)
    except ValueError as error:
        raise invalid(str(error)) from None
    largest = max(found.max(), -found.min())
    if largest > _LARGEST_FEATURE:
        raise invalid(
            f"features of {item!r} must be at most {_LARGEST_FEATURE:g} in size, got {largest:g}"
        )
    return packed(found)


def put_items(
    transaction: Transaction, registry: Registry, name: str, items: Sequence[Item]
) -> int:
    """Replace the catalogue."""
    row = bandits.named(transaction.connection, name)
    table = schema.items
    transaction.connection.execute(delete(table).where(table.c.bandit == row.id))
    _check_different(items)
    rows = [_row(row, item) for item in items]
    if rows:
        transaction.connection.execute(insert(table), rows)
    return _changed(transaction, registry, row)


def patch_items(
    transaction: Transaction, registry: Registry, name: str, items: Sequence[Item | ItemChange]
) -> int:
    """Add items, and change those that are there."""
    row = bandits.named(transaction.connection, name)
    table, connection = schema.items, transaction.connection
    _check_different(items)
    wanted = [item.id for item in items]
    before = {item.id: item for item in bandits.items_of(connection, row.id, ids=wanted)}
    rows = []
    for item in items:
        old = before.get(item.id)
        features, tags = item.features, item.tags
        if features is None:
            if old is None:
                raise invalid(f"features must be given for a new item, got none for {item.id!r}")
            features = old.features.tolist()
        if tags is None:
            tags = [] if old is None else old.tags
        rows.append(_row(row, Item(id=item.id, features=features, tags=tags)))
    if rows:
        connection.execute(delete(table).where(table.c.bandit == row.id, table.c.item.in_(wanted)))
        connection.execute(insert(table), rows)
    return _changed(transaction, registry, row)


def delete_items(
    transaction: Transaction, registry: Registry, name: str, ids: Sequence[str] | None
) -> int:
    """Delete items by id, or all."""
    row = bandits.named(transaction.connection, name)
    table = schema.items
    statement = delete(table).where(table.c.bandit == row.id)
    if ids is not None:
        present = {item.id for item in bandits.items_of(transaction.connection, row.id, ids=ids)}
        unknown = next((item for item in ids if item not in present), None)
        if unknown is not None:
            raise not_found(f"the catalogue has no item {unknown!r}")
        statement = statement.where(table.c.item.in_(list(ids)))
    transaction.connection.execute(statement)
    return _changed(transaction, registry, row)


def _check_different(items: Sequence[Item | ItemChange]) -> None:
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise invalid(f"items must have different ids, got {item.id!r} more than once")
        seen.add(item.id)


def _row(bandit: BanditRow, item: Item) -> dict[str, Any]:
    return {
        "bandit": bandit.id,
        "item": item.id,
        "features": _features(item.features, bandit.dimension, item.id),
        "tags": msgspec.json.encode(item.tags).decode(),
    }


def _changed(transaction: Transaction, registry: Registry, row: BanditRow) -> int:
    """Note that the catalogue has changed; how many items it has now."""
    connection, table = transaction.connection, schema.bandits
    n = bandits.n_items(connection, row.id)
    if n > MOST_ARMS:
        raise invalid(f"the catalogue must have at most {MOST_ARMS:,} items, got {n:,}")
    connection.execute(
        update(table)
        .where(table.c.id == row.id)
        .values(catalogue_version=table.c.catalogue_version + 1)
    )
    transaction.after_commit(lambda: registry.forget(row.name))
    return n


def finish(transaction: Transaction, registry: Registry, name: str, task: str) -> None:
    """Note that a task is finished; it goes on when it comes back."""
    bandit = registry.get(transaction, name)
    entry = by_names(transaction, bandit, [task], lock=True).get(task)
    if entry is None:
        raise not_found(f"bandit {name!r} has no task {task!r}")
    transaction.touch(bandit, [entry])
    entry.status = schema.FINISHED
    table = schema.tasks
    statement = update(table).where(table.c.id == entry.id).values(status=schema.FINISHED)
    transaction.connection.execute(statement)


def erase(transaction: Transaction, registry: Registry, name: str, task: str) -> bool:
    """Erase a task with its decisions; whether the prior counts it, until it is recounted."""
    bandit = registry.get(transaction, name)
    entry = by_names(transaction, bandit, [task], lock=True).get(task)
    if entry is None:
        raise not_found(f"bandit {name!r} has no task {task!r}")
    connection = transaction.connection
    bandit.drop([entry])
    transaction.sums.opened(bandit.number, entry.control, n=-1)
    for condition, _ in of_task(connection, entry.id):
        connection.execute(delete(schema.decisions).where(condition))
    keys = schema.idempotency
    connection.execute(delete(keys).where(keys.c.task == entry.id))
    connection.execute(delete(schema.tasks).where(schema.tasks.c.id == entry.id))
    counted = schema.contributions
    statement = update(counted).where(counted.c.task == entry.id).values(erased=1)
    return connection.execute(statement).rowcount > 0


class Administration:
    """Bandits and their catalogues, changed one call after the other; each waits for its commit."""

    def __init__(
        self, registry: Registry, submit: Callable[[Callable[[Transaction], Any]], "Future[Any]"]
    ) -> None:
        self._registry = registry
        self._submit = submit

    def _do(self, call: Callable[[Transaction], Any]) -> Any:
        return self._submit(call).result()

    def put_bandit(self, name: str, given: BanditConfiguration) -> BanditView:
        """Create a bandit, or change it."""
        found: BanditView = self._do(lambda t: put_bandit(t, self._registry, name, given))
        return found

    def delete_bandit(self, name: str) -> None:
        """Delete a bandit with all it has."""
        number = self._do(lambda t: delete_bandit(t, self._registry, name))
        while self._do(lambda t: delete_rows(t, number)):
            pass

    def put_items(self, bandit: str, items: Sequence[Item]) -> int:
        """Replace the catalogue; how many items it has now."""
        return int(self._do(lambda t: put_items(t, self._registry, bandit, items)))

    def patch_items(self, bandit: str, items: Sequence[Item | ItemChange]) -> int:
        """Add items, and change those that are there; how many there are now."""
        return int(self._do(lambda t: patch_items(t, self._registry, bandit, items)))

    def delete_items(self, bandit: str, ids: Sequence[str] | None) -> int:
        """Delete items by id, or all with None; how many are left."""
        return int(self._do(lambda t: delete_items(t, self._registry, bandit, ids)))
