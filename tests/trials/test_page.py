"""The page: in the terminal, as HTML and as JSON."""

import json
from pathlib import Path

import pandas as pd
import pytest
from benchmarks.trial_logs import MADE
from typer.testing import CliRunner

import headstart as hs
from headstart.cli import app


@pytest.fixture(scope="module")
def log() -> pd.DataFrame:
    return MADE["two directions"]().log.query("user < 'u2'")


def _run(*words: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["trial", *words])
    return found.exit_code, found.output


OPTIONS = ("--task", "user", "--item", "sku", "--propensity", "propensity")


def test_the_command_says_what_the_call_says(log: pd.DataFrame, tmp_path: Path) -> None:
    file, page = tmp_path / "log.csv", tmp_path / "page.html"
    log.to_csv(file, index=False)
    found = hs.trial(file, task="user", item="sku", propensity="propensity")
    code, shown = _run(str(file), *OPTIONS, "--out", str(page))
    assert code == 0
    assert shown == f"{found}\n\nPage: {page}\n"
    assert shown.startswith(f"{found.verdict}\n")
    assert page.read_text().count("data:image/svg+xml") == 2
    code, printed = _run(str(file), *OPTIONS, "--json")
    assert code == 0
    assert json.loads(printed) == json.loads(json.dumps(found.record()))


def test_the_lines_to_start_with_run(log: pd.DataFrame) -> None:
    found = hs.trial(log, task="user", item="sku", leave_out=["propensity"])
    names = {
        "log": log,
        "user": "new",
        "items": {
            row["sku"]: {name: row[name] for name in ("price", "size", "brand")}
            for row in log.drop_duplicates("sku").to_dict("records")
        },
        "context": None,
    }
    exec(found.code, names)
    decision = names["decision"]
    assert isinstance(decision, hs.Decision)
    assert decision.arm in set(log["sku"])


def test_a_refusal_is_one_sentence_everywhere(tmp_path: Path) -> None:
    file, page = tmp_path / "log.csv", tmp_path / "page.html"
    pd.DataFrame({"task": [1, 2], "reward": [0, 1], "x": [1, 2]}).to_csv(file, index=False)
    code, shown = _run(str(file), "--out", str(page))
    assert code == 0
    assert shown.startswith("This log cannot tell, because it has 2 rewards")
    assert "<img" not in page.read_text()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("nowhere.csv",), "nowhere.csv"),
        (("--out", "page.pdf"), "ends in .html"),
        (("--task", "nobody"), "'nobody'"),
        (("--leave-out", "nothing"), "'nothing'"),
    ],
)
def test_wrong_words_are_named(words: tuple[str, ...], error: str, tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    pd.DataFrame({"task": [1, 2], "reward": [0, 1]}).to_csv(file, index=False)
    given = words if words[0].endswith(".csv") else (str(file), *words)
    code, shown = _run(*given)
    assert code == 2
    assert error in shown.replace("\n", " ")
