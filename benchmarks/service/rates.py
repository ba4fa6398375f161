"""Requests per second, by wrk: a load generator in C that waits for every answer."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.service.load import PATH
from benchmarks.service.process import Process

_SCRIPT = Path(__file__).with_name("wrk.lua")


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Rows per second that were acknowledged, and the seconds that a request took."""

    rows_per_second: float
    p50: float
    p99: float


def measured(
    processes: Sequence[Process],
    kind: str,
    *,
    connections: int = 64,
    rows: int = 1,
    n_tasks: int = 10_000,
    seconds: int = 10,
) -> Rate:
    """The rate of all processes together, each loaded by its share of the connections."""
    if shutil.which("wrk") is None:
        raise RuntimeError("wrk must be installed, got none on the path")
    share = connections // len(processes)
    command = ["wrk", "--threads=1", f"--connections={share}", f"--duration={seconds}s"]
    command += ["--timeout=20s", f"--script={_SCRIPT}"]
    running = [
        subprocess.Popen(
            [*command, f"http://127.0.0.1:{each.port}", "--", PATH, kind, str(n_tasks), str(rows)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for each in processes
    ]
    results = [_result(each.communicate()[0]) for each in running]
    return Rate(
        rows_per_second=rows * sum(each["requests"] / each["seconds"] for each in results),
        p50=max(each["p50"] for each in results),
        p99=max(each["p99"] for each in results),
    )


def _result(output: str) -> dict[str, float]:
    lines = [line for line in output.splitlines() if line.startswith("RESULT ")]
    if not lines:
        raise RuntimeError(f"wrk must print a result, got {output[-2000:]}")
    result: dict[str, float] = json.loads(lines[0].removeprefix("RESULT "))
    if result["errors"]:
        raise RuntimeError(f"every request must be answered with 200, got {result}")
    return result
