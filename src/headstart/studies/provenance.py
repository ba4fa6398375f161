"""Provenance: the versions, the code and the commit that made results."""

import hashlib
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import headstart

_LIBRARIES = ("numpy", "scipy", "numba", "xarray")

# Packages that a study's numbers do not go through; all others count.
NO_NUMBERS = frozenset(
    {"cli", "diagnosis", "live", "logs", "non_stochastic", "paper", "plotting", "theory"}
)


def versions() -> dict[str, str]:
    """Of Python, headstart and the libraries that numbers go through."""
    found = {"python": platform.python_version(), "headstart": headstart.__version__}
    return found | {name: version(name) for name in _LIBRARIES}


def code_digest() -> str:
    """A digest of the source files that a study's numbers go through."""
    root = Path(headstart.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name.split("/")[0] not in NO_NUMBERS:
            digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def commit() -> str | None:
    """The commit of a checkout, marked if files were changed since; None outside of one."""
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    root = Path(headstart.__file__).parent
    try:
        done = subprocess.run(asked, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
