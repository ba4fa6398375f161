"""The folder of a study: its file, the pieces played so far, and at the end its results.

Results are NetCDF files rather than Zarr: a study is a few megabytes, one file is easier to share
than a folder, and R, Julia and MATLAB read it too.
"""

from __future__ import annotations

import json
import os
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import xarray as xr

import headstart
from headstart.atomic import atomic_write
from headstart.studies.digests import Table, commit, versions
from headstart.studies.shards import Piece
from headstart.studies.study import SAME_IN_FOLDER, Study

_ENGINE: Final = "h5netcdf"


@dataclass(frozen=True)
class Pieces:
    """Pieces in a folder, each in a file named by its digest; whatever is there is not played."""

    path: Path

    def __contains__(self, digest: str) -> bool:
        return self._file(digest).exists()

    def save(self, digest: str, piece: Piece) -> None:
        """Write a piece, whole or not at all."""
        path = self._file(digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        with part.open("wb") as opened:
            np.savez(opened, allow_pickle=False, **piece)
        part.replace(path)

    def load(self, digest: str) -> Piece:
        """Read a piece."""
        path = self._file(digest)
        try:
            with path.open("rb") as opened, np.load(opened) as arrays:
                return dict(arrays)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} is damaged, remove it to play it again: {error}") from error

    def _file(self, digest: str) -> Path:
        return self.path / digest[:2] / f"{digest[2:]}.npz"


@dataclass(frozen=True)
class StudyFolder:
    """The folder of one study: study.toml, the pieces played, and at the end results.nc.

    Parameters
    ----------
    path : Path
        The folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart.studies import StudyFolder
    >>> StudyFolder(Path("out/small")).results.name
    'results.nc'
    """

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))

    @property
    def results(self) -> Path:
        """The file of the joined results."""
        return self.path / "results.nc"

    @property
    def manifest(self) -> Path:
        """The file of versions, seed and times."""
        return self.path / "manifest.json"

    @property
    def pieces(self) -> Pieces:
        """What was played."""
        return Pieces(self.path / "pieces")

    def open(self, study: Study) -> None:
        """Begin, resume or extend a study; raises if the folder holds another study's results."""
        check_folder(self.path)
        if self.results.exists():
            kept = self._attributes()
            if "study" not in kept:
                raise ValueError(f"{self.results} does not say which study made it")
            there, wanted = tomllib.loads(kept["study"]), study.plain()
            names = [name for name in SAME_IN_FOLDER if there.get(name) != wanted.get(name)]
            if names:
                raise ValueError(
                    f"{self.path} holds a study that differs in {', '.join(names)}; "
                    "choose another folder or remove this one"
                )
        _write_text(self.path / "study.toml", study.to_toml())

    def made(self) -> Table | None:
        """The `sources` of the results; None if there are none."""
        if not self.results.exists():
            return None
        found: Table = json.loads(self._attributes().get("sources", "{}"))
        return found

    def holds(self, study: Study, sources: Table) -> bool:
        """Whether the results are of exactly this study and these sources."""
        if not self.results.exists():
            return False
        kept, wanted = self._attributes(), _described(study, sources)
        return all(kept.get(name) == value for name, value in wanted.items())

    def finish(self, study: Study, sources: Table, results: xr.Dataset, seconds: float) -> None:
        """Write the results and the manifest."""
        manifest = {
            "study": study.plain(),
            "seed": study.seed,
            "replications": study.replications,
            "shards": study.n_shards,
            "seconds": round(seconds, 3),
            "versions": versions(),
            "code": sources["headstart"],
            "sources": sources,
            "commit": commit(),
        }
        write_dataset(results.assign_attrs(_described(study, sources)), self.results)
        _write_text(self.manifest, json.dumps(manifest, indent=2) + "\n")

    def load(self) -> xr.Dataset:
        """The results, in memory."""
        return read_dataset(self.results)

    def _attributes(self) -> dict[str, str]:
        with _opened(self.results) as found:
            return {str(name): str(value) for name, value in found.attrs.items()}


def _described(study: Study, sources: Table) -> dict[str, str]:
    """The attributes of results."""
    return {
        "study": study.to_toml(),
        "sources": json.dumps(sources),
        "headstart": headstart.__version__,
        "folder": study.folder,
    }


def check_folder(path: Path) -> None:
    """A folder, or a path where one can be made; raises if a file is in the way."""
    for place in (path, *path.absolute().parents):
        if place.exists() and not place.is_dir():
            at = "it" if place == path else str(place)
            raise ValueError(f"{path} cannot be a folder for results: {at} is a file")


def write_dataset(dataset: xr.Dataset, path: Path) -> None:
    """Write the dataset atomically, with compressed numbers."""
    # HDF5 compresses only arrays of numbers.
    packed = {
        name: {"zlib": True, "complevel": 4}
        for name, variable in dataset.data_vars.items()
        if variable.ndim and variable.dtype.kind in "biuf"
    }
    with atomic_write(path) as part:
        dataset.to_netcdf(part, engine=_ENGINE, encoding=packed)


def read_dataset(path: Path) -> xr.Dataset:
    """The dataset, in memory."""
    with _opened(path) as found:
        return found.load()


@contextmanager
def _opened(path: Path) -> Iterator[xr.Dataset]:
    try:
        with xr.open_dataset(path, engine=_ENGINE) as found:
            yield found
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{path} must be a NetCDF file of results: {error}") from error


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")
