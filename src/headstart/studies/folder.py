"""StudyFolder: a study on disk, its finished shards, and at the end its results."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

import headstart
from headstart.atomic import atomic_write
from headstart.studies.netcdf import read_attributes, read_dataset, write_dataset
from headstart.studies.provenance import commit, versions
from headstart.studies.sources import Made, Table
from headstart.studies.study import SAME_IN_FOLDER, Study


@dataclass(frozen=True)
class StudyFolder:
    """The folder of one study: study.toml, finished shards, and at the end results.nc.

    >>> from pathlib import Path
    >>> from headstart.studies import StudyFolder
    >>> StudyFolder(Path("out/small")).results.name
    'results.nc'
    """

    path: Path

    @property
    def results(self) -> Path:
        """The file of the joined results."""
        return self.path / "results.nc"

    @property
    def manifest(self) -> Path:
        """The file of versions, seed and times."""
        return self.path / "manifest.json"

    @property
    def _study(self) -> Path:
        return self.path / "study.toml"

    def shard(self, number: int) -> Path:
        """The file of one shard, until its numbers are in the results."""
        return self.path / "shards" / f"{number:05d}.nc"

    def open(self, study: Study) -> None:
        """Begin, resume or extend a study; a folder with numbers of another one is an error."""
        check_folder(self.path)
        made = self.made()
        there, wanted = self._begun() if made is None else made.study, study.plain()
        if there is not None:
            names = [name for name in SAME_IN_FOLDER if there.get(name) != wanted.get(name)]
            if names:
                raise ValueError(
                    f"{self.path} holds another study, which differs in {', '.join(names)}; "
                    "choose another folder or remove this one"
                )
        text = study.to_toml()
        if not self._study.exists() or self._study.read_text(encoding="utf-8") != text:
            _write_text(self._study, text)

    def made(self) -> Made | None:
        """What the results were made of; None where there are none."""
        if not self.results.exists():
            return None
        kept = read_attributes(self.results)
        if "study" not in kept:
            raise ValueError(f"{self.results} must carry the study that made it, and it does not")
        return Made.from_texts(kept["study"], kept.get("sources", "{}"))

    def _begun(self) -> Table | None:
        """The study that finished shards are of; None where there are none."""
        if not self._study.exists() or not any(self.path.glob("shards/[0-9]*.nc")):
            return None
        return tomllib.loads(self._study.read_text(encoding="utf-8"))

    def holds(self, study: Study, now: Made) -> bool:
        """Whether the results are those of this study, to the letter, and of these sources."""
        if not self.results.exists():
            return False
        kept = read_attributes(self.results)
        same = kept.get("study") == study.to_toml() and kept.get("sources") == now.sources_text
        return same and kept.get("folder", "") == study.folder

    def finish(self, study: Study, now: Made, joined: xr.Dataset, wall_seconds: float) -> None:
        """Write the results and the manifest."""
        joined.attrs |= {
            "study": study.to_toml(),
            "sources": now.sources_text,
            "headstart": headstart.__version__,
        }
        if study.folder:
            joined.attrs["folder"] = study.folder
        work = float(joined.attrs.pop("seconds")) + self._seconds()
        manifest = {
            "study": study.plain(),
            "seed": study.seed,
            "replications": study.replications,
            "shards": study.n_shards,
            "seconds": {"work": round(work, 3), "wall": round(wall_seconds, 3)},
            "versions": versions(),
            "code": now.sources["headstart"],
            "sources": now.sources,
            "commit": commit(),
        }
        write_dataset(joined, self.results)
        _write_text(self.manifest, json.dumps(manifest, indent=2) + "\n")

    def _seconds(self) -> float:
        """The work of earlier runs, by the manifest."""
        if not self.manifest.exists():
            return 0.0
        return float(json.loads(self.manifest.read_text(encoding="utf-8"))["seconds"]["work"])

    def load(self) -> xr.Dataset:
        """The results, in memory."""
        return read_dataset(self.results)


def check_folder(path: Path) -> None:
    """A folder, or a path where one can be made: no file is in its place."""
    for place in (path, *path.absolute().parents):
        if place.exists() and not place.is_dir():
            at = "it" if place == path else str(place)
            raise ValueError(
                f"{path} must be a folder for results, which cannot be: {at} is a file"
            )


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")
