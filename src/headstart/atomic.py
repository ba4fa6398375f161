"""Atomic writes: a file is complete or absent."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary file beside the path, renamed to it at the end; removed after an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        # Without this the name may refer to an empty file after a loss of power.
        _sync(temporary)
        temporary.replace(path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # some systems do not open folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
