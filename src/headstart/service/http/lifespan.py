"""Lifespan: how the parts of a process start and end with its server."""

import asyncio
import traceback
from collections.abc import Callable, Sequence
from typing import Protocol

from starlette.types import Receive, Send

from headstart.service.http.keys import REFRESH_SECONDS, Keys
from headstart.service.http.logs import Log


class Part(Protocol):
    """Something that runs in the background."""

    def start(self) -> None:
        """Begin."""
        ...

    def stop(self) -> None:
        """End what is under way."""
        ...


class Lifespan:
    """Starts parts in their order, while probes are answered; ends them in the opposite order."""

    def __init__(self, parts: Sequence[Part], keys: Keys, log: Log) -> None:
        self._parts = tuple(parts)
        self._keys = keys
        self._log = log
        # Called when all have started, or one could not.
        self.on_start: Callable[[], None] = lambda: None
        self.on_failure: Callable[[], None] = lambda: None

    async def run(self, receive: Receive, send: Send) -> None:
        """From the start of the server to its end."""
        await receive()
        tasks = [asyncio.create_task(self._start()), asyncio.create_task(self._refresh_keys())]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        tasks[1].cancel()
        await tasks[0]  # a part that is starting cannot be ended
        for part in reversed(self._parts):
            await asyncio.to_thread(part.stop)
        self._log.flush()
        await send({"type": "lifespan.shutdown.complete"})

    async def _start(self) -> None:
        try:
            for part in self._parts:
                await asyncio.to_thread(part.start)
            await asyncio.to_thread(self.on_start)
            self._log.event("ready")
        except Exception:  # whatever it was, the process cannot serve
            self._log.event("failed to start", level="error", traceback=traceback.format_exc())
            self.on_failure()

    async def _refresh_keys(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                await asyncio.to_thread(self._keys.refresh)
            except Exception as error:  # the keys known so far stay
                self._log.event("keys not read", level="warning", detail=type(error).__name__)
