"""A full disk: a small file system in memory where that is allowed, or a limit on file sizes."""

import resource
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.service.process import Process


@contextmanager
def limited(processes: Sequence[Process], store: Path) -> Iterator[None]:
    """No file of the processes grows; what was written before can be written over."""
    log = store.with_name(store.name + "-wal")
    size = max(each.stat().st_size for each in (store, log) if each.exists())
    for each in processes:
        resource.prlimit(each.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        for each in processes:
            unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(each.pid, resource.RLIMIT_FSIZE, unlimited)


class SmallDisk:
    """A file system of some megabytes in memory; root only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def mount(self, megabytes: int) -> bool:
        """Mount it; whether that was possible."""
        self.folder.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(self.folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    @contextmanager
    def full(self) -> Iterator[None]:
        """Fill what is left of it, and empty that again."""
        filler = self.folder / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
        try:
            yield
        finally:
            filler.unlink()

    def unmount(self) -> None:
        """Remove it."""
        subprocess.run(["umount", str(self.folder)], check=True)
