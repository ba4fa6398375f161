"""The part of the client that its build writes: the half without asyncio, and the messages."""

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
PACKAGE = ROOT / "src" / "headstart_client"
# The service's own messages, which import nothing else of it; absent in an sdist, which has a copy.
MESSAGES = ROOT.parents[1] / "src" / "headstart" / "service" / "messages.py"
_WITHOUT_ASYNCIO = (
    (r"\basync (?=def|for|with)|\bawait ", ""),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\b__a(?=(enter|exit|iter)__)", "__"),
    (r"\ba(?=(close|read|iter_bytes)\b)", ""),
    (r"\basyncio\b", "time"),
)


def without_asyncio(text: str) -> str:
    """The source of the client without asyncio, from that of the other."""
    for pattern, replacement in _WITHOUT_ASYNCIO:
        text = re.sub(pattern, replacement, text)
    return text


def generate() -> None:
    """Write both files next to the others."""
    text = (PACKAGE / "client.py").read_text(encoding="utf-8")
    (PACKAGE / "_sync.py").write_text(without_asyncio(text), encoding="utf-8")
    if MESSAGES.exists():
        (PACKAGE / "messages.py").write_bytes(MESSAGES.read_bytes())


class GeneratedFiles(BuildHookInterface[Any]):
    """What hatchling calls before it builds a wheel, an sdist or an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files."""
        generate()


if __name__ == "__main__":
    generate()
