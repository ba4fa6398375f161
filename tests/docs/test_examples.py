"""The examples run as they stand, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs import blocks

pytestmark = pytest.mark.slow

EXAMPLES = sorted((blocks.DOCS.parent / "examples").glob("*.py"))


def _run(name: str, folder: Path) -> str:
    (script,) = (path for path in EXAMPLES if path.name == name)
    command = [sys.executable, str(script)]
    environment = os.environ | {"MPLBACKEND": "agg"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_warm_start_earns_more(tmp_path: Path) -> None:
    printed = _run("decide_and_reward.py", tmp_path)
    zero, warm = (float(number) for number in re.findall(r"first visit (-?\d+\.\d+)", printed))
    # From zero the first article is one at random, worth 0 ± 0.07; the best one is worth about 1.
    assert warm > zero + 0.3


def test_a_log_becomes_a_bandit_that_explains(tmp_path: Path) -> None:
    assert "price" in _run("log_to_decisions.py", tmp_path)
    assert (tmp_path / "shop.npz").exists()


def test_learners_are_compared_and_drawn(tmp_path: Path) -> None:
    printed = _run("compare_learners.py", tmp_path)
    regret = {name: float(value) for name, value in re.findall(r"(\S+) +(\d+\.\d+)", printed)}
    assert regret["headstart"] < regret["ITL"]
    assert (tmp_path / "regret.png").exists()


def test_every_example_has_a_test() -> None:
    tested = re.findall(r'_run\("(\w+\.py)"', Path(__file__).read_text(encoding="utf-8"))
    assert sorted(tested) == [path.name for path in EXAMPLES]
