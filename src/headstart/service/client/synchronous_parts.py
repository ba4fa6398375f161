"""Parts of a bandit in the client without asyncio: catalogue, jobs and fits."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headstart.service.client import calls, requests
from headstart.service.client.calls import HttpCall
from headstart.service.client.requests import Vector
from headstart.service.jobs.messages import (
    EvaluateRequest,
    FitChange,
    FitRequest,
    FitView,
    JobView,
)
from headstart.service.messages import Item, ItemChange

Send = Callable[[HttpCall[Any]], Any]


class Items:
    """The catalogue of a bandit. Iterate over it to read it, page by page."""

    def __init__(self, send: Send, bandit: str) -> None:
        self._send = send
        self._bandit = bandit

    def __iter__(self) -> Iterator[Item]:
        after: str | None = None
        while True:
            page = self._send(calls.items(self._bandit, after, 1_000))
            for item in page.items:  # noqa: UP028 - as in the other client
                yield item
            after = page.next
            if after is None:
                return

    def put(self, given: Mapping[str, Vector] | Iterable[Item]) -> int:
        """Replace the whole catalogue, by items or features by id; how many there are now."""
        found = self._send(calls.put_items(self._bandit, requests.items(given)))
        return int(found.items)

    def patch(self, given: Mapping[str, Vector] | Iterable[Item | ItemChange]) -> int:
        """Add items, or change some; how many there are now."""
        found = self._send(calls.patch_items(self._bandit, requests.changes(given)))
        return int(found.items)

    def delete(self, ids: Iterable[str] | None = None) -> int:
        """Remove items by id, or all; how many are left."""
        chosen = None if ids is None else list(ids)
        found = self._send(calls.delete_items(self._bandit, chosen))
        return int(found.items)


class Jobs:
    """The jobs of a bandit: fits from logs, and evaluations on them."""

    def __init__(self, send: Send, bandit: str) -> None:
        self._send = send
        self._bandit = bandit

    def fit(self, request: FitRequest, log: str | Path | None = None) -> JobView:
        """Learn from files of the service's data folder, or from a log that is sent with it."""
        call = calls.start_fit(self._bandit, request, requests.log(log))
        found: JobView = self._send(call)
        return found

    def evaluate(self, request: EvaluateRequest, log: str | Path | None = None) -> JobView:
        """Estimate the mean reward on a log of decisions."""
        call = calls.start_evaluate(self._bandit, request, requests.log(log))
        found: JobView = self._send(call)
        return found

    def list(self, *, limit: int = 100) -> Sequence[JobView]:
        """The jobs of the bandit, the latest first."""
        found: Sequence[JobView] = self._send(calls.jobs(self._bandit, limit))
        return found

    def get(self, job: str) -> JobView:
        """A job as it stands."""
        found: JobView = self._send(calls.job(self._bandit, job))
        return found

    def cancel(self, job: str) -> JobView:
        """Cancel a job that has not ended."""
        found: JobView = self._send(calls.cancel(self._bandit, job))
        return found

    def wait(self, job: str, *, every: float = 1.0) -> JobView:
        """Wait until a job has ended; how it stands then."""
        while True:
            found = self.get(job)
            if found.ended is not None:
                return found
            time.sleep(every)


class Fits:
    """The logs that a bandit has learned; one counts while it is promoted."""

    def __init__(self, send: Send, bandit: str) -> None:
        self._send = send
        self._bandit = bandit

    def list(self) -> Sequence[FitView]:
        """All of them, the latest first."""
        found: Sequence[FitView] = self._send(calls.fits(self._bandit))
        return found

    def get(self, fit: int) -> FitView:
        """One of them, with its report."""
        found: FitView = self._send(calls.fit(self._bandit, fit))
        return found

    def promote(self, fit: int) -> FitChange:
        """Have a fit count for the prior."""
        found: FitChange = self._send(calls.promote(self._bandit, fit))
        return found

    def withdraw(self, fit: int) -> FitChange:
        """Have a fit count no longer."""
        found: FitChange = self._send(calls.withdraw(self._bandit, fit))
        return found

    def delete(self, fit: int) -> None:
        """Delete a fit that is not promoted."""
        self._send(calls.delete_fit(self._bandit, fit))
