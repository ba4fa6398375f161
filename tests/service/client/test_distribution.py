"""The client is a distribution of its own: it is built, and works, without headstart."""

import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec

import headstart_client
from headstart.live import Outcome
from headstart_client import messages

FOLDER = Path(__file__).parents[3] / "clients" / "python"
# Imports the wheel alone, with the libraries of this environment, and says what it brought along.
ALONE = """
import sys
sys.path[:] = [p for p in sys.path if "/src" not in p and not p.endswith("headstart")]
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in repr(f).lower()]
sys.path.insert(0, sys.argv[1])
from headstart_client import AsyncClient, Client
assert sys.modules["headstart_client"].__file__.startswith(sys.argv[1])
with Client("http://localhost:1") as client:
    assert type(client.bandit("shop")).__name__ == "Bandit"
print(sorted({m.split(".")[0] for m in sys.modules} & {"headstart", "numba", "numpy", "scipy"}))
"""


def test_the_wheel_needs_nothing_of_headstart(tmp_path: Path) -> None:
    build = "from hatchling.build import build_wheel; import sys; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, tmp_path], cwd=FOLDER, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(tmp_path / "alone")
    alone = [sys.executable, "-W", "error", "-c", ALONE, str(tmp_path / "alone")]
    said = subprocess.run(alone, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert said.stdout.strip() == "[]"


def test_the_sdist_builds_where_the_repository_is_not(tmp_path: Path) -> None:
    build = "from hatchling.build import build_sdist; import sys; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, tmp_path], cwd=FOLDER, check=True)
    (sdist,) = tmp_path.glob("*.tar.gz")
    subprocess.run(["tar", "xf", sdist.name], cwd=tmp_path, check=True)
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    build = "from hatchling.build import build_wheel; import sys; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, tmp_path], cwd=folder, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in ("_sync", "client", "messages", "transport"):
        assert f"headstart_client/{name}.py" in names


def test_the_outcomes_are_those_of_the_library() -> None:
    (schema,) = msgspec.json.schema_components([messages.RewardAnswer])[1].values()
    assert schema["properties"]["outcome"]["enum"] == [*Outcome]


def test_both_halves_offer_the_same() -> None:
    pairs = (("Client", "AsyncClient"), ("Bandit", "AsyncBandit"))
    for one, other in pairs:
        names = [
            {n.replace("aclose", "close") for n in dir(getattr(headstart_client, which))}
            for which in (one, other)
        ]
        public = [{name for name in found if not name.startswith("_")} for found in names]
        assert public[0] == public[1]
