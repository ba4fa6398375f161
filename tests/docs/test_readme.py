"""The README's code runs and prints what it shows, and its commands exist."""

import re
from pathlib import Path

import pytest
import typer
from tests.docs import blocks

from headstart.cli import app

pytestmark = pytest.mark.slow

README = Path(__file__).parents[2] / "README.md"


def test_the_code_runs_and_transfer_reduces_regret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcomes = blocks.run(README.read_text(encoding="utf-8"))
    for cell, text in outcomes:
        assert blocks.agree(cell.shown, text, relative=0.05, absolute=0.1), text
    printed = "".join(text for _, text in outcomes)
    regret = {name: float(value) for name, value in re.findall(r"(\S+) +(\d+\.\d+)", printed)}
    # Four learners, 100 replications: the gaps are above ten standard errors.
    assert regret["headstart"] < regret["RR-OFUL"] < regret["AVG-OFUL"] < regret["ITL"]


def test_every_command_it_names_exists() -> None:
    named = set(re.findall(r"[`/]headstart ([a-z]+)\b", README.read_text(encoding="utf-8")))
    known = set(getattr(typer.main.get_command(app), "commands", {}))
    assert named <= known
