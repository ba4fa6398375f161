from pathlib import Path

import pytest
import xarray as xr
from tests.diagnosis.small import small_recording

from headstart.diagnosis import Diagnosis, page
from headstart.diagnosis.answers import warm_start

pytestmark = pytest.mark.slow


def test_the_page_answers_and_has_its_figures(recorded: xr.Dataset, tmp_path: Path) -> None:
    diagnosis = Diagnosis(recorded)
    text = page.write(diagnosis, tmp_path).read_text(encoding="utf-8")
    answer = warm_start(diagnosis)
    assert answer is not None
    assert text.splitlines()[2] == f"**{answer.headline}**"
    for name in ("regret-and-error.png", "alignment-and-coverage.png"):
        assert f"({name})" in text
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_assumptions_that_do_not_hold_reach_the_page(tmp_path: Path) -> None:
    recorded = small_recording(replications=4, n_tasks=2, regularizations=())
    recorded["largest_eigenvalue"] = recorded["largest_eigenvalue"] * 0.1
    diagnosis = Diagnosis(recorded)
    bound = diagnosis.bound("ITL")
    assert bound is not None
    assert "needs λ ≥ max(1, L²)" in bound.violated[0]
    text = page.write(diagnosis, tmp_path).read_text(encoding="utf-8")
    assert "Not covered: Lemma 1 needs λ ≥ max(1, L²)" in text
    assert "not played" in text
