"""A file is complete or absent."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headstart.atomic import atomic_write


def test_a_complete_file_takes_the_place(tmp_path: Path) -> None:
    target = tmp_path / "new" / "deep" / "it.txt"
    with atomic_write(target) as temporary:
        temporary.write_text("complete")
        assert not target.exists()
        # In the same folder, so that the file system can rename it in one step.
        assert temporary.parent == target.parent
    assert target.read_text() == "complete"
    assert list(target.parent.iterdir()) == [target]
    assert target.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("stop", [RuntimeError, KeyboardInterrupt])
def test_an_interrupted_file_leaves_the_old_one(tmp_path: Path, stop: type[BaseException]) -> None:
    target = tmp_path / "it.txt"
    target.write_text("old")

    def write_half() -> None:
        with atomic_write(target) as temporary:
            temporary.write_text("half")
            raise stop

    with pytest.raises(stop):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_an_interrupted_first_file_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), atomic_write(tmp_path / "it.txt"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


_WRITER = """
import sys, time
from pathlib import Path
from headstart.atomic import atomic_write
with atomic_write(Path(sys.argv[1])) as part, part.open("wb") as file:
    file.write(b"x" * 100_000)
    file.flush()
    print("writing", flush=True)
    time.sleep(600)
"""


@contextmanager
def writing(target: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of a write; killed at the end."""
    command = [sys.executable, "-c", _WRITER, str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        yield process
        process.kill()


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob(".*.part"))


def test_the_part_of_a_killed_process_is_removed_a_day_later(tmp_path: Path) -> None:
    target = tmp_path / "it.txt"
    target.write_text("old")
    with writing(target):
        pass
    assert target.read_text() == "old"
    (left,) = parts(tmp_path)
    with writing(target), atomic_write(tmp_path / "other.txt"):
        assert len(parts(tmp_path)) == 3
    day_before = time.time() - 25 * 3600
    os.utime(left, (day_before, day_before))
    with atomic_write(target) as temporary:
        temporary.write_text("new")
    assert target.read_text() == "new"
    assert len(parts(tmp_path)) == 1
    assert not left.exists()


@pytest.mark.parametrize(
    ("umask", "mode", "expected"),
    [(0o022, 0o644, 0o644), (0o077, 0o644, 0o600), (0o022, 0o600, 0o600), (0o002, 0o664, 0o664)],
)
def test_a_new_file_has_its_mode_from_the_start(
    tmp_path: Path, umask: int, mode: int, expected: int
) -> None:
    target = tmp_path / "it.txt"
    before = os.umask(umask)
    try:
        with atomic_write(target, mode=mode) as temporary:
            assert temporary.stat().st_mode & 0o777 == expected
            temporary.write_text("private")
    finally:
        os.umask(before)
    assert target.stat().st_mode & 0o777 == expected


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    target = tmp_path / "it.txt"
    for mode in (0o600, 0o660, 0o644):
        target.write_text("old")
        target.chmod(mode)
        with atomic_write(target, mode=0o600) as temporary:
            temporary.write_text("new")
        assert target.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("dangling", [False, True])
def test_a_symbolic_link_stays_one(tmp_path: Path, dangling: bool) -> None:
    behind, link = tmp_path / "behind" / "it.txt", tmp_path / "link.txt"
    link.symlink_to(behind)
    if not dangling:
        behind.parent.mkdir()
        behind.write_text("old")
    with atomic_write(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert behind.read_text() == "new"
    assert list(behind.parent.iterdir()) == [behind]


def test_only_files_are_replaced(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="exists and is not a file"), atomic_write(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_names_as_long_as_the_system_allows(tmp_path: Path) -> None:
    for name in ("x" * 255, "é" * 127):
        with atomic_write(tmp_path / name) as temporary:
            temporary.write_text("complete")
        assert (tmp_path / name).read_text() == "complete"
