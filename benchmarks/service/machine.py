"""The machine in words: processor, cores, memory, and what a write to its disk costs."""

import os
import platform
import tempfile
import time
from pathlib import Path


def described() -> str:
    """One sentence; no names of hosts, and no paths."""
    return (
        f"{os.cpu_count()} cores ({_processor()}), {_memory_gib():.0f} GiB of memory, "
        f"{platform.system()}, Python {platform.python_version()}; "
        f"a write of 4 KiB with fsync takes {1e3 * fsync_seconds():.2f} ms"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def loop_seconds(n: int = 1_000_000) -> float:
    """The least time of three loops over n additions in Python: how fast a core is just now."""
    times = []
    for _ in range(3):
        begin, total = time.perf_counter(), 0
        for i in range(n):
            total += i
        times.append(time.perf_counter() - begin)
    return min(times)


def fsync_seconds(n: int = 50) -> float:
    """The median time of a write of one page that reaches the disk."""
    times = []
    with tempfile.TemporaryFile() as file:
        for _ in range(n):
            begin = time.perf_counter()
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - begin)
    return sorted(times)[n // 2]
