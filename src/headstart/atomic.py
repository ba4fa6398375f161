"""Atomic writes: a file is complete or absent."""

import hashlib
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SUFFIX = ".part"
# Longer names are hashed: a file system takes 255 bytes, including what a part's name adds.
_LONGEST_NAME = 150

_HAS_PROC = Path("/proc/self/stat").exists()


@contextmanager
def atomic_write(path: Path, *, mode: int = 0o644) -> Iterator[Path]:
    """A temporary file next to the path, renamed to it at the end; removed after an error.

    A new file has the mode, without the umask, from its first byte on; a replaced file keeps its
    mode. If the path is a symbolic link, its target is replaced. A killed process leaves its part
    behind, which the next write of the path removes.
    """
    target = Path(os.path.realpath(path))
    kept = _mode_of(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(target)
    own = f"{_process(os.getpid())}.{secrets.token_hex(4)}"
    temporary = target.with_name(f"{_prefix(target)}{own}{_SUFFIX}")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    handle = os.open(temporary, flags, mode if kept is None else kept & mode)
    try:
        os.close(handle)
        if kept is not None:
            temporary.chmod(kept)
        yield temporary
        # Without this the name may refer to an empty file after a loss of power.
        _sync(temporary)
        temporary.replace(target)
        _sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _mode_of(target: Path) -> int | None:
    """The permissions of the existing file; None if there is none."""
    try:
        found = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found):
        raise FileExistsError(f"{target} exists and is not a file")
    return stat.S_IMODE(found)


def _prefix(target: Path) -> str:
    """How the names of this host's parts of the target begin."""
    name = target.name
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
    host = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]
    return f".{name}.{host}-"


def _process(pid: int) -> str | None:
    """A process as its number and start time, since numbers are reused; None if gone."""
    try:
        content = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        if _HAS_PROC or not _exists(pid):
            return None
        return f"{pid}-0"
    # After the name, which may hold anything: the state, 18 other fields, the start.
    fields = content.rpartition(b")")[2].split()
    return None if fields[0] == b"Z" else f"{pid}-{fields[19].decode()}"


def _exists(pid: int) -> bool:
    if os.name != "posix":  # where signal 0 would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _remove_leftovers(target: Path) -> None:
    """Remove the parts of this host's processes that are gone."""
    prefix = _prefix(target)
    for entry in os.scandir(target.parent):
        name = entry.name
        if name.startswith(prefix) and name.endswith(_SUFFIX):
            process = name[len(prefix) :].partition(".")[0]
            pid = process.partition("-")[0]
            if pid.isdecimal() and _process(int(pid)) != process:
                with suppress(OSError):
                    Path(entry.path).unlink()


def _sync(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # some systems do not open folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
