"""Bandits: their names and configurations, and the items of their catalogues."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, func, select

from headstart.arrays import Floats, floats
from headstart.features import Features
from headstart.live.inputs import default_names
from headstart.service.messages import (
    LONGEST_NAME,
    BanditConfiguration,
    BanditView,
    not_found,
    read,
)
from headstart.service.schemas import schema_of
from headstart.service.store.schema import bandits, items, minutes


@dataclass(frozen=True, kw_only=True)
class BanditRow:
    """A bandit as it is stored."""

    id: int
    name: str
    configuration: BanditConfiguration
    created: float
    changed: float
    catalogue_version: int
    prior_version: int
    paused: float | None  # since when a broken guardrail sends new tasks to the control
    accepted: list[str]  # guardrails that were broken when somebody resumed

    @property
    def dimension(self) -> int:
        """How many features an arm has."""
        if self.schema is not None:
            return self.schema.dimension
        names = self.configuration.feature_names
        return len(names) if names else int(self.configuration.dimension or 0)

    @property
    def schema(self) -> Features | None:
        """The schema of attributes; None if features are numbers."""
        return schema_of(self.configuration)

    @property
    def feature_names(self) -> list[str]:
        """The names of the features."""
        if self.schema is not None:
            return list(self.schema.columns)
        return self.configuration.feature_names or list(default_names(self.dimension))


class ItemRow(NamedTuple):
    """An item of a catalogue as it is stored."""

    id: str
    features: Floats  # (d,); (0,) with attributes
    tags: list[str]
    attributes: dict[str, Any] | None


def named(connection: Connection, name: str) -> BanditRow:
    """The bandit of a name; raises if there is none."""
    bandit = find(connection, name)
    if bandit is None:
        raise not_found(f"there is no bandit {name[:LONGEST_NAME]!r}")
    return bandit


def find(connection: Connection, name: str) -> BanditRow | None:
    """The bandit of a name, if there is one."""
    row = connection.execute(select(bandits).where(bandits.c.name == name)).one_or_none()
    return None if row is None else _bandit(row)


def numbered(connection: Connection, number: int) -> BanditRow | None:
    """The bandit of a number."""
    row = connection.execute(select(bandits).where(bandits.c.id == number)).one_or_none()
    return None if row is None else _bandit(row)


def all_bandits(connection: Connection) -> list[BanditRow]:
    """All bandits, in the order of their names."""
    return [_bandit(row) for row in connection.execute(select(bandits).order_by(bandits.c.name))]


def view(connection: Connection, bandit: BanditRow) -> BanditView:
    """A bandit with its counts, which are sums over its minutes."""
    sums = [func.coalesce(func.sum(minutes.c[n]), 0) for n in ("opened", "decisions", "rewards")]
    tasks, decisions, rewards = connection.execute(
        select(*sums).where(minutes.c.bandit == bandit.id)
    ).one()
    return BanditView(
        name=bandit.name,
        configuration=bandit.configuration,
        dimension=bandit.dimension,
        feature_names=bandit.feature_names,
        created=bandit.created,
        changed=bandit.changed,
        items=n_items(connection, bandit.id),
        tasks=int(tasks),
        decisions=int(decisions),
        rewards=int(rewards),
        prior_version=bandit.prior_version,
        paused=bandit.paused,
    )


def items_of(
    connection: Connection,
    bandit: int,
    *,
    ids: Collection[str] | None = None,
    after: str | None = None,
    limit: int | None = None,
) -> list[ItemRow]:
    """Items of a catalogue in the order of their ids: some of them, or those after an id."""
    query = select(items.c.item, items.c.features, items.c.tags, items.c.attributes)
    query = query.where(items.c.bandit == bandit).order_by(items.c.item).limit(limit)
    if ids is not None:
        query = query.where(items.c.item.in_(list(ids)))
    if after is not None:
        query = query.where(items.c.item > after)
    return [
        ItemRow(
            item,
            floats(features),
            msgspec.json.decode(tags),
            None if attributes is None else msgspec.json.decode(attributes),
        )
        for item, features, tags, attributes in connection.execute(query)
    ]


def item_ids(connection: Connection, bandit: int) -> list[str]:
    """The ids of a catalogue's items, in order."""
    query = select(items.c.item).where(items.c.bandit == bandit).order_by(items.c.item)
    return list(connection.execute(query).scalars())


def n_items(connection: Connection, bandit: int) -> int:
    """How many items a catalogue has."""
    query = select(func.count()).select_from(items).where(items.c.bandit == bandit)
    return int(connection.execute(query).scalar_one())


def _bandit(row: Any) -> BanditRow:
    found = {
        "configuration": read(row.configuration, BanditConfiguration),
        "accepted": msgspec.json.decode(row.accepted or "[]", type=list[str]),
    }
    return BanditRow(**dict(row._mapping) | found)
