"""Waiting for futures of another thread without waking the event loop for each of them."""

import asyncio
from collections import deque
from concurrent.futures import Future
from typing import Any


class Completions:
    """Futures that end in other threads, awaited in an event loop.

    A group commit ends hundreds of futures at once. `asyncio.wrap_future` would wake the loop for
    each; here those that ended are collected, and the loop is woken once for all of them.
    """

    def __init__(self) -> None:
        self._ended: _Ended | None = None

    async def wait(self, future: Future[Any]) -> Any:
        """The result of a future, or its exception."""
        loop = asyncio.get_running_loop()
        ended = self._ended
        if ended is None or ended.loop is not loop:
            ended = self._ended = _Ended(loop)
        waiter: asyncio.Future[Any] = loop.create_future()
        future.add_done_callback(lambda done: ended.add(waiter, done))
        return await waiter


class _Ended:
    """Futures that ended and whose waiters in a loop do not know yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._pairs: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._called = False

    def add(self, waiter: asyncio.Future[Any], done: Future[Any]) -> None:
        # In any thread. The pair is added before the flag is read, and `_tell` lowers the flag
        # before it looks for pairs: so none is left over. A call too many finds nothing to do.
        self._pairs.append((waiter, done))
        if not self._called:
            self._called = True
            try:
                self.loop.call_soon_threadsafe(self._tell)
            except RuntimeError:
                self._pairs.clear()  # the loop is closed: no call waits any more

    def _tell(self) -> None:
        self._called = False
        while self._pairs:
            waiter, done = self._pairs.popleft()
            if waiter.done():
                continue  # the call was cancelled
            if done.cancelled():
                waiter.cancel()
            elif (error := done.exception()) is not None:
                waiter.set_exception(error)
            else:
                waiter.set_result(done.result())
