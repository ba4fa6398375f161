"""The capacity plan of docs/service/operation.md, computed from the figures in service.json.

`python -m benchmarks.service.capacity` writes the table anew, between its two marks.
"""

import json
import math
from pathlib import Path
from typing import Any

FIGURES = Path("benchmarks/service.json")
PAGE = Path("docs/service/operation.md")
_BEGIN, _END = "<!-- capacity: begin -->", "<!-- capacity: end -->"

# The plan's assumptions: decisions per user and day, the busiest second against the mean, the share
# of a process that may be used at that second, and how long decisions are kept.
DECISIONS_PER_DAY = 13.0
PEAK = 3.0
LOAD = 0.5
RETENTION_DAYS = 30.0
DIMENSION = 20

_SECONDS_PER_DAY = 86_400.0
_USERS = (1, 1_000, 100_000, 2_000_000, 10_000_000, 100_000_000)


def plan(figures: dict[str, Any], users: int) -> dict[str, float]:
    """What a number of users needs.

    A decision and its reward are two requests; `pairs` counts requests per second of one process.
    """
    per_second = users * DECISIONS_PER_DAY / _SECONDS_PER_DAY
    peak = 2.0 * PEAK * per_second
    sizes = figures["sizes"][str(DIMENSION)]
    sqlite = figures["rates"]["pairs"]["rows_per_second"]
    shared = figures["postgresql"]["two"]["rows_per_second"] / 2.0
    fits = peak <= LOAD * sqlite
    decisions = min(RETENTION_DAYS * DECISIONS_PER_DAY * users * sizes["decision"], math.inf)
    return {
        "per_second": per_second,
        "peak": peak,
        "sqlite": float(fits),
        "processes": 1.0 if fits else math.ceil(peak / (LOAD * shared)),
        "tasks_bytes": users * sizes["task"],
        "decisions_bytes": decisions,
    }


def table(figures: dict[str, Any]) -> str:
    """Markdown: one row per number of users."""
    lines = [
        "| users | decisions per second | requests per second, peak | store | processes "
        "| tasks on disk | decisions on disk |",
        "|---:|---:|---:|---|---:|---:|---:|",
    ]
    for users in _USERS:
        found = plan(figures, users)
        store = "SQLite" if found["sqlite"] else "PostgreSQL"
        lines.append(
            f"| {users:,} | {_number(found['per_second'])} | {_number(found['peak'])} | {store} | "
            f"{found['processes']:,.0f} | {_bytes(found['tasks_bytes'])} | "
            f"{_bytes(found['decisions_bytes'])} |"
        )
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _bytes(value: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def main() -> None:
    """Write the table into the page."""
    figures, text = json.loads(FIGURES.read_text()), PAGE.read_text()
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    PAGE.write_text(f"{before}{_BEGIN}\n{table(figures)}\n{_END}{after}")


if __name__ == "__main__":
    main()
