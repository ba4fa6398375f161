"""Own code: modules outside of headstart that specs name, the files they depend on, and digests.

A module depends on its own file and on those of all that it imports, and so on, if they are in the
folder that it is imported from (of the study file, of an editable installation, or another on
Python's path) or in another one of that kind. A name in a string counts as imported too, since
`importlib` takes such. Of a package in site-packages, all its own files count if a spec names it.
Files that code opens by itself are not seen.
"""

import ast
import hashlib
import importlib
import re
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
    """The files that a module depends on, by path relative to the folder they are imported from.

    Empty for headstart itself, and for a module that is not found.
    """
    importlib.invalidate_caches()
    top = name.partition(".")[0]
    place = _place(top)
    if place is None:
        return {}
    if _INSTALLED & set(place.parts):
        paths = [place] if place.is_file() else sorted(place.rglob("*"))
        return {
            path.relative_to(place.parent).as_posix(): path
            for path in paths
            if path.name.endswith(_SUFFIXES)
        }
    places: dict[str, Path | None] = {top: place}
    found: dict[str, Path] = {}
    asked, seen = [name], {name}
    while asked:
        for label, path in _files_of(asked.pop(), places):
            if label not in found:
                found[label] = path
                new = _imported(path, label) - seen
                asked += new
                seen |= new
    return found


def _files_of(name: str, places: dict[str, Path | None]) -> Iterator[tuple[str, Path]]:
    """The files of a module and of the packages that hold it; none if others keep them."""
    top = name.partition(".")[0]
    if top not in places:
        known = top in sys.stdlib_module_names or not top.isidentifier()
        place = None if known else _place(top)
        places[top] = None if place is None or _INSTALLED & set(place.parts) else place
    place = places[top]
    if place is None:
        return
    root = place.parent
    parts = name.split(".")
    for n in range(1, len(parts) + 1):
        stem = root.joinpath(*parts[:n])
        for path in (
            *(stem.with_name(stem.name + suffix) for suffix in _SUFFIXES),
            *(stem / f"__init__{suffix}" for suffix in _SUFFIXES),
        ):
            if path.is_file():
                yield path.relative_to(root).as_posix(), path


def _imported(path: Path, label: str) -> set[str]:
    """The names of modules that a file may import, and of packages that hold them."""
    if path.suffix != ".py":
        return set()
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # importing it says what is wrong
        return set()
    package = label.removesuffix(".py").split("/")[:-1]
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            names |= {base, *(f"{base}.{one.name}".lstrip(".") for one in node.names)}
        elif isinstance(node, ast.Constant) and re.fullmatch(r"\w+(\.\w+)*", str(node.value)):
            names.add(str(node.value))
    return names - {""}


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
