"""The decorator of compiled functions, and where their machine code is kept.

Numba's cache compares only the source file of a function, so a caller in another file would keep
old machine code after an edit. Here one digest of all sources of compiled code names the folder.
"""

import functools
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar, cast, overload

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.compiler_lock import global_compiler_lock

P = ParamSpec("P")
R = TypeVar("R")

# Sums may be reassociated for SIMD; NaN and infinities are respected. One set for all
# functions: Numba compiles its own helpers once per set.
_FASTMATH = {"reassoc", "contract", "nsz"}

VARIABLE = "HEADSTART_CACHE"
PACKAGE = Path(__file__).resolve().parents[1]
# The files of compiled functions, and of all constants that they use.
COMPILED_PARTS = ("arrays.py", "features", "kernels", "live", "logs")
# Settings of Numba that change the machine code, and are not in the names of its files.
_SETTINGS = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "USING_SVML")
# Every edit of the sources opens a new folder, `compiled-` and the digest; this many old ones stay.
_PREFIX, _N_OLDER = "compiled-", 3

# Numba has no types for this.
_unliteral: Callable[[Any], Any] = numba.types.unliteral

_functions: list[Any] = []
_compiling_allowed = True


class CompilationRefused(RuntimeError):  # noqa: N818 - named for the event
    """A function would have to be compiled while that is not allowed."""


class CompilationCacheWarning(RuntimeWarning):
    """Compiled code cannot be kept for later processes."""


@overload
def compiled(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def compiled(
    *, inline: Literal["never", "always"] = "never", fastmath: bool = True
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def compiled(
    function: Callable[P, R] | None = None,
    /,
    *,
    inline: Literal["never", "always"] = "never",
    fastmath: bool = True,
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function at its first call, without the GIL, and keep the machine code on disk.

    A division by zero is infinite or NaN, as in NumPy.

    With inline="always" it becomes part of every compiled caller, and is compiled by itself only if
    Python calls it; this is for small functions and functions with one caller. Without `fastmath`,
    sums are taken in the order in which they are written.
    """
    if function is None:
        return functools.partial(_compiled, inline=inline, fastmath=fastmath)
    return _compiled(function, inline=inline, fastmath=fastmath)


def _compiled(function: Callable[P, R], *, inline: str, fastmath: bool) -> Callable[P, R]:
    options: dict[str, Any] = {"fastmath": _FASTMATH if fastmath else False, "inline": inline}
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if dispatcher is not function:  # unchanged with NUMBA_DISABLE_JIT=1
        _functions.append(dispatcher)
        _forget_literals(dispatcher)
        if function.__closure__ is None and _is_current(function.__code__.co_filename):
            dispatcher._cache = Cache(function)
    return cast("Callable[P, R]", dispatcher)


def _forget_literals(dispatcher: Any) -> None:
    """Let a constant argument of a compiled call be an ordinary number.

    Numba would compile the callee once more for every constant that it is called with.
    """
    template = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        plain = {name: _unliteral(value) for name, value in dict(kws).items()}
        return template(tuple(map(_unliteral, args)), plain)

    dispatcher.get_call_template = get_call_template


def compiled_functions() -> dict[str, Any]:
    """The functions compiled so far or to be compiled, by module and name."""
    return {
        f"{function.py_func.__module__}.{function.py_func.__qualname__}": function
        for function in _functions
    }


def n_compiled() -> int:
    """How many specialisations this process has compiled, rather than read from disk."""
    return sum(sum(function.stats.cache_misses.values()) for function in _functions)


def compiling() -> bool:
    """Whether a thread of this process compiles, or reads what was compiled."""
    return bool(_lock.is_locked())


def n_loaded() -> int:
    """How many specialisations this process has read from disk."""
    return sum(sum(function.stats.cache_hits.values()) for function in _functions)


@contextmanager
def no_compilation() -> Iterator[None]:
    """Raise CompilationRefused if a function is not in the cache."""
    global _compiling_allowed  # noqa: PLW0603
    _compiling_allowed = False
    try:
        yield
    finally:
        _compiling_allowed = True


def _digest(file: Path) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()


def _read_sources() -> dict[Path, bytes]:
    """Digests of the source files of compiled code; nothing if there are no sources."""
    parts = map(PACKAGE.joinpath, COMPILED_PARTS)
    try:
        return {
            file: _digest(file)
            for part in parts
            for file in ([part] if part.suffix else sorted(part.rglob("*.py")))
        }
    except OSError:
        return {}


# Read once, before the functions are defined: this process does not run later edits.
_sources = _read_sources()


@functools.cache
def _is_current(file: str) -> bool:
    """Whether the imported version of a source file is part of the digest."""
    path = Path(file).resolve()
    return path in _sources and _sources[path] == _digest(path)


@functools.cache
def source_digest() -> str:
    """A digest of all sources of compiled code, and of Numba's settings: contents, not times."""
    settings = [str(getattr(numba.config, name, None)) for name in _SETTINGS]
    files = [(file.relative_to(PACKAGE).as_posix(), digest) for file, digest in _sources.items()]
    content = repr([numba.__version__, settings, files])
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def cache_roots() -> list[Path]:
    """The folders that may hold compiled code, in order of preference; a temporary one is last.

    $HEADSTART_CACHE if it is set; else $NUMBA_CACHE_DIR, next to the package, the user's cache.
    """
    roots = []
    if named := os.environ.get(VARIABLE):
        roots.append(Path(named).absolute())
    else:
        if shared := os.environ.get("NUMBA_CACHE_DIR"):
            roots.append(Path(shared).absolute() / "headstart")
        roots.append(PACKAGE / "__pycache__")
        with suppress(RuntimeError):  # no home
            user = os.environ.get("XDG_CACHE_HOME", "")
            cache = Path(user) if os.path.isabs(user) else Path.home() / ".cache"
            roots.append(cache / "headstart" / "compiled")
    return [*roots, temporary_root()]


def temporary_root() -> Path:
    """The folder of this user among the temporary ones."""
    user = os.environ.get("USERNAME", "") if sys.platform == "win32" else os.getuid()
    return Path(tempfile.gettempdir(), f"headstart-{user}")


@functools.cache
def cache_folder() -> Path | None:
    """The folder of this process's machine code: the first that has some, or can be written."""
    for root in cache_roots():
        with suppress(OSError):
            folder = root / f"{_PREFIX}{source_digest()}"
            if not folder.exists():
                _make(folder)
            checked = (root, folder) if root == temporary_root() else (folder,)
            usable = any(folder.iterdir()) or os.access(folder, os.W_OK)
            if usable and all(map(_is_safe, checked)):
                return folder
    return None


def _make(folder: Path) -> None:
    """Make a folder that others cannot write, and remove those of earlier sources."""
    folder.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    folder.mkdir(mode=0o755, exist_ok=True)
    others = [other for other in folder.parent.glob(f"{_PREFIX}*") if other != folder]
    with suppress(OSError):  # another process may be doing the same
        for old in sorted(others, key=lambda other: -other.stat().st_mtime)[_N_OLDER:]:
            shutil.rmtree(old, ignore_errors=True)


def _is_safe(folder: Path) -> bool:
    """Whether no other user can put code there, which would run here."""
    if sys.platform == "win32":  # there, a user's folders are closed to others
        return True
    status = folder.lstat()
    # The code of root and of the package's owner runs here in any case.
    trusted = {os.getuid(), 0, PACKAGE.stat().st_uid}
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(status.st_mode) and status.st_uid in trusted and not others_write


class _Locator(_CacheLocator):
    """Where Numba's cache finds the machine code of a function."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._module = function.__module__.removeprefix("headstart.")
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, py_func: Callable[..., object], py_file: str) -> "_Locator":
        return cls(py_func)

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return source_digest()

    def get_disambiguator(self) -> str:
        return f"{self._module}-{self._line}"


# Numba has no types for these.
_LOCATORS: list[Any] = [_Locator]
_numba: Any = FunctionCache
_lock: Any = global_compiler_lock


class _Implementation(CompileResultCacheImpl):
    _locator_classes = _LOCATORS


class Cache(FunctionCache):
    """Numba's cache of a function in our folder."""

    _impl_class = _Implementation

    def __init__(self, function: Callable[..., object]) -> None:
        _numba.__init__(self, function)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The machine code for argument types, or None."""
        found = None
        try:
            found = _numba.load_overload(self, signature, target)
        except Exception:  # a file may be damaged in any way; compiling again replaces it
            with suppress(OSError):
                _numba.flush(self)
        if found is None and not _compiling_allowed:
            name = f"{self._py_func.__module__}.{self._py_func.__qualname__}"
            raise CompilationRefused(f"{name} is not compiled for {signature}")
        return found

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep machine code, or warn, once."""
        folder = cache_folder()
        if folder is None:
            _warn("in memory only: no folder can be written")
            return
        try:
            _numba.save_overload(self, signature, result)
        except OSError as error:
            _warn(f"in memory only: {error}")
        if folder.parent == temporary_root():
            _warn(f"in {folder}, a temporary folder")


@functools.cache
def _warn(where: str) -> None:
    warnings.warn(
        f"compiled code is kept {where}. Set {VARIABLE} to a folder of your own that can be "
        "written, or run `headstart compile` once as a user who can write next to the package",
        CompilationCacheWarning,
        stacklevel=2,
    )
