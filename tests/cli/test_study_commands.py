"""`headstart run` and `headstart reproduce`, from the outside."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr
from tests.studies.tiny import SEQUENCE, TESTED
from typer.testing import CliRunner

from headstart.cli import app
from headstart.studies import runner
from headstart.studies.study import Study

invoke = CliRunner().invoke


def words(text: str) -> str:
    """An error without the box that the terminal draws around it."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


@pytest.mark.parametrize("study", [SEQUENCE, TESTED], ids=lambda study: study.protocol)
def test_run_writes_results_and_a_table(study: Study, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(replace(study, replications=2).to_toml())
    out = tmp_path / "here"
    done = invoke(app, ["run", str(file), "--out", str(out), "--workers", "1"])
    assert done.exit_code == 0, done.output
    assert "RR-OFUL" in done.output
    with xr.open_dataset(out / "results.nc") as results:
        assert results.sizes["replication"] == 2


def test_run_names_what_is_wrong_with_a_study(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(SEQUENCE.to_toml().replace("horizon = 4", "horizon = 0"))
    done = invoke(app, ["run", str(file)])
    assert done.exit_code == 2
    assert "horizon must be an integer of at least 1, got 0" in words(done.output)


def test_run_without_a_file(tmp_path: Path) -> None:
    done = invoke(app, ["run", str(tmp_path / "none.toml")])
    assert done.exit_code == 2
    assert "No such file" in words(done.output)


def test_run_keeps_what_is_done_on_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "play_shard", stop)
    file = tmp_path / "study.toml"
    file.write_text(SEQUENCE.to_toml())
    done = invoke(app, ["run", str(file), "--out", str(tmp_path / "out"), "--workers", "1"])
    assert done.exit_code == 130
    assert "the same command resumes" in words(done.output)


def test_ctrl_c_in_a_terminal_leaves_finished_shards_and_the_same_command_resumes(
    tmp_path: Path,
) -> None:
    study = replace(TESTED, replications=40, shard=1)
    file, out = tmp_path / "study.toml", tmp_path / "out"
    file.write_text(study.to_toml())
    start = [sys.executable, "-c", "from headstart.cli import app; app()"]
    command = [*start, "run", str(file), "--out", str(out)]
    process = subprocess.Popen(
        [*command, "--workers", "2"], stdout=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 300
    while len(list(out.glob("shards/*.nc"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) == 130
    kept = len(list(out.glob("shards/[0-9]*.nc")))
    assert 3 <= kept < 40
    again = runner.run(study, out, workers=1)
    assert again.identical(runner.run(study, tmp_path / "whole", workers=1))


def test_reproduce_refuses_an_unknown_experiment() -> None:
    done = invoke(app, ["reproduce", "figure-five"])
    assert done.exit_code == 2
    assert "'figure-five' is not one of" in words(done.output)


def test_reproduce_hands_non_stochastic_to_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headstart.non_stochastic import report

    asked: dict[str, object] = {}

    def reproduce(out: Path, **settings: object) -> list[object]:
        asked.update(settings, out=out)
        return []

    monkeypatch.setattr(report, "reproduce", reproduce)
    command = ["reproduce", "non-stochastic", "--out", str(tmp_path), "--seed", "7"]
    done = invoke(app, [*command, "--replications", "3", "--workers", "1"])
    assert done.exit_code == 0, done.output
    assert asked.pop("progress") is not None
    assert asked == {
        "out": tmp_path,
        "replications": 3,
        "seed": 7,
        "workers": 1,
        "scheduler": None,
    }
    assert "non-stochastic.html and non-stochastic.md" in done.output


def test_reproduce_without_data_names_the_command_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADSTART_DATA", str(tmp_path))
    asked = ["reproduce", "lastfm", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    done = invoke(app, [*asked, "--workers", "1", "--replications", "2"])
    assert done.exit_code == 2
    assert "headstart data fetch lastfm" in words(done.output)
