from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from headstart.studies.netcdf import read_dataset, write_dataset


def test_a_dataset_survives_the_disk_and_is_compressed(tmp_path: Path) -> None:
    dataset = xr.Dataset(
        {"zeros": ("round", np.zeros(100_000)), "name": ((), "Average")}, attrs={"seed": 3}
    )
    write_dataset(dataset, tmp_path / "new" / "it.nc")
    assert (tmp_path / "new" / "it.nc").stat().st_size < 50_000
    back = read_dataset(tmp_path / "new" / "it.nc")
    xr.testing.assert_equal(back, dataset)
    assert back.attrs == {"seed": 3}


def test_a_file_that_is_not_netcdf_is_named(tmp_path: Path) -> None:
    (tmp_path / "words.nc").write_text("no")
    for name in ("words.nc", "missing.nc"):
        with pytest.raises(ValueError, match=rf"{name} must be a NetCDF file"):
            read_dataset(tmp_path / name)
