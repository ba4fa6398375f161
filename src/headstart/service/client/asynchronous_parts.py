"""Parts of a bandit in the client with asyncio: catalogue, jobs and fits."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
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

Send = Callable[[HttpCall[Any]], Awaitable[Any]]


class AsyncItems:
    """The catalogue of a bandit. Iterate over it to read it, page by page."""

    def __init__(self, send: Send, bandit: str) -> None:
        self._send = send
        self._bandit = bandit

    async def __aiter__(self) -> AsyncIterator[Item]:
        after: str | None = None
        while True:
            page = await self._send(calls.items(self._bandit, after, 1_000))
            for item in page.items:
                yield item
            after = page.next
            if after is None:
                return

    async def put(self, given: Mapping[str, Vector] | Iterable[Item]) -> int:
        """Replace the whole catalogue, by items or features by id; how many there are now."""
        found = await self._send(calls.put_items(self._bandit, requests.items(given)))
        return int(found.items)

    async def patch(self, given: Mapping[str, Vector] | Iterable[Item | ItemChange]) -> int:
        """Add items, or change some; how many there are now."""
        found = await self._send(calls.patch_items(self._bandit, requests.changes(given)))
        return int(found.items)

    async def delete(self, ids: Iterable[str] | None = None) -> int:
        """Remove items by id, or all; how many are left."""
        chosen = None if ids is None else list(ids)
        found = await self._send(calls.delete_items(self._bandit, chosen))
        return int(found.items)


class AsyncJobs:
    """The jobs of a bandit: fits from logs, and evaluations on them."""

    def __init__(self, send: Send, bandit: str) -> None:
        self._send = send
        self._bandit = bandit

    async def fit(self, request: FitRequest, log: str | Path | None = None) -> JobView:
        """Learn from files of the service's data folder, or from a log that is sent with it."""
        call = calls.start_fit(self._bandit, request, requests.log(log))
        found: JobView = await self._send(call)
        return found

    async def evaluate(self, request: EvaluateRequest, log: str | Path | None = None) -> JobView:
        """Estimate the mean reward on a log of decisions."""
        call = calls.start_evaluate(self._bandit, request, requests.log(log))
        found: JobView = await self._send(call)
        return found

    async def list(self, *, limit: int = 100) -> Sequence[JobView]:
        """The jobs of the bandit, the latest first."""
        found: Sequence[JobView] = await self._send(calls.jobs(self._bandit, limit))
        return found

    async def get(self, job: str) -> JobView:
        """A job as it stands."""
        found: JobView = await self._send(calls.job(self._bandit, job))
        return found

    async def cancel(self, job: str) -> JobView:
        """Cancel a job that has not ended."""
        found: JobView = await self._send(calls.cancel(self._bandit, job))
        return found

    async def wait(self, job: str, *, every: float = 1.0) -> JobView:
        """Wait until a job has ended; how it stands then."""
        while True:
            found = await self.get(job)
            if found.ended is not None:
                return found
            await asyncio.sleep(every)


class AsyncFits:
    """The logs that a bandit has learned; one counts while it is promoted."""

    def __init__(self, send: Send, bandit: str) -> None:
        self._send = send
        self._bandit = bandit

    async def list(self) -> Sequence[FitView]:
        """All of them, the latest first."""
        found: Sequence[FitView] = await self._send(calls.fits(self._bandit))
        return found

    async def get(self, fit: int) -> FitView:
        """One of them, with its report."""
        found: FitView = await self._send(calls.fit(self._bandit, fit))
        return found

    async def promote(self, fit: int) -> FitChange:
        """Have a fit count for the prior."""
        found: FitChange = await self._send(calls.promote(self._bandit, fit))
        return found

    async def withdraw(self, fit: int) -> FitChange:
        """Have a fit count no longer."""
        found: FitChange = await self._send(calls.withdraw(self._bandit, fit))
        return found

    async def delete(self, fit: int) -> None:
        """Delete a fit that is not promoted."""
        await self._send(calls.delete_fit(self._bandit, fit))
