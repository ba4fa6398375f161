import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from headstart.cli import app

pytestmark = pytest.mark.slow


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, " ".join(result.output.split())


def test_bound_prints_a_table_and_draws(tmp_path: Path) -> None:
    where = str(tmp_path / "bound.png")
    code, said = run(
        "bound", "--dimension", "2", "--horizon", "100", "--variance", "0.01", "--out", where
    )
    assert code == 0, said
    assert "Lemma 2" in said
    assert "Without any theorem: 200.0" in said
    assert (tmp_path / "bound.png").exists()


def test_the_trivial_bound_is_of_the_longest_task(tmp_path: Path) -> None:
    # S = √0.01 = 0.1 and L = 1, so that no round costs more than 0.2: 10 over 50 rounds.
    asked = ["bound", "--second-moment", "0.01", "--variance", "0.001", "--horizon", "50"]
    where = str(tmp_path / "bound.png")
    code, said = run(*asked, "--out", where)
    assert code == 0, said
    assert "Without any theorem: 10.0" in said
    found = json.loads(CliRunner().invoke(app, [*asked, "--out", where, "--json"]).stdout)
    assert found["trivial"] == pytest.approx(10.0)
    assert found["bounds"][-1]["regularization"] is None
    assert found["bounds"][0]["total"] > 0


def test_bound_refuses_what_cannot_be(tmp_path: Path) -> None:
    code, said = run("bound", "--variance", "2", "--second-moment", "1")
    assert code == 2
    assert "variance must be at most" in said
    code, said = run("bound", "--out", str(tmp_path / "bound.txt"))
    assert code == 2
    assert "must end in" in said


def test_diagnose_plays_writes_and_reads_again(tmp_path: Path) -> None:
    code, said = run("diagnose", "--out", str(tmp_path / "one"), "--replications", "3")
    assert code == 0, said
    assert "warm start" in said
    page = (tmp_path / "one" / "diagnosis.md").read_text(encoding="utf-8")
    recorded = str(tmp_path / "one" / "recording.nc")
    code, said = run("diagnose", recorded, "--out", str(tmp_path / "two"))
    assert code == 0, said
    assert (tmp_path / "two" / "diagnosis.md").read_text(encoding="utf-8") == page


def test_diagnose_refuses_other_files(tmp_path: Path) -> None:
    xr.Dataset({"regret": ("round", np.zeros(3))}).to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    code, said = run("diagnose", str(tmp_path / "x.nc"), "--out", str(tmp_path))
    assert code == 2
    assert "do not say which study made them" in said
