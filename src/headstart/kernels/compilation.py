"""The decorator of every compiled function, and the cache of machine code on disk.

Numba's own cache compares the source file of the function alone, so that a caller in another file
keeps old machine code after an edit. Here one digest covers every file that holds compiled code.
"""

import functools
import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar, cast, overload

import numba
from numba.core import types
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from headstart.kernels.cache_folders import CacheFolders, default_roots

P = ParamSpec("P")
R = TypeVar("R")

# Sums may be reassociated for SIMD; NaN and infinities are respected. One set for all
# functions: Numba compiles its own helpers once per set.
_FASTMATH = {"reassoc", "contract", "nsz"}

PACKAGE = Path(__file__).resolve().parents[1]

# The files of compiled functions, and of all constants that they use.
COMPILED_PARTS = ("arrays.py", "kernels", "live", "logs")

# Settings of Numba that change the machine code.
_SETTINGS = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "USING_SVML")

# Numba has no types for these.
_reduce: Callable[[Any], object] = CompileResult._reduce
_rebuild: Callable[..., CompileResult] = CompileResult._rebuild
_dumps: Callable[[object], bytes] = dumps
_unliteral: Callable[[Any], Any] = types.unliteral

_functions: list[Any] = []
_compiling_allowed = True


class CompilationRefused(RuntimeError):  # noqa: N818 - named for the event
    """A function would have to be compiled while that is not allowed."""


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

    With inline="always" it becomes part of every compiled caller, and is not compiled by itself
    unless it is called from Python: for small functions, and for those with one caller. Without
    `fastmath` sums are taken in the order in which they are written.
    """
    if function is None:
        return functools.partial(_compiled, inline=inline, fastmath=fastmath)
    return _compiled(function, inline=inline, fastmath=fastmath)


def _compiled(function: Callable[P, R], *, inline: str, fastmath: bool) -> Callable[P, R]:
    options: dict[str, Any] = {"fastmath": _FASTMATH if fastmath else False, "inline": inline}
    dispatcher: Any = numba.njit(nogil=True, **options)(function)
    if dispatcher is not function:  # as it is with NUMBA_DISABLE_JIT=1
        _functions.append(dispatcher)
        _forget_literals(dispatcher)
        if _current(function.__code__.co_filename) and function.__closure__ is None:
            dispatcher._cache = FunctionCache(function)
    return cast("Callable[P, R]", dispatcher)


def _forget_literals(dispatcher: Any) -> None:
    """Let a constant argument of a compiled call be an ordinary number.

    Numba would compile the callee once more for every constant that it is called with.
    """
    template = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        plain = {name: _unliteral(each) for name, each in dict(kws).items()}
        return template(tuple(map(_unliteral, args)), plain)

    dispatcher.get_call_template = get_call_template


def compiled_functions() -> dict[str, Any]:
    """The functions compiled so far or to be compiled, by module and name."""
    return {f"{each.py_func.__module__}.{each.py_func.__qualname__}": each for each in _functions}


def n_compiled() -> int:
    """How many specialisations this process has compiled, rather than read from disk."""
    return sum(sum(each.stats.cache_misses.values()) for each in _functions)


def n_loaded() -> int:
    """How many specialisations this process has read from disk."""
    return sum(sum(each.stats.cache_hits.values()) for each in _functions)


@contextmanager
def no_compilation() -> Iterator[None]:
    """Raise CompilationRefused where a function is not in the cache."""
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
    try:
        return {
            file: _digest(file)
            for part in map(PACKAGE.joinpath, COMPILED_PARTS)
            for file in (sorted(part.rglob("*.py")) if part.suffix == "" else [part])
        }
    except OSError:
        return {}


# Read once, before the functions are defined: what is edited later is not what this process runs.
_sources = _read_sources()


@functools.cache
def _current(file: str) -> bool:
    """Whether a source file, as it was imported, is part of the digest."""
    path = Path(file).resolve()
    try:
        return path in _sources and _sources[path] == _digest(path)
    except OSError:
        return False


@functools.cache
def source_digest() -> str:
    """A digest of all sources of compiled code, and of the compiler: contents, not times."""
    settings = [str(getattr(numba.config, name, None)) for name in _SETTINGS]
    files = [(file.relative_to(PACKAGE).as_posix(), each) for file, each in _sources.items()]
    versions = [numba.__version__, sys.implementation.cache_tag]
    return hashlib.sha256(repr([versions, settings, files]).encode()).hexdigest()[:24]


@functools.cache
def cache_folders() -> CacheFolders:
    """The folders of this process."""
    return CacheFolders(package=PACKAGE, digest=source_digest(), roots=default_roots(PACKAGE))


class FunctionCache:
    """The machine code of one function, one file per specialisation, as Numba's dispatcher asks.

    A file is named by the function, its argument types and the processor, in a folder named by the
    sources, and begins with a digest of its contents. So files are never stale, are replaced
    atomically, and a damaged one counts as missing.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        code = function.__code__
        self._name = f"{function.__module__.removeprefix('headstart.')}.{function.__qualname__}"
        self._identity = f"{self._name}:{code.co_firstlineno}"
        self._enabled = True

    @property
    def cache_path(self) -> str | None:
        """The folder that was used last."""
        return None if (folder := cache_folders().folder) is None else str(folder)

    def enable(self) -> None:
        """Use the disk."""
        self._enabled = True

    def disable(self) -> None:
        """Do not use the disk."""
        self._enabled = False

    def flush(self) -> None:
        """Nothing: files follow from the sources, and are never stale."""

    def load_overload(self, signature: Any, target: Any) -> CompileResult | None:
        """The machine code for argument types, or None."""
        target.refresh()
        found = self._load(signature, target) if self._enabled else None
        if found is None and not _compiling_allowed:
            raise CompilationRefused(f"{self._name} is not compiled for {signature}")
        return found

    def _load(self, signature: Any, target: Any) -> CompileResult | None:
        for content in cache_folders().read(self._file(signature, target.codegen())):
            # A file may be damaged in any way; compiling anew replaces it.
            try:
                digest, payload = content[:32], content[32:]
                if hashlib.sha256(payload).digest() == digest:
                    return _rebuild(target, *pickle.loads(payload))
            except Exception:
                continue
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep machine code, where that is possible."""
        if not self._enabled or result.lifted or result.library.has_dynamic_globals:
            return
        payload = _dumps(_reduce(result))
        content = hashlib.sha256(payload).digest() + payload
        cache_folders().write(self._file(signature, result.codegen), content)

    def _file(self, signature: Any, codegen: Any) -> str:
        key = repr((self._identity, str(signature), codegen.magic_tuple()))
        return f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.nbc"
