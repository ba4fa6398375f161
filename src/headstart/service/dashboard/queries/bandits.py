"""Bandits: which there are, and how they are set up."""

from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, select

from headstart.live.stored import default_names
from headstart.service.messages import BanditConfiguration
from headstart.service.store.schema import bandits


@dataclass(frozen=True, kw_only=True)
class Bandit:
    """A bandit as its row has it."""

    id: int
    name: str
    configuration: BanditConfiguration
    created: float
    prior_version: int

    @property
    def dimension(self) -> int:
        """How many features an arm has."""
        names = self.configuration.feature_names
        return len(names) if names else int(self.configuration.dimension or 0)

    @property
    def feature_names(self) -> list[str]:
        """What the features are called."""
        return self.configuration.feature_names or list(default_names(self.dimension))


_COLUMNS = (
    bandits.c.id,
    bandits.c.name,
    bandits.c.configuration,
    bandits.c.created,
    bandits.c.prior_version,
)


def bandit_names(connection: Connection) -> list[str]:
    """All names, sorted."""
    return list(connection.execute(select(bandits.c.name).order_by(bandits.c.name)).scalars())


def bandit_named(connection: Connection, name: str) -> Bandit | None:
    """The bandit of this name."""
    row = connection.execute(select(*_COLUMNS).where(bandits.c.name == name)).one_or_none()
    if row is None:
        return None
    return Bandit(
        id=row.id,
        name=row.name,
        configuration=msgspec.json.decode(row.configuration, type=BanditConfiguration),
        created=row.created,
        prior_version=row.prior_version,
    )
