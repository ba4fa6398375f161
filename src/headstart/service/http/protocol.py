"""The HTTP protocol of uvicorn, with one write per answer instead of two."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headstart.service.http.problems import CONTENT_TYPE, content_of
from headstart.service.messages import ServiceError

# What comes before a body: bytes, and seconds until it is complete.
MOST_HEAD_BYTES = 64 * 1024
HEAD_SECONDS = 30.0


class JoinedProtocol(HttpToolsProtocol):
    """Headers and body of an answer leave in one packet: a write costs more than the rest.

    The first line and the headers of a request are limited, in bytes and in time.
    """

    _head_bytes = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection."""
        super().connection_made(JoiningTransport(transport, self.loop))  # type: ignore[arg-type]
        self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self._end_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; too many before the headers are complete end the connection."""
        if self._timer is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._timer is not None and self._head_bytes > MOST_HEAD_BYTES:
            self._refuse_head()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        if self._timer is None:
            self._begin_head()

    def on_headers_complete(self) -> None:
        """Have a request answered."""
        self._end_head()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are no request, and end the connection."""
        problem = ServiceError(
            400, "Bad request", f"{msg[:1].lower()}{msg[1:]}".rstrip(".")
        ).problem
        content = content_of(problem)
        head = b"HTTP/1.1 400 Bad Request\r\ncontent-type: %b\r\ncontent-length: %d\r\n" % (
            CONTENT_TYPE,
            len(content),
        )
        for name, value in self.server_state.default_headers:
            head += name + b": " + value + b"\r\n"
        self.transport.write(head + b"connection: close\r\n\r\n" + content)
        self.transport.close()

    def _begin_head(self) -> None:
        self._head_bytes = 0
        self._timer = self.loop.call_later(HEAD_SECONDS, self._refuse_head)

    def _end_head(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse_head(self) -> None:
        self._end_head()
        if not self.transport.is_closing():
            self.send_400_response("The headers are too long, or came too late.")


class JoiningTransport:
    """A transport that holds the headers of an answer until its body, or the loop's next step."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write, or hold what begins an answer."""
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held + data)
        elif data[:7] == b"HTTP/1." and data[9:10] != b"1":
            self._held = data
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Close after what is held."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)
