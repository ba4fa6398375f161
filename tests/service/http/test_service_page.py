"""Every command of the pages on the service works, in their order, and so does their code."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.docs import blocks
from tests.needs import missing
from tests.service.http.test_serve import served

from headstart_client import Client
from headstart_client.messages import BanditConfiguration

pytestmark = pytest.mark.slow

PAGES = "\n".join(map(blocks.text_of, blocks.service_pages()))
# Set-up, and what needs Docker.
SKIPPED = ("pip install", "docker")
_SHOP = BanditConfiguration(feature_names=["price", "brand", "discount"])


@pytest.fixture(autouse=True)
def _tools() -> None:
    """What the pages ask for."""
    for name in ("curl", "jq"):
        if shutil.which(name) is None:
            missing("tools", f"no {name} here: install the package {name}")


def commands() -> str:
    """The commands of the pages, as one script that ends at the first that fails."""
    found = [each for each in blocks.fences(PAGES, "bash") if not any(w in each for w in SKIPPED)]
    strict = 'set -euo pipefail\ncurl() { command curl --fail-with-body -sS "$@"; echo; }\n'
    return strict + "".join(found)


def at(address: str, text: str) -> str:
    place = address.removeprefix("http://")
    return text.replace("localhost:8000", place).replace("127.0.0.1:8000", place)


def test_every_command_works_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with served("--data", "logs", cwd=tmp_path) as (_, address):
        with Client(address, timeout=120) as client:
            client.bandits()  # once it is ready
        folder = str(Path(sys.executable).parent)
        own = f'headstart() {{ {sys.executable} -m headstart "$@"; }}\n'
        ended = subprocess.run(
            ["bash", "-c", at(address, own + commands())],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    assert ended.returncode == 0, f"{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"
    assert '"outcome":"paid"' in ended.stdout
    assert '"status":"promoted"' in ended.stdout
    assert '"status":"cancelled"' in ended.stdout
    said = iter(re.findall(r"(?m)^reward .*# (\w+)$", "\n".join(blocks.fences(PAGES, "bash"))))
    outcomes = re.findall(r"(?m)^(?:paid|duplicate|conflict)$", ended.stdout)
    for expected in said:
        assert outcomes.pop(0) == expected
    assert (tmp_path / "copy.db").is_file()


def test_the_code_works_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    script = "".join(
        each for each in blocks.fences(PAGES, "bash") if "END" in each or "awk" in each
    )
    files = re.findall(r"^(?:mkdir|cat > .*?^END$|awk .*?shown\.csv$).*?$", script, re.M | re.S)
    subprocess.run(["bash", "-euc", "\n".join(files)], check=True)
    with served("--data", "logs", cwd=tmp_path) as (_, address):
        with Client(address, timeout=120) as client:
            client.bandit("shop").put(_SHOP)
            client.bandit("shop").items.put({"tea": [0.2, 1, 0], "mug": [0.7, 0, 1]})
        names: dict[str, Any] = {}
        printed = "".join(text for _, text in blocks.run(at(address, PAGES), names))
        names["client"].close()  # its sockets are garbage that a later test would be blamed for
    assert "Contribution(feature='sport'" in printed
    assert "done 6" in printed


def test_the_shop_of_the_tutorial_starts_warm_in_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = blocks.text_of("tutorials/shop.md")
    exec(blocks.fences(page, "python")[0], {})  # the log
    (code,) = blocks.fences(page, "py")
    with served(cwd=tmp_path) as (_, address):
        with Client(address, timeout=120) as client:
            client.bandits()  # once it is ready
        names: dict[str, Any] = {}
        exec(at(address, code), names)
        assert names["report"].log.tasks > 100
        assert names["answer"].prior_version > 0
        assert names["shop"].view().rewards == 1
        names["client"].close()
