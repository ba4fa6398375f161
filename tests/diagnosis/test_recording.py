from pathlib import Path

import pytest
import xarray as xr

from headstart.diagnosis import Diagnosis, recording
from headstart.diagnosis.answers import warm_start
from headstart.studies.netcdf import write_dataset


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
    with pytest.raises(ValueError, match=r"results\.nc must be a NetCDF file"):
        recording.read(tmp_path)
