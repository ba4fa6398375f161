"""The HTTP protocol of uvicorn, with one write per answer instead of two."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class JoinedProtocol(HttpToolsProtocol):
    """Headers and body of an answer leave in one packet: a write costs more than the rest."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection."""
        super().connection_made(JoiningTransport(transport, self.loop))  # type: ignore[arg-type]


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
