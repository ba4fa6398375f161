"""Own code: the modules of classes outside of headstart, the files they consist of, and digests."""

import ast
import hashlib
import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

# Folders of installed packages: of those, only the named package itself is own code.
_INSTALLED = {"site-packages", "dist-packages"}

# The digests of a module's files when this process loaded it, by the module's name.
_loaded: dict[str, Mapping[Path, str]] = {}


@contextmanager
def importable(folder: str | Path) -> Iterator[None]:
    """Modules in this folder are found first; "" is no folder."""
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
    """Import a module; where its files have changed since it was imported, import it again."""
    files = source_files(name)
    now = {path: file_digest(path) for path in files.values()}
    before = _loaded.get(name, now)
    loaded = getattr(sys.modules.get(name), "__file__", None)
    moved = loaded is not None and Path(loaded).resolve() not in set(now)
    if now and (moved or before != now):
        _unload(set(now) | set(before), set(_modules_of(files)))
    importlib.invalidate_caches()
    writes = sys.dont_write_bytecode
    # Python compares the time of a .pyc file by the second: an edit within one would be missed.
    sys.dont_write_bytecode = True
    try:
        module = importlib.import_module(name)
    finally:
        sys.dont_write_bytecode = writes
    _loaded[name] = now
    return module


def source_files(name: str) -> dict[str, Path]:
    """The files of a module and of what it imports beside it, by path relative to that folder.

    Imports are read from the source text: `import_module("…")` and files that code opens are not
    seen. Empty for headstart itself, and for a module that is not found.
    """
    top = name.partition(".")[0]
    if top == "headstart":
        return {}
    importlib.invalidate_caches()
    spec = _locate(top, sys.path)
    if spec is None:
        return _found_otherwise(name)
    root = _root(spec)
    installed = bool(_INSTALLED & set(root.parts)) or root == Path(ast.__file__).parent
    found: dict[str, Path] = {}
    todo, seen = [name], set[str]()
    while todo:
        wanted = todo.pop()
        if wanted in seen or (installed and wanted.partition(".")[0] != top):
            continue
        seen.add(wanted)
        parent = wanted.rpartition(".")[0]
        if parent:
            todo.append(parent)
        file = _file(_locate(wanted, [str(root)]))
        if file is not None:
            found[file.relative_to(root.resolve()).as_posix()] = file
            package = wanted if file.name == "__init__.py" else parent
            todo.extend(_imports(file, package))
    return dict(sorted(found.items()))


def file_digest(path: Path) -> str:
    """Sixteen hexadecimal digits of a file's contents."""
    status = path.stat()
    return _digest(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=512)
def _digest(path: Path, size: int, changed: int) -> str:
    """Read a file; its size and time of change are part of the cache's key."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:16]


def _unload(files: set[Path], names: set[str]) -> None:
    """Forget modules of these files or names, so that they are imported again."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name in names or (file is not None and Path(file).resolve() in files):
            del sys.modules[name]


def _modules_of(files: Mapping[str, Path]) -> Iterator[str]:
    for label in files:
        yield label.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _locate(name: str, path: list[str]) -> ModuleSpec | None:
    """Where a module is, without importing anything."""
    searched: list[str] | None = path
    spec = None
    parts = name.split(".")
    for i in range(len(parts)):
        if searched is None:
            return None
        spec = PathFinder.find_spec(".".join(parts[: i + 1]), searched)
        if spec is None:
            return None
        inside = spec.submodule_search_locations
        searched = None if inside is None else list(inside)
    return spec


def _file(spec: ModuleSpec | None) -> Path | None:
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        return None
    return Path(spec.origin).resolve()


def _root(spec: ModuleSpec) -> Path:
    """The folder that a top-level module or package lies in."""
    inside = spec.submodule_search_locations
    if inside:
        return Path(next(iter(inside))).parent
    return Path(spec.origin).parent if spec.origin else Path()


def _found_otherwise(name: str) -> dict[str, Path]:
    """The file of a module that another finder knows, such as that of an editable install."""
    try:
        file = _file(find_spec(name))
    except (ImportError, ValueError):
        return {}
    return {} if file is None else {file.name: file}


def _imports(file: Path, package: str) -> Iterator[str]:
    """The names of modules that a source file may import."""
    if file.suffix != ".py":
        return
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # importing it will say so
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: -node.level + 1 or None] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
