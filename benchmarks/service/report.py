"""`make bench-service`: measure, keep the figures in service.json, and write service.md.

Parts can be measured one by one: `python -m benchmarks.service.report rates latency`; the page has
the latest figures of each.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.service import machine
from benchmarks.service.page import page
from benchmarks.service.parts import PARTS

FIGURES = Path("benchmarks/service.json")
PAGE = Path("benchmarks/service.md")


def main() -> None:
    """Measure parts, all unless some are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help=", ".join(PARTS))
    parser.add_argument("--peers", default=sys.executable, help="a Python with vowpalwabbit")
    given = parser.parse_args()
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    for name in given.parts or PARTS:
        print(f"{name} …", flush=True)
        load, loop = os.getloadavg()[0], machine.loop_seconds()
        with tempfile.TemporaryDirectory(prefix="headstart-bench-") as folder:
            figures[name] = PARTS[name](Path(folder), given.peers)
        figures["machine"] = machine.described()
        figures.setdefault("load", {})[name] = round(load, 1)
        figures.setdefault("loop_ms", {})[name] = round(1e3 * loop)
        print(f"  {json.dumps(figures[name])}", flush=True)
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
        PAGE.write_text(page(figures))


if __name__ == "__main__":
    main()
