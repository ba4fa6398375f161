"""Where compiled code is kept: order, safety, and what happens where nothing can be written."""

import os
import stat
import tempfile
import warnings
from pathlib import Path

import pytest

from headstart.kernels.cache import (
    CacheFolders,
    CompilationCacheWarning,
    Root,
    default_roots,
)

PACKAGE = Path("/")  # owned by root, who is trusted


def _folders(*paths: Path, digest: str = "one", package: Path = PACKAGE) -> CacheFolders:
    roots = [Root(path=path) for path in paths]
    return CacheFolders(package=package, digest=digest, roots=roots)


def _blocked(path: Path) -> Path:
    """A path that no user can make a folder of, root included."""
    path.write_text("a file")
    return path / "below"


def _contents(folders: CacheFolders, name: str = "f.nbc") -> list[bytes]:
    return list(folders.read(name))


@pytest.mark.parametrize(
    ("unset", "order"),
    [
        ([], ["named", "temporary"]),
        (["HEADSTART_CACHE"], ["numba", "package", "user", "temporary"]),
        (["HEADSTART_CACHE", "NUMBA_CACHE_DIR"], ["package", "user", "temporary"]),
    ],
)
def test_folders_are_tried_from_the_named_to_the_temporary(
    unset: list[str], order: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, folder in {
        "HEADSTART_CACHE": "named",
        "NUMBA_CACHE_DIR": "numba",
        "XDG_CACHE_HOME": "user",
        "LOCALAPPDATA": "user",
    }.items():
        monkeypatch.setenv(name, str(tmp_path / folder))
    for name in unset:
        monkeypatch.delenv(name)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    roots = default_roots(tmp_path / "package")
    assert [root.path.relative_to(tmp_path).parts[0] for root in roots] == order
    assert [root.path for root in roots if not root.lasting] == [roots[-1].path]
    assert all(
        root.private == (folder in {"user", "temporary"})
        for root, folder in zip(roots, order, strict=True)
    )


def test_no_home_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def no_home() -> Path:
        raise RuntimeError("no home")

    for name in ("HEADSTART_CACHE", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert [root.path.parent for root in default_roots(tmp_path / "p")] == [
        tmp_path / "p",
        tmp_path,
    ]


def test_what_is_written_is_read_by_the_same_sources_alone(tmp_path: Path) -> None:
    folders = _folders(tmp_path)
    assert _contents(folders) == []
    folders.write("f.nbc", b"first")
    folders.write("f.nbc", b"second")
    assert _contents(_folders(tmp_path)) == [b"second"]
    assert _contents(_folders(tmp_path, digest="two")) == []
    assert [path.name for path in tmp_path.rglob("*.*")] == ["f.nbc"]


def test_all_folders_are_read_and_the_first_possible_is_written(tmp_path: Path) -> None:
    _folders(tmp_path / "b").write("f.nbc", b"b")
    both = _folders(_blocked(tmp_path / "file"), tmp_path / "a", tmp_path / "b")
    assert _contents(both) == [b"b"]
    both.write("g.nbc", b"a")
    assert both.folder is not None
    assert both.folder.parent == tmp_path / "a"


def test_old_sources_leave_a_bounded_number_of_folders(tmp_path: Path) -> None:
    for i in range(9):
        _folders(tmp_path, digest=str(i)).write("f.nbc", b"code")
        os.utime(tmp_path / f"compiled-{i}", (i, i))
    (tmp_path / "of another program").mkdir()
    _folders(tmp_path, digest="new").write("f.nbc", b"code")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["compiled-6", "compiled-7", "compiled-8", "compiled-new", "of another program"]


needs_owners = pytest.mark.skipif(os.name == "nt", reason="folders have no owner there")


@needs_owners
def test_private_folders_are_closed_to_others(tmp_path: Path) -> None:
    roots = [Root(path=tmp_path / "cache", private=True)]
    CacheFolders(package=PACKAGE, digest="one", roots=roots).write("f.nbc", b"code")
    for folder in (tmp_path / "cache", tmp_path / "cache" / "compiled-one"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@needs_owners
def test_a_private_folder_that_others_can_write_is_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    roots = [Root(path=tmp_path, private=True)]
    folders = CacheFolders(package=PACKAGE, digest="one", roots=roots)
    with pytest.warns(CompilationCacheWarning, match="other users can write there"):
        folders.write("f.nbc", b"code")
    assert list(tmp_path.iterdir()) == []


@needs_owners
@pytest.mark.parametrize("unsafe", ["owner", "mode", "link"])
def test_code_of_other_users_is_not_read(
    unsafe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _folders(tmp_path / "cache").write("f.nbc", b"code")
    folder = tmp_path / "cache" / "compiled-one"
    if unsafe == "owner" and os.getuid() == 0:
        os.chown(folder, 54321, 54321)
    elif unsafe == "owner":
        monkeypatch.setattr(os, "getuid", lambda: 54321)
    elif unsafe == "mode":
        folder.chmod(0o777)
    else:
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
    folders = _folders(tmp_path / "cache")
    assert _contents(folders) == []
    with pytest.warns(CompilationCacheWarning, match="in memory only"):
        folders.write("f.nbc", b"new code")
    assert (folder / "f.nbc").read_bytes() == b"code"


def test_where_nothing_can_be_written_one_warning_says_why(tmp_path: Path) -> None:
    folders = _folders(_blocked(tmp_path / "one"), _blocked(tmp_path / "two"))
    with pytest.warns(CompilationCacheWarning) as caught:
        folders.write("f.nbc", b"code")
    folders.write("g.nbc", b"code")  # warnings are errors here, and this makes none
    assert len(caught) == 1
    text = str(caught[0].message)
    for words in ("one", "two", "Not a directory", "HEADSTART_CACHE", "headstart compile"):
        assert words in text
    assert folders.folder is None


@pytest.mark.parametrize("lasting", [True, False])
def test_a_temporary_folder_is_used_with_a_warning(lasting: bool, tmp_path: Path) -> None:
    roots = [Root(path=_blocked(tmp_path / "a")), Root(path=tmp_path / "b", lasting=lasting)]
    folders = CacheFolders(package=PACKAGE, digest="one", roots=roots)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        folders.write("f.nbc", b"code")
    assert [each.category for each in caught] == [CompilationCacheWarning] * (not lasting)
    assert _contents(folders) == [b"code"]


def test_a_folder_that_disappears_is_made_again(tmp_path: Path) -> None:
    folders = _folders(tmp_path / "cache")
    folders.write("f.nbc", b"code")
    (tmp_path / "cache" / "compiled-one" / "f.nbc").unlink()
    (tmp_path / "cache" / "compiled-one").rmdir()
    folders.write("f.nbc", b"again")
    assert _contents(folders) == [b"again"]
