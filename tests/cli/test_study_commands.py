"""`headstart run` and `headstart reproduce`, from the outside."""

import io
import json
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
from rich.console import Console
from tests.studies.tiny import SEQUENCE, TESTED
from typer.testing import CliRunner

from headstart.cli import app
from headstart.cli.output import progress_bar
from headstart.studies import runner
from headstart.studies.folder import StudyFolder
from headstart.studies.results import at_best, totals
from headstart.studies.study import Study

pytestmark = pytest.mark.slow

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


def test_the_table_names_n_and_pairs_and_fits_80_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = [replace(one, name=f"{one.name} of a long name") for one in TESTED.learners[1:]]
    grid = tuple(10.0**k for k in range(-3, 4))
    study = replace(TESTED, replications=4, learners=tuple(names), regularization=grid)
    file = tmp_path / "study.toml"
    file.write_text(study.to_toml())
    asked = ["run", str(file), "--out", str(tmp_path / "out"), "--workers", "1"]
    done = invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "after N = 2 training tasks" in words(done.stdout)
    assert "For N = 0: --trained." in words(done.stdout)
    assert "Holm's correction" in words(done.stdout)
    assert "…" not in done.stdout
    lines = [line for line in done.stdout.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 80
    for name in names:
        # A long name takes several lines; its first word is whole.
        assert f"\n {name.name.split()[0]} " in done.stdout
    assert (tmp_path / "out" / "regret.png").read_bytes().startswith(b"\x89PNG")
    assert "after N = 0 training" in words(invoke(app, [*asked, "--trained", "0"]).stdout)


def test_run_prints_json_or_nothing(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(replace(SEQUENCE, replications=4).to_toml())
    asked = ["run", str(file), "--out", str(tmp_path / "out"), "--workers", "1"]
    done = invoke(app, [*asked, "--quiet"])
    assert (done.exit_code, done.output) == (0, "")
    found = json.loads(invoke(app, [*asked, "--json", "--reference", "Oracle"]).stdout)
    assert found["reference"] == "Oracle"
    assert found["trained"] is None
    assert [one["learner"] for one in found["learners"]] == [
        "OPT",
        "Oracle",
        "AVG-OFUL",
        "RR-OFUL",
        "ITL",
    ]
    first = found["comparisons"][0]
    assert (first["learner"], first["reference"]) == ("AVG-OFUL", "Oracle")
    with xr.open_dataset(tmp_path / "out" / "results.nc") as results:
        best = at_best(totals(results)).mean("replication")
        expected = float(best.sel(learner="AVG-OFUL") - best.sel(learner="Oracle"))
    assert first["difference"]["mean"] == pytest.approx(expected)
    assert 0 <= first["p_value"] <= first["corrected"] <= 1
    wrong = invoke(app, [*asked, "--reference", "nothing"])
    assert wrong.exit_code == 2
    assert "reference must be one of AVG-OFUL, ITL, Oracle, RR-OFUL" in words(wrong.output)


def test_one_replication_has_no_error_and_no_nan(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(replace(SEQUENCE, replications=1).to_toml())
    done = invoke(app, ["run", str(file), "--out", str(tmp_path / "out"), "--workers", "1"])
    assert done.exit_code == 0, done.output
    assert "nan" not in done.output
    assert "inf" not in done.output
    assert "(1 replication)" in words(done.output)


def test_run_says_what_changed_and_what_is_played_again(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    small = replace(SEQUENCE, replications=2)
    file.write_text(small.to_toml())
    asked = ["run", str(file), "--out", str(tmp_path / "out"), "--workers", "1"]
    assert "new" not in words(invoke(app, asked).stderr)
    file.write_text(replace(small, replications=4).to_toml())
    assert "OPT: 1 of 2 parts are played." in words(invoke(app, asked).stderr)


def test_a_file_in_the_place_of_the_folder_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(SEQUENCE.to_toml())
    done = invoke(app, ["run", str(file), "--out", str(file)])
    assert done.exit_code == 2
    assert "cannot be a folder for results" in words(done.output)


def test_the_total_of_a_progress_bar_is_known_from_the_start() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with progress_bar(console) as tell:
        tell(0, 560_000)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "0 of 560 thousand rounds" in shown
    assert "?" not in re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", shown)


def test_output_that_is_not_a_terminal_has_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headstart.cli.output._LINE_SECONDS", 0.02)
    console = Console(file=io.StringIO(), width=120)
    with progress_bar(console) as tell:
        tell(0, 560_000)
        tell(1_000, 560_000)
        time.sleep(0.5)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[0] == "playing: 0 of 560 thousand rounds after 0:00"
    # Also while nothing is finished.
    assert len(lines) > 3
    assert set(lines[1:]) <= {
        f"playing: 1 thousand of 560 thousand rounds after 0:0{s}" for s in (0, 1)
    }
    quiet = Console(file=io.StringIO(), quiet=True)
    with progress_bar(quiet) as tell:
        tell(0, 560_000)
    assert quiet.file.getvalue() == ""  # type: ignore[attr-defined]


def test_run_names_what_is_wrong_with_a_study(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(SEQUENCE.to_toml().replace("horizon = 4", "horizon = 0"))
    done = invoke(app, ["run", str(file)])
    assert done.exit_code == 2
    # In one sentence, without "Invalid value" before it.
    assert "Error: " + f"{file}: horizon must be an integer of at least 1, got 0" in words(
        done.output
    )


def test_run_plays_a_sweep(tmp_path: Path) -> None:
    file, out = tmp_path / "study.toml", tmp_path / "out"
    small = replace(SEQUENCE, replications=2, learners=SEQUENCE.learners[3:])
    file.write_text(small.to_toml() + "[sweep]\nnoise_scale = [0.1, 2.0]\n")
    done = invoke(app, ["run", str(file), "--out", str(out), "--workers", "1", "--json"])
    shown = json.loads(done.stdout)
    names = [f"tiny, noise_scale={value}" for value in (0.1, 2.0)]
    assert [one["study"] for one in shown] == names
    for one, name in zip(shown, names, strict=True):
        (alone,) = small.over({"noise_scale": [float(name.partition("=")[2])]})
        played = runner.run(alone, tmp_path / "alone" / name, workers=1)
        assert played.equals(StudyFolder(out / name).load())
        assert one["results"] == str(out / name / "results.nc")


def test_run_without_a_file(tmp_path: Path) -> None:
    done = invoke(app, ["run", str(tmp_path / "none.toml")])
    assert done.exit_code == 2
    assert "No such file" in words(done.output)


def test_run_keeps_what_is_done_on_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "play_agents", stop)
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
    agents = len(study.agents())
    while len(list(out.glob("pieces/*/*.npz"))) < 3 * agents and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) == 130
    kept = len(list(out.glob("pieces/*/*.npz")))
    assert 3 * agents <= kept < 40 * agents
    again = runner.run(study, out, workers=1)
    assert again.identical(runner.run(study, tmp_path / "whole", workers=1))


def test_reproduce_refuses_an_unknown_experiment() -> None:
    done = invoke(app, ["reproduce", "figure-five"])
    assert done.exit_code == 2
    assert "'figure-five' is not one of" in words(done.output)


def test_reproduce_without_data_names_the_command_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADSTART_DATA", str(tmp_path))
    asked = ["reproduce", "lastfm", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    done = invoke(app, [*asked, "--workers", "1", "--replications", "2"])
    assert done.exit_code == 2
    assert "headstart data fetch lastfm" in words(done.output)


def test_diagnose_prints_json_or_nothing_and_refuses_with_a_sentence(tmp_path: Path) -> None:
    study = replace(SEQUENCE, replications=4)
    runner.run(study, tmp_path / "out", workers=1)
    asked = ["diagnose", str(tmp_path / "out"), "--out", str(tmp_path / "page")]
    done = invoke(app, [*asked, "--quiet"])
    assert (done.exit_code, done.output) == (0, "")
    found = json.loads(invoke(app, [*asked, "--json"]).stdout)
    assert found["page"] == str(tmp_path / "page" / "diagnosis.md")
    # Each of its learners has a policy of its own.
    assert found["warm_start"]["about"] == "PoliciesDiffer"
    assert found["warm_start"]["cold"] == "ITL"
    assert {found["best"]["best"], found["best"]["second"]} == {"AVG-OFUL", "RR-OFUL"}
    (tmp_path / "study.toml").write_text(study.to_toml())
    refused = invoke(app, ["diagnose", str(tmp_path / "study.toml")])
    assert refused.exit_code == 2
    assert "first `headstart run" in words(refused.output)
    assert "http" not in refused.output
    blocked = invoke(app, [*asked[:-1], str(tmp_path / "study.toml")])
    assert blocked.exit_code == 2
    assert "study.toml cannot be a folder for results" in words(blocked.output)


def test_diagnoses_of_two_studies_lie_in_their_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    same = replace(SEQUENCE.learners[2], policy=SEQUENCE.learners[-1].policy)
    study = replace(SEQUENCE, replications=2, learners=(same, SEQUENCE.learners[-1]))
    for name in ("one", "two"):
        runner.run(study, Path("out") / name, workers=1)
    for asked in ("out/one", "out/two/results.nc"):
        done = invoke(app, ["diagnose", asked])
        assert done.exit_code == 0, done.output
        # Such as "A warm start reduces regret: AVG-OFUL at λ = 0.5 against ITL at λ = 2."
        assert re.search(
            r"regret.*: AVG-OFUL at λ = [\d.]+ against ITL at λ = ", words(done.stdout)
        )
    assert sorted(path.parent.as_posix() for path in Path("out").rglob("diagnosis.md")) == [
        "out/one/diagnosis",
        "out/two/diagnosis",
    ]


def test_a_value_has_the_decimals_of_its_error(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(replace(SEQUENCE, replications=5).to_toml())
    done = invoke(app, ["run", str(file), "--out", str(tmp_path / "out"), "--workers", "1"])
    pairs = re.findall(r"([−\d.]+) ± ([\d.]+)", done.stdout)
    spans = re.findall(r"([−\d.]+) \[([−\d.]+), ([−\d.]+)\]", done.stdout)
    assert len(pairs) == 5
    assert len(spans) == 3
    for numbers in (*pairs, *spans):
        assert len({len(number.partition(".")[2]) for number in numbers}) == 1, numbers
    assert "minus ITL's" in done.stdout


def test_report_writes_documents_and_prints_json(tmp_path: Path) -> None:
    file, out = tmp_path / "study.toml", tmp_path / "out"
    file.write_text(SEQUENCE.to_toml())
    assert invoke(app, ["run", str(file), "--out", str(out), "--workers", "1"]).exit_code == 0
    done = invoke(app, ["report", str(out), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [Path(path).suffix for path in found["documents"]] == [".md", ".html"]
    assert all(Path(path).is_file() for path in found["documents"])
    assert {row["reference"] for row in found["tables"]["paired-best"]} == {"ITL"}
    assert invoke(app, ["report", str(out), "--quiet"]).output == ""


def test_report_refuses_what_is_no_study(tmp_path: Path) -> None:
    done = invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 2
    assert "is not the folder of a finished study" in words(done.output)
