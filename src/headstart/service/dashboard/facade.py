"""Facade: what the pages need of the service and its jobs."""

from collections.abc import Callable, Mapping
from typing import Protocol

from headstart.service.messages import DecisionRecord, TaskRecord
from headstart.service.store.database import Database


class Fits(Protocol):
    """The part of `Jobs` that pages use."""

    def promote(self, bandit: str, fit: int, /) -> object:
        """Have a fit count for the prior."""

    def withdraw(self, bandit: str, fit: int, /) -> object:
        """Have a fit count no longer."""


class Facade(Protocol):
    """The part of `Service` that pages use."""

    @property
    def database(self) -> Database:
        """The store."""

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds since 1970."""

    def task(self, bandit: str, task: str) -> TaskRecord:
        """What is known of a task."""

    def decision(self, bandit: str, decision: str) -> DecisionRecord:
        """A decision as it was made."""

    def erase(self, bandit: str, task: str) -> int:
        """Forget a task, in the prior too; the version of the prior without it."""

    def status(self) -> Mapping[str, float | int | bool | None]:
        """How the process does, in numbers."""
