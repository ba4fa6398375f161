"""The Vowpal Wabbit daemon on the same decisions: one model, in memory, nothing durable.

The wheel of PyPI brings no command `vw`, and its library runs the same daemon.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

from benchmarks.service.process import free_port

_DAEMON = """
import sys, vowpalwabbit
options = ["--daemon", "--foreground", "--quiet", "--cb_explore_adf", "--squarecb"]
vowpalwabbit.Workspace(arg_list=[*options, "--port", sys.argv[1]]).run_parser()
"""
_END = b"\n\n"


def decisions_per_second(
    python: str, *, dimension: int, n_arms: int, seconds: float = 5.0
) -> tuple[float, float] | None:
    """Decisions per second: one after the other on each of 2 connections, and in one stream.

    None if the interpreter has no vowpalwabbit.
    """
    if subprocess.run([python, "-c", "import vowpalwabbit"], check=False).returncode:
        return None
    port = free_port()
    daemon = subprocess.Popen(
        [python, "-c", _DAEMON, str(port)], start_new_session=True, stderr=subprocess.DEVNULL
    )
    try:
        example = _example(dimension, n_arms)
        single = sum(_in_threads(2, port, example, 1, seconds))
        stream = sum(_in_threads(1, port, example, 200, seconds))
    finally:
        _end(daemon)
    return single, stream


def _example(dimension: int, n_arms: int) -> bytes:
    rng = random.Random(0)
    arms = [
        "|a " + " ".join(f"x{i}:{rng.gauss(0.0, 1.0):.6f}" for i in range(dimension))
        for _ in range(n_arms)
    ]
    return "\n".join(arms).encode() + _END


def _in_threads(n: int, port: int, example: bytes, depth: int, seconds: float) -> list[float]:
    found: list[float] = []
    threads = [
        threading.Thread(target=lambda: found.append(_rate(port, example, depth, seconds)))
        for _ in range(n)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found


def _rate(port: int, example: bytes, depth: int, seconds: float) -> float:
    """Send `depth` examples, read their answers, and so on: answers per second."""
    with _connected(port) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        content, n, begin = example * depth, 0, time.monotonic()
        while time.monotonic() - begin < seconds:
            sender = threading.Thread(target=connection.sendall, args=(content,))
            sender.start()
            answered, rest = 0, b""
            while answered < depth:
                received = connection.recv(1 << 16)
                if not received:
                    raise RuntimeError("the daemon closed the connection")
                rest += received
                answered += rest.count(_END)
                rest = rest[-1:] if not rest.endswith(_END) else b""
            sender.join()
            n += depth
        return n / (time.monotonic() - begin)


def _connected(port: int) -> socket.socket:
    end = time.monotonic() + 20.0
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=20.0)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def _end(daemon: "subprocess.Popen[bytes]") -> None:
    """The daemon and the children that it forked."""
    with suppress(ProcessLookupError):
        os.killpg(daemon.pid, signal.SIGKILL)
    daemon.wait()


if __name__ == "__main__":
    print(decisions_per_second(sys.argv[1], dimension=20, n_arms=20))
