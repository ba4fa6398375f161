"""`headstart serve` and `headstart keys`, as processes."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from headstart.cli import app
from headstart.service.store.keys import REFRESH_SECONDS
from headstart_client import Client, Retries, ServiceError
from headstart_client.messages import BanditConfiguration

pytestmark = pytest.mark.slow

COMMAND = (sys.executable, "-c", "from headstart.cli import app; app()")


@contextmanager
def served(*given: str, cwd: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A process that serves, and its address."""
    command = [*COMMAND, "serve", "--port", "0", *given]
    with (cwd / "log").open("a") as log:
        process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    try:
        found = re.search("Dashboard: (http://[^ ]*)/ ", process.stdout.readline())
        assert found is not None
        yield process, found[1]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_serve_with_nothing_else_decides_and_ends_in_order(tmp_path: Path) -> None:
    with served("--log-format", "json", cwd=tmp_path) as (process, address):
        with Client(address, timeout=60) as client:
            news = client.bandit("news")
            news.put(BanditConfiguration(dimension=2))
            answer = news.decide("u", {"a": [1.0, 0.0], "b": [0.0, 1.0]})
            assert news.reward(answer.id, 1.0).outcome == "paid"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert (tmp_path / "headstart.db").stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert {line["event"] for line in lines} == {"ready", "request"}
    with served(cwd=tmp_path) as (process, address):
        with Client(address, timeout=60) as client:
            record = client.bandit("news").decision(answer.id)
            assert (record.status, record.value) == ("paid", 1.0)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(30) == 0


def test_what_is_under_way_is_finished_and_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    with served(cwd=tmp_path) as (process, address):
        host, port = address.removeprefix("http://").split(":")
        with Client(address, timeout=60) as client:
            client.bandit("news").put(BanditConfiguration(dimension=2))
        body = b'{"task":"u","arms":{"a":[1,0]}}'
        head = (
            "POST /v1/bandits/news/decisions HTTP/1.1\r\nhost: localhost\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
            "expect: 100-continue\r\n\r\n"  # so that the service says when it waits for the body
        )
        with socket.create_connection((host, int(port))) as half:
            half.sendall(head.encode())
            assert half.recv(4096).startswith(b"HTTP/1.1 100")
            half.sendall(body[:5])
            process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            assert process.poll() is None
            half.sendall(body[5:])
            assert half.recv(4096).startswith(b"HTTP/1.1 200")
        assert process.wait(30) == 0
    with served(cwd=tmp_path) as (process, address):
        host, port = address.removeprefix("http://").split(":")
        assert httpx.get(f"{address}/healthz", timeout=60).status_code == 200
        with socket.create_connection((host, int(port))) as half:
            half.sendall(head.encode())
            assert half.recv(4096).startswith(b"HTTP/1.1 100")
            process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 128 + signal.SIGTERM


def refused(*given: str) -> str:
    found = CliRunner().invoke(app, ["serve", *given])
    assert found.exit_code == 2
    assert len(found.stderr.splitlines()) == 1
    return found.stderr


def test_what_cannot_be_served_is_one_sentence(tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refused("--store", store, "--port", port)
    assert port in said
    said = refused("--store", store, "--host", "0.0.0.0", "--port", "0")
    assert "got '0.0.0.0'" in said
    assert "got 'no.such.host.invalid'" in refused(
        "--store", store, "--host", "no.such.host.invalid"
    )
    assert "mysql" in refused("--store", "mysql://x/y", "--port", "0")
    assert "refused" in refused("--store", "postgresql://x:y@127.0.0.1:1/z", "--port", "0")
    assert str(tmp_path) in refused("--store", str(tmp_path), "--port", "0")


def test_a_key_opens_the_service_to_other_machines(tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    runner = CliRunner()

    def keys(*given: str) -> str:
        found = runner.invoke(app, ["keys", *given, "--store", store])
        assert found.exit_code == 0, found.output
        return found.stdout.strip()

    admin = keys("create", "--role", "admin", "--name", "ops")
    with served("--store", store, "--host", "0.0.0.0", cwd=tmp_path) as (_, address):
        with Client(address, timeout=60) as client, pytest.raises(ServiceError, match="got none"):
            client.bandits()
        with Client(address, key=admin, timeout=60) as client:
            client.bandit("news").put(BanditConfiguration(dimension=2))
        decide = keys("create", "--role", "decide")  # while the service has the file open
        with Client(address, key=decide, retries=Retries(number=0), timeout=60) as client:
            time.sleep(REFRESH_SECONDS + 1.0)
            client.bandit("news").decide("u", {"a": [1.0, 0.0]})
    listed = keys("list")
    assert "admin" in listed
    assert "active  ops" in listed
    assert admin.split("_")[2] not in listed
    whole = runner.invoke(app, ["keys", "revoke", decide, "--store", store])
    assert whole.exit_code == 2
    assert decide not in whole.output
    keys("revoke", decide.split("_")[1])
    assert "revoked" in keys("list")
    found = runner.invoke(app, ["keys", "revoke", "nothing", "--store", store])
    assert (found.exit_code, "got 'nothing'" in found.stderr) == (2, True)
    log = (tmp_path / "log").read_text()
    assert admin.split("_")[2] not in log
