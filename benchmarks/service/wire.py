"""A small HTTP client over one connection, for load: no more work per request than is needed."""

import asyncio
import json
from typing import Any


class ConnectionEndedError(ConnectionError):
    """The connection ended before the answer did."""


class Wire:
    """One connection that is kept open, and opened again after an error."""

    def __init__(self, port: int, *, timeout: float = 60.0) -> None:
        self.port = port
        self._timeout = timeout
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, message: object) -> tuple[int, Any]:
        """The status and the decoded answer."""
        status, content = await self.send(request(path, json.dumps(message).encode()))
        return status, json.loads(content) if content else None

    async def send(self, content: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer to a request."""
        try:
            return await asyncio.wait_for(self._send(content), self._timeout)
        except BaseException:
            self.close()
            raise

    async def _send(self, content: bytes) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        writer.write(content)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.lower().split(b"\r\n")
            fields = dict(line.split(b": ", 1) for line in lines[1:-2])
            body = await reader.readexactly(int(fields.get(b"content-length", b"0")))
        except asyncio.IncompleteReadError as error:
            raise ConnectionEndedError("the connection ended") from error
        if fields.get(b"connection") == b"close":
            self.close()
        return int(head[9:12]), body

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


def request(path: str, body: bytes) -> bytes:
    """A POST request."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
