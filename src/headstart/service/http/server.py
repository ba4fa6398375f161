"""The server: a socket, the application on it, and an orderly end."""

import asyncio
import contextlib
import errno
import gc
import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headstart.service.http.logs import Handler, Log
from headstart.service.http.problems import CONTENT_TYPE, content_of
from headstart.service.messages import ServiceError

# How long current requests may take after the first signal.
_END_SECONDS = 30
_KEEP_ALIVE_SECONDS = 75
_BACKLOG = 2_048
# Limits of what comes before a body: bytes, and seconds until it is complete.
MOST_HEAD_BYTES = 64 * 1024
HEAD_SECONDS = 30.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class AddressError(ValueError):
    """The service cannot listen there."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError:
        raise AddressError(f"host must be an address of this machine, got {host!r}") from None
    try:
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason = f"port {port} of {host} must be free, and another program uses it"
        elif error.errno == errno.EACCES:
            reason = f"port {port} must be one that this user may use, such as 8000"
        else:
            reason = f"host must be an address of this machine, got {host!r}"
        raise AddressError(f"{reason}: choose one with --host and --port") from None


def is_loopback(listener: socket.socket) -> bool:
    """Whether only this machine can reach a socket."""
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def address_of(listener: socket.socket) -> str:
    """The address of a socket for a browser on this machine: http://127.0.0.1:8000."""
    host, port = listener.getsockname()[:2]
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        address = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
    return f"http://[{address}]:{port}" if address.version == 6 else f"http://{address}:{port}"


def keep_out_of_collection() -> None:
    """Make the garbage collector ignore everything that exists now, and run less often.

    Compiled functions and modules are a million objects that never become garbage; checking them
    again and again took half of the time of a request.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 50)
    sys.setswitchinterval(5e-4)


class LimitedProtocol(HttpToolsProtocol):
    """Uvicorn's HTTP, with limits for the first line and the headers of a request.

    uvicorn has no setting for their size and time. Bytes that are not a request are answered with a
    problem.
    """

    _head_bytes = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection."""
        super().connection_made(transport)
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

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; what follows a body is none."""
        if self._timer is not None:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Answer a request, unless its headers came in one piece and are too long."""
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        hosts = sum(name == b"host" for name, _ in self.headers)
        if size > MOST_HEAD_BYTES:
            self._refuse_head()
        elif hosts > 1 or (not hosts and self.parser.get_http_version() == "1.1"):
            self._end_head()
            self.send_400_response(f"A request must name one host, got {hosts or 'none'}.")
        else:
            self._end_head()
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body, unless the request was refused."""
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End a body, unless the request was refused."""
        if not self.transport.is_closing():
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not a request, and end the connection."""
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


class Server(uvicorn.Server):
    """Ends in order after the first signal, and at once after the second."""

    failed = False

    def fail(self) -> None:
        """End because the service could not start."""
        self.failed = True
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take one signal."""
        if self.should_exit:
            # Everything that was acknowledged is in the store.
            os._exit(128 + sig)
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals while the server runs, and do not raise them again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread gets signals
            return
        previous = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)


def server_of(app: ASGIApp, *, proxies: Sequence[str] = ()) -> Server:
    """A server for an application. proxies: whose X-Forwarded-For and -Proto are believed."""
    return Server(
        uvicorn.Config(
            app,
            loop="uvloop",
            http=LimitedProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=list(proxies),
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_END_SECONDS,
            backlog=_BACKLOG,
        )
    )


def log_libraries(log: Log) -> None:
    """Turn warnings of libraries into lines of the log."""
    handler = Handler(log)
    handler.setFormatter(logging.Formatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
