"""Atomic writes: a file is complete or absent."""

import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX, _SUFFIX = ".headstart-", ".part"
# A part this old was left by a process that was killed: no write takes a day.
_LEFT_BEHIND = 24 * 3600.0


@contextmanager
def atomic_write(path: Path, *, mode: int = 0o644) -> Iterator[Path]:
    """A temporary file next to the path, renamed to it at the end; removed after an error.

    A new file has the mode, without the umask, from its first byte on; a replaced file keeps its
    mode. If the path is a symbolic link, its target is replaced. A killed process leaves its part
    behind, which a write into this folder removes a day later.
    """
    target = Path(os.path.realpath(path))
    kept = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    if kept is not None and not target.is_file():
        raise FileExistsError(f"{target} exists and is not a file")
    target.parent.mkdir(parents=True, exist_ok=True)
    for part in target.parent.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError):  # another process may be removing it
            if time.time() - part.stat().st_mtime > _LEFT_BEHIND:
                part.unlink()
    temporary = target.with_name(f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    os.close(os.open(temporary, flags, mode if kept is None else kept & mode))
    try:
        if kept is not None:
            temporary.chmod(kept)
        yield temporary
        # Without this the name may refer to an empty file after a loss of power.
        _sync(temporary)
        temporary.replace(target)
        _sync(target.parent)
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
