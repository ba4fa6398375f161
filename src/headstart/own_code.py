"""Own code: modules outside of headstart that specs name, the files they depend on, and digests.

A module depends on all Python files of the folder that it is imported from (of the study file, of
an editable installation, or another on Python's path) and of the folders within, if Python can
import their names. So everything that it imports from that folder counts, by whatever name. Of a
package in site-packages, its own files count. Packages of other folders that no spec names, and
files that code opens by itself, are not seen.
"""

import hashlib
import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path
from types import ModuleType

_SUFFIXES = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES)
_INSTALLED = {"site-packages", "dist-packages"}

# The digests of a module's files when this process loaded it, by the module's name.
_loaded: dict[str, Mapping[Path, str]] = {}


@contextmanager
def importable(folder: str | Path) -> Iterator[None]:
    """Modules in this folder are found first; "" means no folder."""
    if not str(folder):
        yield
        return
    entry = str(Path(folder).absolute())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)


def load(name: str) -> ModuleType:
    """Import a module, again if its files have changed since it was imported."""
    now = {path.resolve(): file_digest(path) for path in source_files(name).values()}
    before = _loaded.get(name, now)
    loaded = getattr(sys.modules.get(name), "__file__", None)
    moved = loaded is not None and Path(loaded).resolve() not in now
    if now and (moved or before != now):
        _unload({*now, *before}, name.partition(".")[0])
    importlib.invalidate_caches()
    writes = sys.dont_write_bytecode
    # Python compares the time of a .pyc file by the second, and would miss an edit within one.
    sys.dont_write_bytecode = True
    try:
        module = importlib.import_module(name)
    finally:
        sys.dont_write_bytecode = writes
    _loaded[name] = now
    return module


def source_files(name: str) -> dict[str, Path]:
    """The files that a module depends on, by path relative to the folder it is imported from.

    Empty for headstart itself, and for a module that is not found.
    """
    importlib.invalidate_caches()
    place = _place(name.partition(".")[0])
    if place is None:
        return {}
    searched = place if _INSTALLED & set(place.parts) else place.parent
    paths = [place] if searched.is_file() else _python_files(searched)
    return {path.relative_to(place.parent).as_posix(): path for path in paths}


def file_digest(path: Path) -> str:
    """Sixteen hexadecimal digits of a file's contents."""
    status = path.stat()
    return _digest(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=4096)
def _digest(path: Path, size: int, changed: int) -> str:
    """Read a file; its size and time of change are part of the cache's key."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:16]


def _unload(files: set[Path], top: str) -> None:
    """Forget modules of these files or below this name, so that they are imported again."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        in_files = file is not None and Path(file).resolve() in files
        if name.partition(".")[0] == top or (in_files and name not in {"__main__", "__mp_main__"}):
            del sys.modules[name]


def _place(top: str) -> Path | None:
    """The file or folder that a top-level module would be imported from; None if there is none."""
    if top == "headstart":
        return None
    # Not `importlib.util.find_spec`, which returns what was imported before.
    specs = (finder.find_spec(top, None) for finder in sys.meta_path)
    spec = next((spec for spec in specs if spec is not None), None)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return Path(spec.origin).resolve() if spec.origin and spec.has_location else None


def _python_files(folder: Path) -> Iterator[Path]:
    """The Python files of a folder and of importable folders within."""
    for here, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if name.isidentifier() and name != "__pycache__")
        yield from (Path(here, name) for name in sorted(names) if name.endswith(_SUFFIXES))
