"""The folder of a study: its file, the shards played so far, and at the end its results.

Numbers are NetCDF files rather than Zarr: a study is a few megabytes, one file is easier to share
than a folder, and R, Julia and MATLAB read it too.
"""

import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import xarray as xr

import headstart
from headstart.atomic import atomic_write
from headstart.studies.digests import Provenance, Table, commit, is_swept, versions
from headstart.studies.shards import agents, agents_of, by_regularization, shard_replications
from headstart.studies.study import SAME_IN_FOLDER, Study

_ENGINE: Final = "h5netcdf"


@dataclass(frozen=True)
class StudyFolder:
    """The folder of one study: study.toml, finished shards, and at the end results.nc.

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
    def _study(self) -> Path:
        return self.path / "study.toml"

    def shard(self, number: int) -> Path:
        """The file of one shard, until its numbers are in the results.

        Parameters
        ----------
        number : int
            The shard's number, from 0.

        Returns
        -------
        Path
        """
        return self.path / "shards" / f"{number:05d}.nc"

    def open(self, study: Study) -> None:
        """Begin, resume or extend a study; raises if the folder holds another study.

        Parameters
        ----------
        study : Study
            The study.
        """
        check_folder(self.path)
        made = self.made()
        there, wanted = self._begun() if made is None else made.study, study.plain()
        if there is not None:
            names = [name for name in SAME_IN_FOLDER if there.get(name) != wanted.get(name)]
            if names:
                raise ValueError(
                    f"{self.path} holds a study that differs in {', '.join(names)}; "
                    "choose another folder or remove this one"
                )
        text = study.to_toml()
        if not self._study.exists() or self._study.read_text(encoding="utf-8") != text:
            _write_text(self._study, text)

    def made(self) -> Provenance | None:
        """What the results depend on; None if there are none."""
        if not self.results.exists():
            return None
        kept = read_attributes(self.results)
        if "study" not in kept:
            raise ValueError(f"{self.results} does not say which study made it")
        return Provenance.from_texts(kept["study"], kept.get("sources", "{}"))

    def _begun(self) -> Table | None:
        """The study of the finished shards; None if there are none."""
        if not self._study.exists() or not any(self.path.glob("shards/[0-9]*.nc")):
            return None
        return tomllib.loads(self._study.read_text(encoding="utf-8"))

    def holds(self, study: Study, now: Provenance) -> bool:
        """Whether the results are of exactly this study and these sources.

        Parameters
        ----------
        study : Study
            The study.
        now : Provenance
            The versions and digests of the sources.

        Returns
        -------
        bool
        """
        if not self.results.exists():
            return False
        kept = read_attributes(self.results)
        same = kept.get("study") == study.to_toml() and kept.get("sources") == now.sources_text
        return same and kept.get("folder", "") == study.folder

    def finish(
        self, study: Study, now: Provenance, joined: xr.Dataset, wall_seconds: float
    ) -> None:
        """Write the results and the manifest.

        Parameters
        ----------
        study : Study
            The study.
        now : Provenance
            The versions and digests of the sources.
        joined : xarray.Dataset
            The results of all shards.
        wall_seconds : float
            How long the run took.
        """
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
        """The seconds of earlier runs, by the manifest."""
        if not self.manifest.exists():
            return 0.0
        return float(json.loads(self.manifest.read_text(encoding="utf-8"))["seconds"]["work"])

    def load(self) -> xr.Dataset:
        """The results, in memory."""
        return read_dataset(self.results)


def check_folder(path: Path) -> None:
    """A folder, or a path where one can be made; raises if a file is in the way."""
    for place in (path, *path.absolute().parents):
        if place.exists() and not place.is_dir():
            at = "it" if place == path else str(place)
            raise ValueError(f"{path} cannot be a folder for results: {at} is a file")


@dataclass(frozen=True, eq=False)
class Pieces:
    """What a folder has of a study, and what is missing: numbers of agents in shards.

    A piece is found by its agent, its shard and its learner's digest. So old numbers are used
    exactly if playing them again would give the same bits. `now` is the present study and sources.
    """

    folder: StudyFolder
    study: Study
    now: Provenance
    # Files of shards that were read or written, by number: opening a file takes a while.
    _open: dict[int, xr.Dataset] = field(default_factory=dict)

    def _shard(self, number: int) -> xr.Dataset | None:
        """The contents of a shard's file; None if there is no file."""
        path = self.folder.shard(number)
        if number not in self._open and path.exists():
            self._open[number] = read_dataset(path)
        return self._open.get(number)

    @cached_property
    def _made(self) -> Provenance | None:
        return self.folder.made()

    @cached_property
    def _learners(self) -> dict[str, str]:
        return {agent: learner.name for agent, (learner, _) in agents(self.study).items()}

    def missing(self, number: int) -> list[str]:
        """The agents that still have to play in a shard."""
        known = {*self._in_shard(number), *self._in_results(number)}
        return [agent for agent in self._learners if agent not in known]

    def save(self, number: int, played: xr.Dataset) -> None:
        """Write what was played of a shard, and keep what its file has of other agents."""
        names = [str(name) for name in played["agent"].to_numpy()]
        digests = [self.now.digests[self._learners[name]] for name in names]
        new = played.assign_coords(digest=("agent", digests))
        new.attrs = {"seconds": played.attrs["seconds"]}
        self._write(number, new)

    def joined(self) -> xr.Dataset:
        """All numbers of the study, over the results' dimensions; `seconds` is for shards."""
        before = None if self._made is None else self.folder.load()
        seconds, parts = 0.0, []
        for number in range(self.study.n_shards):
            found, there, shard = [], self._in_shard(number), self._shard(number)
            if there and shard is not None:
                seconds += float(shard.attrs["seconds"])
                found.append(_some_agents(shard.drop_vars("digest"), there))
            rest = [agent for agent in self._learners if agent not in there]
            if rest and before is not None:
                found.append(self._from_results(before, number, rest))
            parts.append(by_regularization(self.study, _along_agents(found)))
        whole = xr.concat(
            parts, "replication", data_vars="minimal", coords="minimal", compat="equals"
        )
        return whole.assign_attrs(seconds=seconds)

    def set_aside(self) -> None:
        """Before the results are written again, keep as shards what the study no longer has.

        So a learner, a λ or replications that come back need not be played again.
        """
        made = self._made
        if made is None or not self._comparable(made):
            return
        old = self.folder.load()
        size, total = int(made.study["shard"]), int(made.study["replications"])
        for number in range(-(-total // size)):
            replications = range(number * size, min((number + 1) * size, total))
            gone = number >= self.study.n_shards or (
                len(replications) > len(shard_replications(self.study, number))
            )
            left = {
                agent: at
                for agent, at in _agents_of(made).items()
                if gone or agent not in self._learners
            }
            if left:
                kept = _select(old, left, replications)
                digests = [made.digests[learner] for learner, _ in left.values()]
                kept = kept.assign_coords(digest=("agent", digests))
                self._write(number, kept.assign_attrs(seconds=0.0))

    def clear(self) -> None:
        """Once the results are written, remove from shards what the results have."""
        for path in sorted(self.folder.path.glob("shards/[0-9]*.nc")):
            number = int(path.stem)
            wanted, shard = shard_replications(self.study, number), self._shard(number)
            if shard is None:
                continue
            elsewhere = shard["replication"].to_numpy().tolist() != list(wanted)
            names = [str(name) for name in shard["agent"].to_numpy()]
            left = [name for name in names if elsewhere or name not in self._learners]
            if left:
                write_dataset(_some_agents(shard, left).assign_attrs(seconds=0.0), path)
            else:
                path.unlink()
        self._open.clear()
        shards = self.folder.path / "shards"
        if shards.is_dir() and not any(shards.iterdir()):
            shards.rmdir()

    def _comparable(self, made: Provenance) -> bool:
        """Whether headstart's code and the environment's files have not changed."""
        return all(
            made.sources.get(name) == self.now.sources.get(name)
            for name in ("headstart", "environment")
        )

    def _in_shard(self, number: int) -> list[str]:
        """The agents of the study that a shard's file has."""
        shard, wanted = self._shard(number), shard_replications(self.study, number)
        if shard is None or shard["replication"].to_numpy().tolist() != list(wanted):
            return []
        digests = {
            str(name): str(digest)
            for name, digest in zip(
                shard["agent"].to_numpy(), shard["digest"].to_numpy(), strict=True
            )
        }
        return [
            agent
            for agent, learner in self._learners.items()
            if digests.get(agent) == self.now.digests[learner]
        ]

    def _in_results(self, number: int) -> list[str]:
        """The agents of the study whose numbers of a shard are in the results."""
        made = self._made
        if made is None:
            return []
        size, total = int(made.study["shard"]), int(made.study["replications"])
        there = range(number * size, min((number + 1) * size, total))
        if there != shard_replications(self.study, number):
            return []
        before = _agents_of(made)
        return [
            agent
            for agent, learner in self._learners.items()
            if agent in before and made.digests[learner] == self.now.digests[learner]
        ]

    def _from_results(self, before: xr.Dataset, number: int, names: Sequence[str]) -> xr.Dataset:
        chosen = {name: (self._learners[name], agents(self.study)[name][1]) for name in names}
        return _select(before, chosen, shard_replications(self.study, number))

    def _write(self, number: int, new: xr.Dataset) -> None:
        """Write a shard's file, and keep what it has of other agents."""
        old = self._shard(number)
        if old is not None:
            names = [str(name) for name in new["agent"].to_numpy()]
            others = old.isel(agent=~np.isin(old["agent"].to_numpy().astype(str), names))
            same = others["replication"].equals(new["replication"])
            if same and others.sizes["agent"] and set(others.data_vars) == set(new.data_vars):
                seconds = float(old.attrs["seconds"]) + float(new.attrs["seconds"])
                new = _along_agents([others, new]).assign_attrs(seconds=seconds)
        write_dataset(new, self.folder.shard(number))
        self._open[number] = new


def _agents_of(made: Provenance) -> dict[str, tuple[str, float]]:
    """The agents of a study, from its table: its classes may be gone."""
    swept = {one["name"]: is_swept(one) for one in made.study["learners"]}
    return agents_of(swept, [float(value) for value in made.study["regularization"]])


def _select(
    results: xr.Dataset, chosen: Mapping[str, tuple[str, float]], replications: range
) -> xr.Dataset:
    """Agents of results, over (agent, …), in some replications."""
    learner = xr.DataArray([name for name, _ in chosen.values()], dims="agent")
    value = xr.DataArray([value for _, value in chosen.values()], dims="agent")
    picked = results.sel(learner=learner, regularization=value, replication=list(replications))
    picked = picked.drop_vars(["learner", "regularization"]).assign_coords(agent=list(chosen))
    return picked.transpose("agent", "trained", "replication", ...)


def _some_agents(shard: xr.Dataset, names: Collection[str]) -> xr.Dataset:
    return shard.isel(agent=np.isin(shard["agent"].to_numpy().astype(str), list(names)))


def _along_agents(found: Sequence[xr.Dataset]) -> xr.Dataset:
    if len(found) == 1:
        return found[0]
    return xr.concat(found, "agent", data_vars="all", coords="minimal", compat="equals")


def write_dataset(dataset: xr.Dataset, path: Path) -> None:
    """Write the dataset atomically, with compressed numbers."""
    # The old encoding, such as the length of the longest string, may not fit now.
    dataset = dataset.drop_encoding()
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


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")
