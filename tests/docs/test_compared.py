"""The page that compares libraries runs where they are installed, and prints what it shows."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.docs import blocks
from tests.needs import missing

pytestmark = pytest.mark.site

PAGE = "explanation/compared.md"
PYTHON = blocks.DOCS.parent / ".venv-bench" / "bin" / "python"
RUN = f"""
import json, os, sys
from tests.docs import blocks
page = blocks.text_of({PAGE!r})
os.chdir(sys.argv[1])
printed = [text for _, text in blocks.run(page)]
print(json.dumps(printed))
"""


def test_the_libraries_do_what_the_page_shows(tmp_path: Path) -> None:
    if not PYTHON.exists():
        missing("peers", "the other libraries are not installed: make .venv-bench/bench")
    run = subprocess.run(
        [PYTHON, "-W", "ignore", "-c", RUN, tmp_path],
        cwd=blocks.DOCS.parent,
        env={"OPENBLAS_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    cells = blocks.cells(blocks.text_of(PAGE))
    for cell, printed in zip(cells, json.loads(run.stdout.splitlines()[-1]), strict=True):
        # A near-tie that breaks otherwise moves a mean over 1,200 visits by less than one click.
        assert blocks.agree(cell.shown, printed, relative=0.0, absolute=1.0), (cell.shown, printed)
