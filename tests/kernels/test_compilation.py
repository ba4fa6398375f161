"""The decorator of compiled functions: what it keeps, where, when that is used again."""

import ast
import importlib
import inspect
import os
import pkgutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import numba
import numpy as np
import pytest

import headstart
from headstart.kernels import compilation
from headstart.kernels.compilation import (
    COMPILED_PARTS,
    PACKAGE,
    VARIABLE,
    Cache,
    CompilationCacheWarning,
    CompilationRefused,
    cache_folder,
    cache_roots,
    compiled,
    compiled_functions,
    no_compilation,
    source_digest,
)


def _double(x: float) -> float:
    return 2.0 * x


def _forget() -> None:
    for cached in (cache_folder, source_digest, compilation._warn):
        cached.cache_clear()


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What this process found out about folders is found out again, before and after."""
    _forget()
    yield
    monkeypatch.undo()
    _forget()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def _new() -> Any:
    """A new dispatcher of the same function, as a new process has it."""
    dispatcher: Any = numba.njit(_double)
    dispatcher._cache = Cache(_double)
    return dispatcher


def _compiles(dispatcher: Any) -> int:
    return sum(dispatcher.stats.cache_misses.values())


def _codes(root: Path) -> list[Path]:
    return sorted(root.rglob("*.nbc"))


def _blocked(path: Path) -> Path:
    """A path that no user can make a folder of, root included."""
    path.write_text("a file")
    return path / "below"


def test_machine_code_is_kept_per_argument_type(root: Path) -> None:
    first = _new()
    assert first(1.5) == 3.0
    assert first(2) == 4.0
    assert _compiles(first) == 2
    second = _new()
    assert second(1.5) == 3.0
    assert second(2) == 4.0
    assert _compiles(second) == 0
    assert len(_codes(root)) == 2


def test_code_of_other_sources_is_not_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _new()(1.5)
    monkeypatch.setitem(compilation._sources, PACKAGE / "arrays.py", b"edited")
    _forget()
    edited = _new()
    assert edited(1.5) == 3.0
    assert _compiles(edited) == 1
    monkeypatch.undo()
    monkeypatch.setenv(VARIABLE, str(root))
    _forget()
    again = _new()
    again(1.5)
    assert _compiles(again) == 0


@pytest.mark.parametrize("suffix", ["nbc", "nbi"])
@pytest.mark.parametrize("kept", [0, 20])
def test_a_damaged_file_is_compiled_again(suffix: str, kept: int, root: Path) -> None:
    _new()(1.5)
    (file,) = root.rglob(f"*.{suffix}")
    file.write_bytes(file.read_bytes()[:kept])
    again = _new()
    assert again(1.5) == 3.0
    assert _compiles(again) == 1
    final = _new()
    final(1.5)
    assert _compiles(final) == 0


def test_compiling_can_be_refused(root: Path) -> None:
    with no_compilation(), pytest.raises(CompilationRefused, match="_double is not compiled"):
        _new()(1.5)
    _new()(1.5)
    with no_compilation():
        assert _new()(1.5) == 3.0


def test_every_part_of_the_sources_is_in_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    before = source_digest()
    for part in COMPILED_PARTS:
        path = PACKAGE / part
        file = path if path.is_file() else next(iter(sorted(path.rglob("*.py"))))
        with monkeypatch.context() as patch:
            patch.setitem(compilation._sources, file, b"edited")
            source_digest.cache_clear()
            assert source_digest() != before, part
        source_digest.cache_clear()
    assert source_digest() == before


def test_old_sources_leave_a_bounded_number_of_folders(root: Path) -> None:
    root.mkdir()
    for i in range(9):
        (root / f"compiled-{i}").mkdir()
        os.utime(root / f"compiled-{i}", (i, i))
    (root / "of another program").mkdir()
    folder = cache_folder()
    assert folder is not None
    left = {path.name for path in root.iterdir()}
    assert left == {folder.name, "of another program", *(f"compiled-{i}" for i in (6, 7, 8))}


@pytest.mark.parametrize(
    ("unset", "order"),
    [
        ([], ["named", "temporary"]),
        ([VARIABLE], ["numba", "package", "user", "temporary"]),
        ([VARIABLE, "NUMBA_CACHE_DIR"], ["package", "user", "temporary"]),
    ],
)
def test_folders_are_tried_from_the_named_to_the_temporary(
    unset: list[str], order: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, folder in {
        VARIABLE: "named",
        "NUMBA_CACHE_DIR": "numba",
        "XDG_CACHE_HOME": "user",
    }.items():
        monkeypatch.setenv(name, str(tmp_path / folder))
    for name in unset:
        monkeypatch.delenv(name)
    monkeypatch.setattr(compilation, "PACKAGE", tmp_path / "package")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert [path.relative_to(tmp_path).parts[0] for path in cache_roots()] == order


def test_where_nothing_lasting_can_be_written_one_warning_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(_blocked(tmp_path / "file")))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    first = _new()
    with pytest.warns(CompilationCacheWarning, match=VARIABLE):
        first(1.5)
    first(2)  # warnings are errors here, and this makes none
    second = _new()
    second(1.5)
    assert _compiles(second) == 0


def test_where_nothing_at_all_can_be_written_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(_blocked(tmp_path / "one")))
    monkeypatch.setattr(tempfile, "tempdir", str(_blocked(tmp_path / "two")))
    assert cache_folder() is None
    with pytest.warns(CompilationCacheWarning, match="memory"):
        assert _new()(1.5) == 3.0


@pytest.mark.skipif(os.name == "nt", reason="folders have no owner there")
@pytest.mark.parametrize("unsafe", ["owner", "mode", "link"])
def test_code_of_other_users_is_not_run(
    unsafe: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    _new()(1.5)
    (folder,) = root.iterdir()
    if unsafe == "owner" and os.getuid() == 0:
        os.chown(folder, 54321, 54321)
    elif unsafe == "owner":
        monkeypatch.setattr(os, "getuid", lambda: 54321)
    elif unsafe == "mode":
        folder.chmod(0o777)
    else:
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
    _forget()
    assert cache_folder() != folder


def test_functions_outside_of_the_package_stay_in_memory(root: Path) -> None:
    own = compiled(lambda x: x + 1.0)
    assert own(1.0) == 2.0
    inlined = compiled(inline="always")(lambda x: x + 1.0)
    assert inlined(1.0) == 2.0
    assert _codes(root) == []


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
