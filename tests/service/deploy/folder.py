"""The files of deploy/, and the programs that read them."""

import shutil
from pathlib import Path

from tests.needs import missing

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"


def program(name: str, package: str) -> str:
    """Where a program is; a test without it is skipped, or fails where it is demanded."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    return found or missing("operations", f"no {name} here: install the package {package}")
