from pathlib import Path

import pytest
import xarray as xr

from headstart.diagnosis import Diagnosis, recording
from headstart.diagnosis.answers import warm_start
from headstart.studies.folder import write_dataset


def test_a_recording_survives_the_disk(recorded: xr.Dataset, tmp_path: Path) -> None:
    write_dataset(recorded, tmp_path / "recording.nc")
    back = recording.read(tmp_path / "recording.nc")
    xr.testing.assert_equal(back, recorded)
    assert back.attrs == recorded.attrs
    assert warm_start(Diagnosis(back)) == warm_start(Diagnosis(recorded))


def test_a_file_without_a_recording_is_noticed(recorded: xr.Dataset, tmp_path: Path) -> None:
    assert recording.is_recording(recorded)
    assert not recording.is_recording(recorded[["regret"]])
    (tmp_path / "words.nc").write_text("no")
    with pytest.raises(ValueError, match="must be a NetCDF file"):
        recording.read(tmp_path / "words.nc")
    with pytest.raises(ValueError, match=r"has no results\.nc: .* not finished"):
        recording.read(tmp_path)
    with pytest.raises(ValueError, match=r"no such study's folder .*none"):
        recording.read(tmp_path / "none")


def test_a_study_in_the_place_of_its_results_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text("name = 'a'")
    with pytest.raises(ValueError, match=r"needs its results: first `headstart run .*study.toml`"):
        recording.read(file)
    (tmp_path / "words.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="must be a NetCDF file of results") as raised:
        recording.read(tmp_path / "words.csv")
    assert "http" not in str(raised.value)
    assert "engine" not in str(raised.value)
