"""The studies of the how-to pages run from the pages alone, and give what they show."""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.blocks import agree, fences, text_of
from typer.testing import CliRunner

from headstart.cli import app

pytestmark = pytest.mark.site

STUDY, POLICY = text_of("how-to/run-a-study.md"), text_of("how-to/own-policy.md")
REPORT, AGENT = text_of("how-to/report-and-diagnose.md"), text_of("how-to/own-agent.md")
invoke = CliRunner().invoke


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files of the pages, as a reader would save them."""
    (first,), (second,) = fences(STUDY, "toml"), fences(POLICY, "toml")
    own, *_ = fences(POLICY, "python")
    for name, text in {"study.toml": first, "exploration.toml": second, "own.py": own}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    yield tmp_path
    sys.modules.pop("own", None)


def test_the_first_study_prints_the_table_of_the_page(folder: Path) -> None:
    done = invoke(app, ["run", "study.toml", "--workers", "1"])
    assert done.exit_code == 0, done.output
    (shown,) = fences(STUDY, "text")
    printed = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    table = printed[: printed.index("\n\n±")] + "\n"
    # Another machine's BLAS may break a near-tie otherwise, and so move a mean a little.
    assert agree(shown, table, relative=0.05, absolute=0.06), table
    assert (folder / "out" / "warm-or-cold" / "regret.png").exists()


def test_the_commands_of_the_next_page_run_on_the_first_study(folder: Path) -> None:
    assert invoke(app, ["run", "study.toml", "--workers", "1"]).exit_code == 0
    commands = re.findall(r"^    headstart ((?:report|diagnose) .*)$", REPORT, flags=re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["report", "diagnose"]
    outputs = []
    for command in commands:
        done = invoke(app, command.split())
        assert done.exit_code == 0, done.output
        outputs.append("\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n")
    (shown,) = fences(REPORT, "text")
    assert agree(shown, outputs[1], relative=0.05, absolute=0.06), outputs[1]
    for name in re.findall(r"`(out/warm-or-cold/\w+)`", REPORT):
        assert (folder / name).is_dir()


def test_the_study_of_an_agent_of_ones_own_runs(folder: Path) -> None:
    (study,), (own, *_) = fences(AGENT, "toml"), fences(AGENT, "python")
    (folder / "agents.toml").write_text(study.replace("replications = 40", "replications = 2"))
    (folder / "exp3.py").write_text(own)
    done = invoke(app, ["run", "agents.toml", "--workers", "1"])
    sys.modules.pop("exp3", None)
    assert done.exit_code == 0, done.output
    assert "EXP3" in done.stdout


def test_the_page_on_ratings_says_how_columns_are_named() -> None:
    text = text_of("how-to/own-ratings.md")
    assert all(f"`{name}=`" in text for name in ("user", "item", "rating"))


def test_the_second_study_has_a_policy_of_its_own_and_says_when_that_changed(folder: Path) -> None:
    asked = ["run", "exploration.toml", "--workers", "1"]
    done = invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "over 10 tasks of 30 rounds" in done.stdout
    own = folder / "own.py"
    own.write_text(own.read_text().replace("epsilon: float = 0.1", "epsilon: float = 0.2"))
    again = invoke(app, asked)
    shown = re.findall(r"^own.py changed .*$", POLICY, flags=re.MULTILINE)
    assert shown
    assert [line.strip() for line in again.stderr.splitlines() if "changed" in line] == shown


def test_every_key_of_a_study_is_on_the_page() -> None:
    from dataclasses import fields

    from headstart.studies.study import Study

    text = text_of("reference/study-files.md")
    named = {f.name for f in fields(Study)} - {"folder"}
    assert not {name for name in named if f"`{name}`" not in text}


def test_the_studies_are_toml() -> None:
    for text in fences(STUDY, "toml") + fences(POLICY, "toml"):
        assert tomllib.loads(text)["learners"]
