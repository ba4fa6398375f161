"""The cache of machine code on disk.

Numba's own cache compares only the source file of the function, so a caller in another file keeps
old machine code after an edit. Here one digest covers every file that holds compiled code. Machine
code is executed: it is read only from a folder that no other user can write.
"""

import errno
import functools
import hashlib
import os
import pickle
import shutil
import stat
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numba
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

VARIABLE = "HEADSTART_CACHE"
PACKAGE = Path(__file__).resolve().parents[1]

# The files of compiled functions, and of all constants that they use.
COMPILED_PARTS = ("arrays.py", "features", "kernels", "live", "logs")

# Settings of Numba that change the machine code.
_SETTINGS = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "USING_SVML")

# Every edit of the sources opens a new folder, `compiled-` and a digest; this many old ones stay.
_PREFIX = "compiled-"
_N_OLDER = 3

# Numba has no types for these.
_reduce: Callable[[Any], object] = CompileResult._reduce
_rebuild: Callable[..., CompileResult] = CompileResult._rebuild
_dumps: Callable[[object], bytes] = dumps

_compiling_allowed = True


class CompilationRefused(RuntimeError):  # noqa: N818 - named for the event
    """A function would have to be compiled while that is not allowed."""


class CompilationCacheWarning(RuntimeWarning):
    """Compiled code cannot be kept for later processes."""


@dataclass(frozen=True, kw_only=True)
class Root:
    """A folder that may hold compiled code.

    A `private` folder is closed to other users; one that is not `lasting` may be emptied by the
    system.
    """

    path: Path
    private: bool = False
    lasting: bool = True


def default_roots(package: Path) -> list[Root]:
    """The folders in order of preference.

    $HEADSTART_CACHE if it is set; else $NUMBA_CACHE_DIR, a folder next to the package, and the
    user's cache. Last comes a temporary folder.
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

    Every root is read, so that code compiled into an image is found although the package is
    read-only. The first writable root is written; if there is none, nothing is kept.
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
        # Through a handle of the checked folder, so that no other folder can replace it in between.
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
        if sys.platform == "win32":  # there, a user's folders are closed to others
            return
        # The code of root and of the package's owner runs here in any case.
        if status.st_uid not in (os.getuid(), 0, self.package.stat().st_uid):
            raise PermissionError(errno.EPERM, f"belongs to user {status.st_uid}")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(errno.EPERM, "other users can write there")

    def _remove_old(self, root: Path) -> None:
        def age(folder: Path) -> float:
            return -folder.lstat().st_mtime

        others = [folder for folder in root.glob(f"{_PREFIX}*") if folder.name != self._name]
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


def _digest(file: Path) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()


def _read_sources() -> dict[Path, bytes]:
    """Digests of the source files of compiled code; nothing if there are no sources."""
    try:
        return {
            file: _digest(file)
            for part in map(PACKAGE.joinpath, COMPILED_PARTS)
            for file in (sorted(part.rglob("*.py")) if part.suffix == "" else [part])
        }
    except OSError:
        return {}


# Read once, before the functions are defined: this process does not run later edits.
_sources = _read_sources()


@functools.cache
def _current(file: str) -> bool:
    """Whether the imported version of a source file is part of the digest."""
    path = Path(file).resolve()
    try:
        return path in _sources and _sources[path] == _digest(path)
    except OSError:
        return False


@functools.cache
def source_digest() -> str:
    """A digest of all sources of compiled code, and of the compiler: contents, not times."""
    settings = [str(getattr(numba.config, name, None)) for name in _SETTINGS]
    files = [(file.relative_to(PACKAGE).as_posix(), digest) for file, digest in _sources.items()]
    versions = [numba.__version__, sys.implementation.cache_tag]
    return hashlib.sha256(repr([versions, settings, files]).encode()).hexdigest()[:24]


@functools.cache
def cache_folders() -> CacheFolders:
    """The folders of this process."""
    return CacheFolders(package=PACKAGE, digest=source_digest(), roots=default_roots(PACKAGE))


class FunctionCache:
    """The machine code of one function, one file per specialisation, for Numba's dispatcher.

    A file is named by the function, its argument types and the processor, in a folder named by the
    sources, and begins with a digest of its contents. So files are never stale, are replaced
    atomically, and a damaged one counts as missing.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        code = function.__code__
        self._name = f"{function.__module__.removeprefix('headstart.')}.{function.__qualname__}"
        self._identity = f"{self._name}:{code.co_firstlineno}"

    @property
    def cache_path(self) -> str | None:
        """The folder that was used last."""
        return None if (folder := cache_folders().folder) is None else str(folder)

    def flush(self) -> None:
        """Nothing: files follow from the sources, and are never stale."""

    def load_overload(self, signature: Any, target: Any) -> CompileResult | None:
        """The machine code for argument types, or None."""
        target.refresh()
        result = self._load(signature, target)
        if result is None and not _compiling_allowed:
            raise CompilationRefused(f"{self._name} is not compiled for {signature}")
        return result

    def _load(self, signature: Any, target: Any) -> CompileResult | None:
        for content in cache_folders().read(self._file(signature, target.codegen())):
            # A file may be damaged in any way; compiling again replaces it.
            try:
                digest, payload = content[:32], content[32:]
                if hashlib.sha256(payload).digest() == digest:
                    return _rebuild(target, *pickle.loads(payload))
            except Exception:
                continue
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep machine code, if possible."""
        if result.lifted or result.library.has_dynamic_globals:
            return
        payload = _dumps(_reduce(result))
        content = hashlib.sha256(payload).digest() + payload
        cache_folders().write(self._file(signature, result.codegen), content)

    def _file(self, signature: Any, codegen: Any) -> str:
        key = repr((self._identity, str(signature), codegen.magic_tuple()))
        return f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.nbc"


def cache_of(function: Callable[..., object]) -> FunctionCache | None:
    """The cache of a function; None if the digest does not cover its machine code."""
    if function.__closure__ is not None or not _current(function.__code__.co_filename):
        return None
    return FunctionCache(function)


@contextmanager
def no_compilation() -> Iterator[None]:
    """Raise CompilationRefused if a function is not in the cache."""
    global _compiling_allowed  # noqa: PLW0603
    _compiling_allowed = False
    try:
        yield
    finally:
        _compiling_allowed = True
