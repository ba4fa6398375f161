"""A file is complete or absent."""

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
