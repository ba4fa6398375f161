"""Steps: the progress of a job over several pieces of work, each with a share of the whole."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from headstart.logs.sources import is_text
from headstart.progress import Progress

# What a job's process tells: how far it is, from 0 to 1, and what it does.
Tell = Callable[[float, str], None]

_SECONDS_BETWEEN = 0.1
_BLOCK = 1 << 22


class Steps:
    """Tells how far a job is, not more often than ten times per second."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._last = tell, -1.0

    def begin(self, at: float, what: str) -> None:
        """Tell that a step begins."""
        self._last = time.monotonic()
        self._tell(at, what)

    def within(self, start: float, end: float, what: str, total: int = 0) -> Progress:
        """The progress of a step that takes the job from start to end.

        what: a format of the numbers `done` and `total`. total: where the work does not know it.
        """

        def progress(done: int, of: int) -> None:
            now = time.monotonic()
            if now - self._last < _SECONDS_BETWEEN:
                return
            self._last = now
            whole = of or total
            share = min(done / whole, 1.0) if whole else 0.0
            self._tell(start + share * (end - start), what.format(done=done, total=whole))

        return progress


def estimated_rows(folder: Path, files: Sequence[str]) -> int:
    """About how many rows text files have, by their lines; 0 where it cannot be known."""
    total = 0
    for name in files:
        if not is_text(name) or Path(name).suffix.lower() not in (".csv", ".tsv"):
            return 0
        with (folder / name).open("rb") as file:
            while block := file.read(_BLOCK):
                total += block.count(b"\n")
    return total
