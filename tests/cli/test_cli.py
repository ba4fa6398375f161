"""The command line, as a user types it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import headstart
from headstart.cli import app

pytestmark = pytest.mark.slow


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120"})


def test_version() -> None:
    result = _run("--version")
    assert result.exit_code == 0
    assert result.output.strip() == headstart.__version__


def test_help_names_the_commands() -> None:
    for arguments in ((), ("--help",)):
        assert "demo" in _run(*arguments).output


# How a whole file of each format begins and ends.
ENDS = {
    ".png": (b"\x89PNG", b"IEND\xaeB`\x82"),
    ".svg": (b"<?xml", b"</svg>\n"),
    ".pdf": (b"%PDF", b"%%EOF\n"),
}


@pytest.mark.parametrize("suffix", ENDS)
def test_demo_writes_a_table_and_a_figure(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / "new" / f"figure{suffix}"
    result = _run("demo", "--replications", "3", "--seed", "5", "--out", str(target))
    assert result.exit_code == 0, result.output
    head, tail = ENDS[suffix]
    data = target.read_bytes()
    assert data.startswith(head)
    assert data.endswith(tail)
    assert list(target.parent.iterdir()) == [target]
    for name in ("OPT", "Oracle", "AVG-OFUL", "RR-OFUL", "ITL", "headstart"):
        rows = re.findall(
            rf"{name} .*?(\d+\.\d\d ± \d+\.\d\d).*?(\d+\.\d\d ± \d+\.\d\d)", result.output
        )
        assert len(rows) == 2, result.output
    assert "3 replications (seed 5)" in result.output


def test_demo_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    def tables(seed: int) -> list[str]:
        output = str(tmp_path / "figure.png")
        result = _run("demo", "--replications", "2", "--seed", str(seed), "--out", output)
        return re.findall(r"\d+\.\d\d ± \d+\.\d\d", result.output)

    assert tables(1) == tables(1)
    assert tables(1) != tables(2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--out", "figure.jpeg"), (".png", "figure.jpeg")),
        (("--out", "figure"), (".png", "figure")),
        (("--replications", "1"), ("--replications", "2")),
        (("--seed", "-1"), ("--seed", "0")),
        (("--replications", "many"), ("--replications", "integer")),
    ],
)
def test_demo_refuses_bad_options(
    arguments: tuple[str, ...],
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = _run("demo", *arguments)
    assert result.exit_code == 2
    for word in words:
        assert word in result.output, result.output
    assert list(tmp_path.iterdir()) == []


def test_unknown_commands_are_named() -> None:
    result = _run("fly")
    assert result.exit_code == 2
    assert "fly" in result.output


def test_python_runs_the_package() -> None:
    asked = [sys.executable, "-m", "headstart", "--version"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == headstart.__version__


def test_completion_is_offered() -> None:
    assert "--install-completion" in _run("--help").output


@pytest.mark.parametrize("command", ["demo", "bound"])
def test_a_figure_below_a_file_is_refused_before_anything_is_played(
    command: str, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file")
    result = _run(command, "--out", str(tmp_path / "taken" / "figure.png"))
    assert result.exit_code == 2
    assert "is a file" in " ".join(result.output.split())
    assert (tmp_path / "taken").read_text() == "a file"


def test_demo_as_json_and_quiet(tmp_path: Path) -> None:
    asked = ("demo", "--replications", "2", "--out", str(tmp_path / "figure.png"))
    found = json.loads(_run(*asked, "--json", "--quiet").stdout)
    assert [row["learner"] for row in found["linear"]][-2:] == ["ITL", "headstart"]
    assert found["linear"][0]["regret"]["mean"] == 0.0
    assert _run(*asked, "--quiet").output == ""


def test_data_path_as_json(tmp_path: Path) -> None:
    found = json.loads(_run("data", "path", "--data", str(tmp_path), "--json").stdout)
    assert found == {"lastfm": None, "movielens": None}
