"""`headstart serve` as a process of its own, which can be killed."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import headstart

_SOURCE = Path(headstart.__file__).parents[1]
# Where nothing is compiled yet, the first start takes a minute or two.
_SECONDS = 180.0


class Process:
    """One process of the service on a store; the port stays the same when it starts again."""

    def __init__(self, store: str | Path, folder: Path, *options: str) -> None:
        self.port = free_port()
        self.seconds_to_ready = 0.0
        self.log = folder / f"serve-{self.port}.log"
        self._command = [sys.executable, "-m", "headstart", "serve", "--port", str(self.port)]
        self._command += ["--store", str(store), *options]
        self._running: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Process":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The number of the process that runs."""
        assert self._running is not None
        return self._running.pid

    def spawn(self, **given: Any) -> None:
        """Start, and do not wait."""
        environment = os.environ | {"PYTHONPATH": str(_SOURCE)}
        with self.log.open("ab") as log:
            self._running = subprocess.Popen(
                self._command, stdout=log, stderr=log, env=environment, **given
            )

    def start(self, **given: Any) -> None:
        """Start, and wait until it is ready."""
        begin = time.monotonic()
        self.spawn(**given)
        while not self.is_ready():
            assert self._running is not None
            if self._running.poll() is not None or time.monotonic() - begin > _SECONDS:
                self.kill()
                end = self.log.read_text(errors="replace")[-3000:]
                raise RuntimeError(f"the service did not become ready: {end}")
            time.sleep(0.02)
        self.seconds_to_ready = time.monotonic() - begin

    def is_ready(self) -> bool:
        """Whether /readyz says so."""
        try:
            return self.call("GET", "/readyz", timeout=5.0)[0] == 200
        except OSError:
            return False

    def kill(self) -> None:
        """End the process at once, as a loss of power would."""
        if self._running is not None:
            self._running.kill()
            self._running.wait()
            self._running = None

    def stop(self) -> int:
        """Ask the process to end, and its status."""
        if self._running is None:
            return 0
        self._running.send_signal(signal.SIGTERM)
        try:
            return self._running.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        finally:
            self._running = None

    def call(
        self, method: str, path: str, message: object = None, timeout: float = _SECONDS
    ) -> tuple[int, Any]:
        """The status and the decoded answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            body = None if message is None else json.dumps(message)
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        finally:
            connection.close()
        kind = answer.headers.get_content_type()
        return answer.status, json.loads(content) if content and kind.endswith("json") else content

    def resident_bytes(self, *, children: bool = False) -> int:
        """The memory of the process, or that of its children too."""
        own = [str(self.pid)]
        if children:
            own += Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        pages = sum(int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in own)
        return pages * os.sysconf("SC_PAGE_SIZE")


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port: int = server.getsockname()[1]
        return port
