"""The decorator of compiled functions: what it keeps, when that is used again, what it covers."""

import ast
import hashlib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import numba
import numpy as np
import pytest

import headstart
from headstart.kernels import cache
from headstart.kernels.cache import (
    COMPILED_PARTS,
    PACKAGE,
    CacheFolders,
    CompilationRefused,
    FunctionCache,
    Root,
    no_compilation,
)
from headstart.kernels.compilation import compiled, compiled_functions


def _double(x: float) -> float:
    return 2.0 * x


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CacheFolders:
    found = CacheFolders(package=Path("/"), digest="one", roots=[Root(path=tmp_path)])
    monkeypatch.setattr(cache, "cache_folders", lambda: found)
    return found


def _fresh() -> Any:
    """A new dispatcher of the same function, as a new process has it."""
    dispatcher: Any = numba.njit(_double)
    dispatcher._cache = FunctionCache(_double)
    return dispatcher


def _compiles(dispatcher: Any) -> int:
    return sum(dispatcher.stats.cache_misses.values())


def test_machine_code_is_kept_per_argument_type(folders: CacheFolders) -> None:
    first = _fresh()
    assert first(1.5) == 3.0
    assert first(2) == 4.0
    assert _compiles(first) == 2
    second = _fresh()
    assert second(1.5) == 3.0
    assert second(2) == 4.0
    assert _compiles(second) == 0
    assert second.stats.cache_path == str(folders.folder)


def _with_digest(payload: bytes) -> bytes:
    return hashlib.sha256(payload).digest() + payload


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:20],
        lambda content: content[:-1],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: _with_digest(b"no pickle"),
    ],
    ids=["empty", "no code", "cut", "one bit", "no pickle"],
)
def test_a_damaged_file_is_compiled_anew(
    damage: Callable[[bytes], bytes], folders: CacheFolders
) -> None:
    _fresh()(1.5)
    assert folders.folder is not None
    (file,) = folders.folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    again = _fresh()
    assert again(1.5) == 3.0
    assert _compiles(again) == 1
    assert _fresh()(1.5) == 3.0
    assert list(folders.folder.iterdir()) == [file]
    final = _fresh()
    final(1.5)
    assert _compiles(final) == 0


def test_compiling_can_be_refused(folders: CacheFolders) -> None:
    with no_compilation(), pytest.raises(CompilationRefused, match="_double is not compiled"):
        _fresh()(1.5)
    _fresh()(1.5)
    with no_compilation():
        assert _fresh()(1.5) == 3.0


def test_other_sources_have_another_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache.source_digest()
    for part in COMPILED_PARTS:
        path = PACKAGE / part
        file = path if path.is_file() else next(iter(sorted(path.rglob("*.py"))))
        monkeypatch.setitem(cache._sources, file, b"edited")
        cache.source_digest.cache_clear()
        assert cache.source_digest() != before, part
        monkeypatch.undo()
        cache.source_digest.cache_clear()
    assert cache.source_digest() == before


def test_a_file_edited_after_the_import_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(PACKAGE / "kernels" / "compilation.py")
    assert cache._current.__wrapped__(file)
    monkeypatch.setitem(cache._sources, Path(file), b"as it was")
    assert not cache._current.__wrapped__(file)


def test_functions_outside_of_the_package_stay_in_memory(folders: CacheFolders) -> None:
    own = compiled(lambda x: x + 1.0)
    assert own(1.0) == 2.0
    inlined = compiled(inline="always")(lambda x: x + 1.0)
    assert inlined(1.0) == 2.0
    assert folders.folder is None


def _modules() -> Iterator[str]:
    for part in COMPILED_PARTS:
        name = f"headstart.{part.removesuffix('.py')}"
        yield name
        if (PACKAGE / part).is_dir():
            yield from (each.name for each in pkgutil.walk_packages([PACKAGE / part], f"{name}."))


def _names(code: CodeType) -> set[str]:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def test_the_digest_covers_all_that_compiled_functions_use() -> None:
    for name in _modules():
        importlib.import_module(name)
    functions = compiled_functions()
    own = {name: each for name, each in functions.items() if name.startswith("headstart.")}
    assert len(own) > 20
    for name, function in own.items():
        module = inspect.getmodule(function.py_func)
        assert module is not None
        assert module.__name__.split(".")[1] in {
            part.removesuffix(".py") for part in COMPILED_PARTS
        }
        tree = ast.parse(inspect.getsource(module))
        sources = {
            alias.asname or alias.name: node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }
        for used in _names(function.py_func.__code__) & set(sources):
            if sources[used].startswith("headstart"):
                part = f"{sources[used]}.{used}".split(".")[1]
                assert f"{part}" in COMPILED_PARTS or f"{part}.py" in COMPILED_PARTS, (name, used)


def test_no_function_is_compiled_past_the_decorator() -> None:
    files = Path(headstart.__file__).parent.rglob("*.py")
    wrong = [
        file.name
        for file in files
        if file.name != "compilation.py" and "import njit" in file.read_text("utf-8")
    ]
    assert wrong == []


def test_compiled_functions_keep_their_numbers() -> None:
    @compiled
    def total(values: Any) -> float:
        found = 0.0
        for value in values:
            found += value
        return found

    assert total(np.arange(4.0)) == 6.0
