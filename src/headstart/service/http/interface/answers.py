"""Messages of the interface alone: counts, pages of items, health, and what comes in a query."""

from typing import Annotated, Literal

from msgspec import Meta

from headstart.service.messages import MOST_ARMS, Item, ItemChange, Message, Name


class ItemQuery(Message):
    """Which items: those after an id, at most `limit`."""

    after: Name | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1_000


class LimitQuery(Message):
    """At most how many."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100


class HistoryQuery(Message):
    """How many versions of the prior."""

    history: Annotated[int, Meta(ge=0, le=10_000)] = 100


class Health(Message):
    """Whether the process answers, and what it speaks."""

    status: Literal["ok"]
    version: str  # of headstart
    interfaces: list[str]  # the versions of the interface


class Readiness(Message):
    """Whether calls are answered."""

    ready: bool


Items = Annotated[list[Item], Meta(max_length=MOST_ARMS)]
ItemChanges = Annotated[list[ItemChange], Meta(max_length=MOST_ARMS)]
