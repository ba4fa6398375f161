from pathlib import Path

import pytest
import xarray as xr

from headstart.diagnosis import Diagnosis
from headstart.diagnosis.answers import warm_start
from headstart.diagnosis.replay import recording_of
from headstart.studies.folder import write_dataset


def test_a_recording_survives_the_disk(recorded: xr.Dataset, tmp_path: Path) -> None:
    write_dataset(recorded, tmp_path / "recording.nc")
    back = recording_of(tmp_path / "recording.nc")
    xr.testing.assert_equal(back, recorded)
    assert back.attrs == recorded.attrs
    assert warm_start(Diagnosis(back)) == warm_start(Diagnosis(recorded))


def test_what_holds_no_recording_and_no_results_is_refused(
    recorded: xr.Dataset, tmp_path: Path
) -> None:
    write_dataset(recorded[["regret"]], tmp_path / "regrets.nc")
    (tmp_path / "words.nc").write_text("no")
    (tmp_path / "words.csv").write_text("a,b\n1,2\n")
    (tmp_path / "study.toml").write_text("name = 'a'")
    for name, error in {
        "regrets.nc": "do not say which study",
        "words.nc": "must be a NetCDF file",
        "words.csv": "must be a NetCDF file of results$|must be a NetCDF file of results",
        "study.toml": r"first `headstart run .*study.toml`",
        "": r"has no results\.nc",
        "none": r"no such study's folder .*none",
    }.items():
        with pytest.raises(ValueError, match=error):
            recording_of(tmp_path / name)
