"""Provenance: the versions, the code and the commit that made results."""

import hashlib
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

# The package's folder. `headstart` itself imports packages that numbers do not go through.
ROOT = Path(__file__).parents[1]

_LIBRARIES = ("headstart", "numpy", "scipy", "numba", "xarray")

# Packages that a study's numbers do not go through; all others count.
NO_NUMBERS = frozenset(
    {"cli", "diagnosis", "live", "logs", "non_stochastic", "paper", "plotting", "theory"}
)


def versions() -> dict[str, str]:
    """Of Python, headstart and the libraries that numbers go through."""
    return {"python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}


def code_digest() -> str:
    """A digest of the source files that a study's numbers go through."""
    digest = hashlib.sha256()
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.split("/")[0] not in NO_NUMBERS:
            digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def commit() -> str | None:
    """The commit of a checkout, marked if files were changed since; None outside of one."""
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
