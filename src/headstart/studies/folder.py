"""StudyFolder: a study on disk, its finished shards, and at the end its results."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

import headstart
from headstart.atomic import atomic_write
from headstart.studies.netcdf import read_dataset, write_dataset
from headstart.studies.provenance import code_digest, commit, versions
from headstart.studies.study import Study
from headstart.studies.toml import from_toml


@dataclass(frozen=True)
class StudyFolder:
    """The folder of one study: study.toml, finished shards, and at the end results.nc."""

    path: Path

    @property
    def results(self) -> Path:
        """The file of the joined results."""
        return self.path / "results.nc"

    @property
    def manifest(self) -> Path:
        """The file of versions, seed and times."""
        return self.path / "manifest.json"

    def shard(self, number: int) -> Path:
        """The file of one shard, until all are finished."""
        return self.path / "shards" / f"{number:05d}.nc"

    def open(self, study: Study) -> None:
        """Begin or resume the study; another study's folder is an error."""
        begun, code = self.path / "study.toml", self.path / "code"
        if not begun.exists():
            _write_text(begun, study.to_toml())
            _write_text(code, code_digest())
            return
        there = from_toml(begun.read_text(encoding="utf-8"))
        if there != study:
            old, new = there.plain(), study.plain()
            names = [name for name in (old | new) if old.get(name) != new.get(name)]
            raise ValueError(
                f"{self.path} holds another study, which differs in {', '.join(names)}; "
                "choose another folder or remove this one"
            )
        if code.read_text(encoding="utf-8") != code_digest():
            raise ValueError(
                f"{self.path} was begun with another version of headstart's code, so its numbers "
                "may differ; choose another folder or remove this one"
            )

    def save_shard(self, number: int, played: xr.Dataset) -> None:
        """Write one finished shard."""
        write_dataset(played, self.shard(number))

    def finish(self, study: Study, wall_seconds: float) -> None:
        """Join the shards into one file, write the manifest, and remove them."""
        shards = [read_dataset(self.shard(number)) for number in range(study.n_shards)]
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
            "code": code_digest(),
            "commit": commit(),
        }
        _write_text(self.manifest, json.dumps(manifest, indent=2) + "\n")
        write_dataset(joined, self.results)
        shutil.rmtree(self.path / "shards")

    def load(self) -> xr.Dataset:
        """The results, in memory."""
        return read_dataset(self.results)


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")
