"""A served shop whose items have attributes, behind a key; for clients of other protocols."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.service.http.real import serving

from headstart.features import Category, Features, Flag, Number, Tags
from headstart.service.engine.service import Service
from headstart.service.messages import BanditConfiguration, DecisionRecord, Item
from headstart.service.store.database import Database
from headstart.service.store.keys import create_key

BANDIT = "shop"
SCHEMA = Features(
    item=[Number("price", mean=5.0, scale=2.0), Category("brand"), Tags("genres")],
    context=[Category("device", levels=["phone", "desktop"]), Flag("rain")],
    task=[Number("user.age", mean=40.0, scale=12.0)],
    cross=[("device", "brand")],
)
ITEMS = [
    Item(id="tea", attributes={"price": 3.5, "brand": "acme", "genres": ["hot"]}),
    Item(id="mug", attributes={"price": 12, "brand": "zeta"}),
]


@dataclass(frozen=True, kw_only=True)
class Served:
    """Where the shop is, the key that may decide, and what it holds."""

    address: str
    key: str
    service: Service

    def record(self, decision: str) -> DecisionRecord:
        return self.service.decision(BANDIT, decision)

    def features(self, decision: str) -> dict[str, float]:
        """What the decision was made by: the columns that are not 0."""
        parts = self.record(decision).contributions
        return {part.feature: part.value for part in parts if part.value != 0.0}


@contextmanager
def shop(folder: Path) -> Iterator[Served]:
    """A shop that is ready, with a bandit that has a schema and one that has numbers."""
    store = folder / "store.sqlite"
    database = Database.open(store)
    key = create_key(database, name="web", role="decide", now=1.0)
    database.close()
    with serving(store, folder) as (address, service):
        service.put_bandit(
            BANDIT, BanditConfiguration(features=SCHEMA.plain(), reward_range=(0.0, 1.0))
        )
        service.put_items(BANDIT, ITEMS)
        yield Served(address=address, key=key, service=service)
