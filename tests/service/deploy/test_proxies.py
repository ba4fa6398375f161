"""The files of deploy/ for nginx, Caddy and systemd, run as they are but for addresses."""

import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.service.deploy.folder import DEPLOY, program
from tests.service.http.test_serve import served

from headstart.service.store.database import Database
from headstart.service.store.keys import create_key
from headstart_client import Client
from headstart_client.messages import BanditConfiguration

pytestmark = pytest.mark.slow

PREFIX = "/bandits"


def changed(name: str, replacements: Mapping[str, str]) -> str:
    """A file of deploy/ in which each text is replaced; all of them must be there."""
    text = (DEPLOY / name).read_text("utf-8")
    for old, new in replacements.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
    return port


@contextmanager
def running(command: list[str], port: int, folder: Path) -> Iterator[str]:
    """A proxy until the end of the block; its address."""
    with (folder / "proxy.log").open("wb") as log:
        environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        end = time.monotonic() + 60
        while True:
            assert process.poll() is None, (folder / "proxy.log").read_text()
            assert time.monotonic() < end
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"https://localhost:{port}{PREFIX}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def nginx(folder: Path, service: str, port: int) -> list[str]:
    """The command of nginx with the file, whose processes are this user's."""
    path = program("nginx", "nginx")
    site = changed(
        "nginx.conf",
        {
            "127.0.0.1:8000": service,
            "443 ssl": f"{port} ssl",
            "shop.example;": "localhost;",
            "/etc/ssl/shop.example": str(folder / "cert"),
        },
    )
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder / kind}; " for kind in kinds)
    main = f"daemon off; pid {folder / 'pid'}; error_log stderr; events {{}}\n"
    (folder / "nginx.conf").write_text(f"{main}http {{ {paths} access_log off;\n{site}\n}}\n")
    return [path, "-p", str(folder), "-c", str(folder / "nginx.conf")]


def caddy(folder: Path, service: str, port: int) -> list[str]:
    """The command of Caddy with the file, but for its own certificates."""
    path = program("caddy", "caddy")
    own = f"https://localhost:{port} {{\n\ttls {folder}/cert.pem {folder}/cert.key"
    site = changed("Caddyfile", {"127.0.0.1:8000": service, "shop.example {": own})
    options = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n"
    (folder / "Caddyfile").write_text(options + site)
    return [path, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def certified(folder: Path) -> ssl.SSLContext:
    """A certificate of localhost, and a client's context that takes it."""
    command = [
        *(program("openssl", "openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes"),
        *("-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
        *("-keyout", str(folder / "cert.key"), "-out", str(folder / "cert.pem")),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return ssl.create_default_context(cafile=str(folder / "cert.pem"))


@pytest.mark.nightly
@pytest.mark.parametrize("command", [nginx, caddy])
def test_behind_a_proxy_decisions_are_made_and_links_lead_on(
    command: Callable[[Path, str, int], list[str]], tmp_path: Path
) -> None:
    context, port = certified(tmp_path), free_port()
    database = Database.open(tmp_path / "store.db")
    key = create_key(database, name="ops", role="admin", now=time.time())
    database.close()
    options = ("--store", "store.db", "--proxy", "127.0.0.1", "--root-path", PREFIX)
    with (
        served(*options, cwd=tmp_path) as (_, address),
        running(command(tmp_path, address.removeprefix("http://"), port), port, tmp_path) as site,
    ):
        with Client(address, key=key, timeout=120) as client:
            client.bandit("news").put(BanditConfiguration(dimension=1))
        with httpx.Client(verify=context, timeout=60) as http:
            bearer = {"authorization": f"Bearer {key}"}
            decisions = f"{site}/v1/bandits/news/decisions"
            body = {"task": "a/b", "arms": {"x": [1.0]}}
            answer = http.post(decisions, json=body, headers=bearer)
            assert answer.json()["arms"][0]["arm"] == "x"
            task = http.get(f"{site}/v1/bandits/news/tasks/a%2Fb", headers=bearer)
            assert task.json()["task"] == "a/b"
            described = http.get(f"{site}/openapi.json").json()
            assert described["servers"] == [{"url": PREFIX}]
            # The dashboard: a wrong key, the key, then every link of the menu.
            origin = {"origin": f"https://localhost:{port}"}
            wrong = http.post(f"{site}/login", data={"key": "hs_no_no"}, headers=origin)
            assert wrong.status_code == 401
            entered = http.post(f"{site}/login", data={"key": key, "next": "/"}, headers=origin)
            assert (entered.status_code, entered.headers["location"]) == (303, f"{PREFIX}/")
            assert "Secure" in entered.headers["set-cookie"]
            text = http.get(f"{site}/").text
            links = set(re.findall(rf'href="({PREFIX}/[a-z]+)(?:\?[^"]*)?"', text))
            assert {f"{PREFIX}/tasks", f"{PREFIX}/items"} <= links
            for link in links:
                assert http.get(f"https://localhost:{port}{link}").status_code == 200, link


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    analyze = program("systemd-analyze", "systemd")
    command = str(Path(sys.executable).with_name("headstart"))
    unit = tmp_path / "headstart.service"
    unit.write_text(changed("headstart.service", {"/opt/headstart/bin/headstart": command}))
    done = subprocess.run(
        [analyze, "verify", str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    said = [line for line in done.stderr.splitlines() if "headstart.service" in line]
    assert (done.returncode, said) == (0, []), done.stderr
