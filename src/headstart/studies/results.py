"""Results on disk: one NetCDF file of labelled arrays, and a manifest that says what made them.

NetCDF rather than Zarr: a study is a few megabytes, one file is easier to pass on than a folder,
and R, Julia and MATLAB read it too.
"""

import hashlib
import json
import platform
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import xarray as xr

import headstart
from headstart.atomic import atomic_write
from headstart.studies.study import Study, from_toml

_LIBRARIES = ("numpy", "scipy", "numba", "xarray")

# What the numbers depend on: the package without its face and without what is made of results.
_FACE = ("cli", "experiments", "theory")
_NUMBERS = ("experiments/shards.py", "experiments/parts.py", "experiments/study.py")


@dataclass(frozen=True)
class Store:
    """The folder of one study: study.toml, finished shards, and at the end results.nc."""

    folder: Path

    @property
    def results(self) -> Path:
        """The whole study."""
        return self.folder / "results.nc"

    @property
    def manifest(self) -> Path:
        """What made it."""
        return self.folder / "manifest.json"

    def shard(self, number: int) -> Path:
        """One shard, until all are there."""
        return self.folder / "shards" / f"{number:05d}.nc"

    def open(self, study: Study) -> None:
        """Begin the study here, or go on with it; another study's folder is an error."""
        begun = self.folder / "study.toml"
        if not begun.exists():
            with atomic_write(begun) as part:
                part.write_text(study.to_toml(), encoding="utf-8")
            with atomic_write(self.folder / "code") as part:
                part.write_text(code(), encoding="utf-8")
            return
        there = from_toml(begun.read_text(encoding="utf-8"))
        if there != study:
            old, new = there.plain(), study.plain()
            names = [name for name in (old | new) if old.get(name) != new.get(name)]
            raise ValueError(
                f"{self.folder} holds another study, which differs in {', '.join(names)}; "
                "choose another folder or remove this one"
            )
        if (self.folder / "code").read_text(encoding="utf-8") != code():
            raise ValueError(
                f"{self.folder} was begun with another version of headstart's code, so its numbers "
                "may differ; choose another folder or remove this one"
            )

    def save_shard(self, number: int, played: xr.Dataset) -> None:
        """Write one finished shard, whole."""
        _write(played, self.shard(number))

    def finish(self, study: Study, wall_seconds: float) -> None:
        """Join the shards into one file, write the manifest, and remove them."""
        shards = [_read(self.shard(number)) for number in range(study.n_shards)]
        seconds = [float(shard.attrs.pop("seconds")) for shard in shards]
        joined = xr.concat(shards, "replication", coords="minimal", compat="equals")
        joined.attrs = {"study": study.to_toml(), "headstart": headstart.__version__}
        manifest = {
            "study": study.plain(),
            "seed": study.seed,
            "replications": study.replications,
            "shards": study.n_shards,
            "seconds": {"work": round(sum(seconds), 3), "wall": round(wall_seconds, 3)},
            "versions": versions(),
            "code": code(),
            "commit": commit(),
        }
        with atomic_write(self.manifest) as part:
            part.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        _write(joined, self.results)
        shutil.rmtree(self.folder / "shards")

    def load(self) -> xr.Dataset:
        """The whole study, in memory."""
        return _read(self.results)


def versions() -> dict[str, str]:
    """Of Python, headstart and the libraries that numbers go through."""
    found = {"python": platform.python_version(), "headstart": headstart.__version__}
    return found | {name: version(name) for name in _LIBRARIES}


def code() -> str:
    """A digest of the source files that numbers go through."""
    root = Path(headstart.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name in _NUMBERS or name.split("/")[0] not in _FACE:
            digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def commit() -> str | None:
    """The commit of a checkout, marked if files were changed since; None outside of one."""
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    root = Path(headstart.__file__).parent
    try:
        done = subprocess.run(asked, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _write(dataset: xr.Dataset, path: Path) -> None:
    packed = {name: {"zlib": True, "complevel": 4} for name in dataset.data_vars}
    with atomic_write(path) as part:
        dataset.to_netcdf(part, engine="h5netcdf", encoding=packed)


def _read(path: Path) -> xr.Dataset:
    with xr.open_dataset(path, engine="h5netcdf") as dataset:
        return dataset.load()


def totals(results: xr.Dataset, variable: str = "regret") -> xr.DataArray:
    """A variable summed over rounds (and tasks): (learner, regularization, …, replication)."""
    every = [name for name in ("task", "round") if name in results.dims]
    return results[variable].sum(every)
