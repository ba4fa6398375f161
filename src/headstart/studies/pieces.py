"""Pieces: the numbers of agents and shards that a folder has, and those that are still missing.

A piece is found by its agent, its shard and its learner's digest. So what was played before is
used exactly where playing it again would give the same bits.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import xarray as xr

from headstart.studies.folder import StudyFolder
from headstart.studies.netcdf import read_dataset, write_dataset
from headstart.studies.shards import agent_name, agents, by_regularization, shard_replications
from headstart.studies.sources import Made, is_swept
from headstart.studies.study import Study


@dataclass(frozen=True, eq=False)
class Pieces:
    """What a folder has of a study whose sources are now as given."""

    folder: StudyFolder
    study: Study
    now: Made
    # Files of shards that were read or written, by number: opening one takes a while.
    _open: dict[int, xr.Dataset] = field(default_factory=dict)

    def _shard(self, number: int) -> xr.Dataset | None:
        """The contents of a shard's file; None where there is none."""
        path = self.folder.shard(number)
        if number not in self._open and path.exists():
            shard = read_dataset(path)
            if "digest" not in shard.coords:  # written by a version that kept no digests
                return None
            self._open[number] = shard
        return self._open.get(number)

    @cached_property
    def _made(self) -> Made | None:
        return self.folder.made()

    @cached_property
    def _learners(self) -> dict[str, str]:
        return {agent: learner.name for agent, (learner, _) in agents(self.study).items()}

    def missing(self, number: int) -> list[str]:
        """The agents that are still to play in a shard."""
        known = {*self._in_shard(number), *self._in_results(number)}
        return [agent for agent in self._learners if agent not in known]

    def save(self, number: int, played: xr.Dataset) -> None:
        """Write what was played of a shard, with what its file has of other agents."""
        names = [str(name) for name in played["agent"].to_numpy()]
        digests = [self.now.digests[self._learners[name]] for name in names]
        new = played.assign_coords(digest=("agent", digests))
        new.attrs = {"seconds": played.attrs["seconds"]}
        self._write(number, new)

    def joined(self) -> xr.Dataset:
        """All numbers of the study, over the results' dimensions; `seconds` is that of shards."""
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
        """Before the results are written anew: keep as shards what the study no longer has.

        So a learner, a λ or replications that come back are not played again.
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
        """Once the results are written: remove from shards what is in them."""
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

    def _comparable(self, made: Made) -> bool:
        """Whether headstart's code and the environment's files are as they were."""
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
        """Write a shard's file, with what it has of other agents."""
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


def _agents_of(made: Made) -> dict[str, tuple[str, float]]:
    """The agents of a study in tables: learner and regularization, by name."""
    grid = [float(value) for value in made.study["regularization"]]
    return {
        agent_name(one["name"], value): (one["name"], value)
        for one in made.study["learners"]
        for value in (grid if is_swept(one) else grid[:1])
    }


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
