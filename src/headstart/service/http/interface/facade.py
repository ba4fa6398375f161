"""What the interface asks of the service behind it."""

# ruff: noqa: D102 - `Service` documents them

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol

from headstart.service.messages import (
    BanditConfiguration,
    BanditView,
    DecisionAnswer,
    DecisionRecord,
    DecisionRequest,
    Item,
    ItemChange,
    ObservationAnswer,
    ObservationRequest,
    PriorView,
    RewardAnswer,
    RewardRequest,
    ServiceError,
    TaskRecord,
)
from headstart.service.store.database import Database


class Commits(Protocol):
    """Work that is committed in groups: a future ends after its commit."""

    def decide(
        self, bandit: str, requests: Sequence[DecisionRequest]
    ) -> Future[list[DecisionAnswer | ServiceError]]: ...

    def reward(
        self, bandit: str, requests: Sequence[RewardRequest]
    ) -> Future[list[RewardAnswer | ServiceError]]: ...

    def observe(
        self, bandit: str, requests: Sequence[ObservationRequest]
    ) -> Future[list[ObservationAnswer | ServiceError]]: ...

    def finish(self, bandit: str, task: str) -> Future[None]: ...

    def erase(self, bandit: str, task: str) -> Future[int]: ...


class Administration(Protocol):
    """Short calls, safe in any thread."""

    def put_bandit(self, name: str, configuration: BanditConfiguration) -> BanditView: ...

    def bandit(self, name: str) -> BanditView: ...

    def bandits(self) -> list[BanditView]: ...

    def delete_bandit(self, name: str) -> None: ...

    def put_items(self, bandit: str, items: Sequence[Item]) -> int: ...

    def patch_items(self, bandit: str, items: Sequence[Item | ItemChange]) -> int: ...

    def delete_items(self, bandit: str, ids: Sequence[str] | None) -> int: ...

    def items(self, bandit: str, *, after: str | None = None, limit: int = 1000) -> list[Item]: ...

    def decision(self, bandit: str, decision: str) -> DecisionRecord: ...

    def task(self, bandit: str, task: str) -> TaskRecord: ...

    def prior(self, bandit: str, *, history: int = 100) -> PriorView: ...


class Facade(Commits, Administration, Protocol):
    """One process of the service, as `headstart.service.engine.Service` is."""

    database: Database
    clock: Callable[[], float]

    @property
    def ready(self) -> bool: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def status(self) -> Mapping[str, object]: ...
