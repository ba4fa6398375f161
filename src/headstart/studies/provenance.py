"""Provenance: the versions, the code and the commit that made results."""

import hashlib
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

# The package's folder. `headstart` itself imports packages that numbers do not go through.
ROOT = Path(__file__).parents[1]

_LIBRARIES = ("headstart", "numpy", "scipy", "numba", "xarray")

# The files and packages that a study's numbers go through. A test compares the list with what
# playing a shard imports, in both directions.
NUMBERS = (
    "arrays.py",
    "checks.py",
    "core",
    "datasets",
    "environments",
    "interfaces.py",
    "kernels",
    "learners",
    "own_code.py",
    "policies",
    "priors",
    "progress.py",
    "simulation",
    "specs.py",
    "studies/provenance.py",
    "studies/results.py",
    "studies/shards.py",
    "studies/sources.py",
    "studies/study.py",
)


def versions() -> dict[str, str]:
    """Of Python, headstart and the libraries that numbers go through."""
    return {"python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}


def code_digest() -> str:
    """A digest of the source files that a study's numbers go through."""
    digest = hashlib.sha256()
    for path in sorted(path for name in NUMBERS for path in _sources(ROOT / name)):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _sources(place: Path) -> Iterable[Path]:
    return place.rglob("*.py") if place.is_dir() else [place]


def commit() -> str | None:
    """The commit of a checkout, marked if files were changed since; None outside of one."""
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
