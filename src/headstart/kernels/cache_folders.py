"""Where machine code is kept on disk, and which folders are safe to read it from.

Machine code is executed: it is read only from a folder that no other user can write.
"""

import errno
import os
import shutil
import stat
import sys
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

VARIABLE = "HEADSTART_CACHE"

# Every edit of the sources opens a new folder, `compiled-` and a digest; so many older ones stay.
_PREFIX = "compiled-"
_N_OLDER = 3


class CompilationCacheWarning(RuntimeWarning):
    """Compiled code is not kept where later processes find it."""


@dataclass(frozen=True, kw_only=True)
class Root:
    """A folder that may hold compiled code.

    What is `private` is closed to other users; what is not `lasting` may be emptied by the system.
    """

    path: Path
    private: bool = False
    lasting: bool = True


def default_roots(package: Path) -> list[Root]:
    """The folders in order of preference.

    $HEADSTART_CACHE if it is set; else $NUMBA_CACHE_DIR, beside the package, and the user's cache.
    Last comes a temporary folder.
    """
    roots = []
    if named := os.environ.get(VARIABLE):
        roots.append(Root(path=Path(named).absolute()))
    else:
        if shared := os.environ.get("NUMBA_CACHE_DIR"):
            roots.append(Root(path=Path(shared).absolute() / "headstart"))
        roots.append(Root(path=package / "__pycache__"))
        with suppress(RuntimeError):  # no home
            roots.append(Root(path=_user_cache() / "headstart" / "compiled", private=True))
    with suppress(OSError):  # no temporary folder can be written
        path = Path(tempfile.gettempdir()) / f"headstart-{_user()}"
        roots.append(Root(path=path, private=True, lasting=False))
    return roots


def _user_cache() -> Path:
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "")
    if os.path.isabs(named):
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path.home() / ".cache"


def _user() -> int | str:
    return os.environ.get("USERNAME", "") if sys.platform == "win32" else os.getuid()


@dataclass(kw_only=True)
class CacheFolders:
    """Files of compiled code for one digest of the sources.

    Every root is read, so that what was compiled when an image was built is found where the package
    is read-only. The first root that can be written is; if there is none, nothing is kept.
    """

    package: Path
    digest: str
    roots: list[Root]
    folder: Path | None = None
    _refused: dict[Path, str] = field(default_factory=dict)
    _warned: bool = False

    def read(self, name: str) -> Iterator[bytes]:
        """The contents of the files of that name."""
        for root in self.roots:
            with suppress(OSError):
                content = self._read(root.path / self._name, name)
                self.folder = root.path / self._name
                yield content

    def write(self, name: str, content: bytes) -> None:
        """Replace the file of that name atomically; warn, once, if it is not kept for long."""
        for root in self.roots:
            if root.path in self._refused:
                continue
            try:
                self._write(root, name, content)
            except OSError as error:
                self._refused[root.path] = error.strerror or str(error)
                continue
            self.folder = root.path / self._name
            if not root.lasting:
                self._warn(f"in {self.folder}")
            return
        self._warn("in memory only")

    @property
    def _name(self) -> str:
        return f"{_PREFIX}{self.digest}"

    def _read(self, folder: Path, name: str) -> bytes:
        if os.open not in os.supports_dir_fd:
            return (folder / name).read_bytes()
        # Through a handle of the folder that was checked: none can take its place in between.
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            self._check(os.fstat(handle))
            with open(os.open(name, os.O_RDONLY, dir_fd=handle), "rb") as file:
                return file.read()
        finally:
            os.close(handle)

    def _write(self, root: Root, name: str, content: bytes) -> None:
        folder = root.path / self._name
        if not folder.exists():
            root.path.mkdir(parents=True, exist_ok=True, mode=0o700 if root.private else 0o777)
            if root.private:
                self._check(root.path.lstat())
            folder.mkdir(exist_ok=True, mode=0o700 if root.private else 0o755)
            with suppress(OSError):  # another process may be doing the same
                self._remove_old(root.path)
        self._check(folder.lstat())
        part = folder / f"{uuid.uuid4().hex}.part"
        try:
            part.write_bytes(content)
            part.replace(folder / name)
        finally:
            part.unlink(missing_ok=True)

    def _check(self, status: os.stat_result) -> None:
        """Raise PermissionError for a folder where another user could put code of theirs."""
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "not a folder")
        if sys.platform == "win32":  # folders of a user are closed to others there
            return
        # The code of root and of the package's owner runs here in any case.
        if status.st_uid not in (os.getuid(), 0, self.package.stat().st_uid):
            raise PermissionError(errno.EPERM, f"belongs to user {status.st_uid}")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(errno.EPERM, "other users can write there")

    def _remove_old(self, root: Path) -> None:
        def age(folder: Path) -> float:
            return -folder.lstat().st_mtime

        others = [each for each in root.glob(f"{_PREFIX}*") if each.name != self._name]
        for old in sorted(others, key=age)[_N_OLDER:]:
            shutil.rmtree(old, ignore_errors=True)

    def _warn(self, where: str) -> None:
        if self._warned:
            return
        self._warned = True
        reasons = "; ".join(f"{path} ({reason})" for path, reason in self._refused.items())
        warnings.warn(
            f"compiled code is kept {where}, because it cannot be kept in {reasons}. Set "
            f"{VARIABLE} to a folder of your own that can be written, or run `headstart compile` "
            "once as a user who can write to one of these",
            CompilationCacheWarning,
            stacklevel=2,
        )
