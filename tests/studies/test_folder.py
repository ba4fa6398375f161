"""NetCDF files give back what was written, and a file of another kind is named."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from headstart.studies.folder import read_dataset, write_dataset


def test_what_is_written_is_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    dataset = xr.Dataset(
        {
            "regret": (("learner", "round"), rng.standard_normal((2, 3))),
            "outside": ("round", np.array([-1, 0, 1], dtype=np.int8)),
            "estimator": ("learner", ["Average", "Pooled"]),
            "seed": ((), 3.0),
        },
        coords={"learner": ["AVG-OFUL", "RR-OFUL"]},
        attrs={"study": "name = 'λ'"},
    )
    write_dataset(dataset, tmp_path / "it.nc")
    assert read_dataset(tmp_path / "it.nc").identical(dataset)
    assert [path.name for path in tmp_path.iterdir()] == ["it.nc"]


def test_what_is_no_netcdf_file_is_named(tmp_path: Path) -> None:
    for name in ("none.nc", "other.nc"):
        (tmp_path / "other.nc").write_text("not HDF5")
        with pytest.raises(ValueError, match=rf"{name} must be a NetCDF file of results"):
            read_dataset(tmp_path / name)
