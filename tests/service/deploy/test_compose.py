"""compose.yaml: limits for every container, and passwords in files alone."""

import shutil
import subprocess
from typing import Any

import msgspec
import pytest
from tests.service.deploy.folder import ROOT
from typer.testing import CliRunner

from headstart.cli import app

FILE = ROOT / "compose.yaml"


def _services() -> dict[str, Any]:
    services: dict[str, Any] = msgspec.yaml.decode(FILE.read_bytes())["services"]
    return services


def test_every_container_has_limits_and_no_password() -> None:
    services = _services()
    assert set(services) == {"database", "service-1", "service-2"}
    for name, service in services.items():
        limits = service["deploy"]["resources"]["limits"]
        assert {"cpus", "memory"} <= set(limits), name
        assert service["secrets"] == ["password"]
        assert "/run/secrets/password" in " ".join(service["environment"].values())
    address = services["service-1"]["environment"]["HEADSTART_STORE"]
    assert ":" not in address.removeprefix("postgresql://").partition("@")[0]


def test_the_command_has_options_that_there_are() -> None:
    _, command, *options = _services()["service-1"]["command"]
    # Everything is parsed before an unknown option is refused.
    done = CliRunner().invoke(app, [command, *options, "--no-such-option"])
    assert done.exit_code == 2
    assert "No such option: --no-such-option" in done.stderr


def test_docker_takes_the_file() -> None:
    docker = shutil.which("docker")
    probe = [docker or "", "compose", "version"]
    if docker is None or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("no docker compose here")
    command = [docker, "compose", "--file", str(FILE), "config", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
