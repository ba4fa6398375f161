"""The few parts of Jupytext that are used here; it ships no types."""

from pathlib import Path
from typing import Any

def reads(text: str, fmt: str) -> Any: ...
def write(nb: Any, fp: Path) -> None: ...
