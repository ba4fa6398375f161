"""`make client`: the client without asyncio, written from the source of the one with it."""

import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).parents[1] / "src" / "headstart" / "service" / "client"
SOURCE, GENERATED = CLIENT / "client.py", CLIENT / "_sync.py"
_HEAD = '"""The client without asyncio: written by `make client` from client.py, not by hand."""\n'
_REPLACEMENTS = (
    (r"\basync (?=def|for|with)|\bawait ", ""),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\b__a(?=(enter|exit|iter)__)", "__"),
    (r"\ba(?=(close|read|iter_bytes)\b)", ""),
    (r"\basyncio\b", "time"),
    (r"\A.*\n", _HEAD),
)


def generated() -> str:
    """The text of the client without asyncio."""
    text = SOURCE.read_text()
    for pattern, replacement in _REPLACEMENTS:
        text = re.sub(pattern, replacement, text)
    for command in (["check", "--fix-only", "--quiet", "--select=I"], ["format"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, f"--stdin-filename={GENERATED}", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        text = done.stdout
    return text


if __name__ == "__main__":
    GENERATED.write_text(generated())
