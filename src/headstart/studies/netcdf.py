"""Datasets as NetCDF files."""

from pathlib import Path

import xarray as xr

from headstart.atomic import atomic_write


def write_dataset(dataset: xr.Dataset, path: Path) -> None:
    """Write a compressed file, atomically; only numbers are compressed."""
    numbers = [
        name for name, variable in dataset.data_vars.items() if variable.dtype.kind in "biuf"
    ]
    encoding = {name: {"zlib": True, "complevel": 4} for name in numbers}
    with atomic_write(path) as temporary:
        dataset.to_netcdf(temporary, engine="h5netcdf", encoding=encoding)


def read_dataset(path: Path) -> xr.Dataset:
    """The dataset of a file, in memory."""
    try:
        with xr.open_dataset(path, engine="h5netcdf") as dataset:
            return dataset.load()
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{path} must be a NetCDF file: {error}") from error
