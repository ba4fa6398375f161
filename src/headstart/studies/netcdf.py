"""Labelled datasets as NetCDF files.

NetCDF rather than Zarr: a study is a few megabytes, one file is easier to share than a folder,
and R, Julia and MATLAB read it too.
"""

from pathlib import Path
from typing import Final

import xarray as xr

from headstart.atomic import atomic_write

_ENGINE: Final = "h5netcdf"


def write_dataset(dataset: xr.Dataset, path: Path) -> None:
    """Write the dataset atomically, with compressed numbers."""
    # How variables were written before, such as the length of the longest string, may not fit now.
    dataset = dataset.drop_encoding()
    # HDF5 compresses arrays of numbers only.
    packed = {
        name: {"zlib": True, "complevel": 4}
        for name, variable in dataset.data_vars.items()
        if variable.ndim and variable.dtype.kind in "biuf"
    }
    with atomic_write(path) as part:
        dataset.to_netcdf(part, engine=_ENGINE, encoding=packed)


def read_dataset(path: Path) -> xr.Dataset:
    """The dataset, in memory."""
    try:
        with xr.open_dataset(path, engine=_ENGINE) as opened:
            return opened.load()
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{path} must be a NetCDF file of results: {error}") from error


def read_attributes(path: Path) -> dict[str, str]:
    """The attributes of a dataset, without its numbers."""
    try:
        with xr.open_dataset(path, engine=_ENGINE) as opened:
            return {str(name): str(value) for name, value in opened.attrs.items()}
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{path} must be a NetCDF file of results: {error}") from error
