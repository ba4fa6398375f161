"""Digests: what a study's numbers depend on besides its settings, and what has changed since.

That is headstart's code, the modules of your own classes, and the files of data. A learner's digest
covers these and all settings that its numbers depend on. Results with the same digest are the same
bits, and need not be played again.
"""

import hashlib
import json
import platform
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from inspect import getattr_static
from pathlib import Path
from typing import Any

from headstart import own_code
from headstart.specs import Spec, find_class
from headstart.studies.study import SAME_IN_FOLDER, LearnerSpec, Study

# A study, a learner or sources as plain data, as on disk.
Table = Mapping[str, Any]

# The package's folder. `headstart` itself imports packages that do not affect numbers.
ROOT = Path(__file__).parents[1]

_LIBRARIES = ("headstart", "numpy", "scipy", "numba", "xarray")

# The files and packages that affect a study's numbers. A test compares the list with what playing a
# shard imports, in both directions.
NUMBERS = (
    "arrays.py",
    "checks.py",
    "core",
    "datasets",
    "environments",
    "features",
    "frames.py",
    "habits.py",
    "interfaces.py",
    "kernels",
    "learners",
    "own_code.py",
    "policies",
    "priors",
    "processes.py",
    "progress.py",
    "simulation",
    "specs.py",
    "studies/digests.py",
    "studies/results.py",
    "studies/shards.py",
    "studies/study.py",
)


def versions() -> dict[str, str]:
    """The versions of Python, headstart and the libraries that affect numbers."""
    return {"python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}


def code_digest() -> str:
    """A digest of the source files that affect a study's numbers."""
    digest = hashlib.sha256()
    for path in sorted(path for name in NUMBERS for path in _sources(ROOT / name)):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _sources(place: Path) -> Iterable[Path]:
    return place.rglob("*.py") if place.is_dir() else [place]


def sources(study: Study) -> dict[str, Any]:
    """The present digests of headstart's code, and of files of the environment and learners.

    Files are listed by name; a learner's files are listed under the learner.
    """
    with own_code.importable(study.folder):
        learners = {one.name: _learner_files(one) for one in study.learners}
        return {
            "headstart": code_digest(),
            "environment": _files(study.environment, "environments"),
            "learners": {name: files for name, files in learners.items() if files},
        }


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What results depend on: a study and its sources, as plain tables."""

    study: Table
    sources: Table

    @classmethod
    def now(cls, study: Study) -> "Provenance":
        """A study and its present sources."""
        return cls(study=tomllib.loads(study.to_toml()), sources=sources(study))

    @classmethod
    def from_texts(cls, study: str, sources: str) -> "Provenance":
        """From the texts of a study file and of `sources_text`."""
        return cls(study=tomllib.loads(study), sources=json.loads(sources))

    @property
    def sources_text(self) -> str:
        """The sources as JSON."""
        return json.dumps(self.sources)

    @cached_property
    def digests(self) -> dict[str, str]:
        """The digest of every learner.

        It changes with anything that changes the learner's numbers, except λ, which labels them.
        """
        shared = {name: self.study.get(name) for name in (*SAME_IN_FOLDER, "keep_test_tasks")}
        shared |= {"code": self.sources.get("headstart"), "files": self.sources.get("environment")}
        return {one["name"]: self._digest(one, shared) for one in self.study["learners"]}

    def _digest(self, learner: Table, shared: Mapping[str, Any]) -> str:
        files = self.sources.get("learners", {}).get(learner["name"], {})
        parts = {**shared, "learner": learner, "learner files": files}
        if not is_swept(learner):
            # It plays once, seeded by the first value of the grid.
            parts["regularization"] = self.study["regularization"][0]
        text = json.dumps(parts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_swept(learner: Table) -> bool:
    """Whether anything in a learner's table follows the grid of regularizations."""
    return '"@regularization"' in json.dumps(learner)


def changes(made: Provenance | None, now: Provenance) -> Iterator[str]:
    """What has changed since the results were made, and what must be played because of it."""
    if made is None:
        return
    shared = changed_files({**made.sources, "learners": {}}, {**now.sources, "learners": {}})
    if shared or made.study.get("keep_test_tasks") != now.study.get("keep_test_tasks"):
        what = f"{', '.join(shared)} changed" if shared else "keep_test_tasks changed"
        yield f"{what} since the results were made: all learners are played again."
        return
    before = {one["name"]: one for one in made.study["learners"]}
    after = {one["name"]: one for one in now.study["learners"]}
    for name, learner in after.items():
        old, new = (one.sources.get("learners", {}).get(name, {}) for one in (made, now))
        if name not in before:
            yield f"{name} is new: it is played."
        elif old != new:
            files = ", ".join(_differing(old, new))
            yield f"{files} changed since the results were made: {name} is played again."
        elif learner != before[name]:
            yield f"The settings of {name} changed: it is played again."
        elif made.digests[name] != now.digests[name]:
            yield f"{name} is played again: its random numbers follow from the grid's first λ."
    left_out = [name for name in before if name not in after]
    if left_out:
        yield f"{', '.join(left_out)}: no longer in the study, set aside in the folder."
    values = [
        f"{v:g}" for v in now.study["regularization"] if v not in made.study["regularization"]
    ]
    if values:
        yield f"λ = {', '.join(values)}: new, played by the learners that follow the grid."
    n, m = (int(one.study["replications"]) for one in (made, now))
    if m > n:
        first = n - n % int(now.study["shard"])  # an incomplete shard is played again as a whole
        yield f"Replications {first} to {m - 1}: new, they are played."
    if m < n:
        yield f"Replications from {m} on: no longer in the study, set aside in the folder."


def changed_files(old: Table, new: Table) -> list[str]:
    """The names of files whose digests differ between two tables of sources."""
    names = [] if old.get("headstart") == new.get("headstart") else ["headstart's own code"]
    names += _differing(old.get("environment", {}), new.get("environment", {}))
    ours, theirs = old.get("learners", {}), new.get("learners", {})
    for learner in ours | theirs:
        names += _differing(ours.get(learner, {}), theirs.get(learner, {}))
    return list(dict.fromkeys(names))


def _differing(old: Table, new: Table) -> list[str]:
    return [name for name in {**old, **new} if old.get(name) != new.get(name)]


def _learner_files(learner: LearnerSpec) -> dict[str, str]:
    files: dict[str, str] = {}
    for package, spec in learner.specs().items():
        files |= _files(spec, package)
    return files


def _files(spec: Spec, package: str) -> dict[str, str]:
    """The digests of files that a class and its settings depend on.

    Those are the modules of your own classes, the files that settings name, and the paths that the
    static method `files` of a class returns for the settings; `NAME_files` for its constructor
    NAME.
    """
    files = {text: Path(text) for text in spec.strings() if _is_file(text)}
    for part in spec.nested():
        if ":" in part.kind:
            files |= own_code.source_files(part.kind.partition(":")[0])
        kind = find_class(part, package)
        constructor = part.kind.rpartition(":")[2].partition(".")[2]
        method = f"{constructor}_files" if constructor else "files"
        if isinstance(getattr_static(kind, method, None), staticmethod):
            for path in map(Path, getattr(kind, method)(**part.settings)):
                label = path.name if files.get(path.name, path) == path else str(path)
                files[label] = path
    return {name: own_code.file_digest(path) for name, path in sorted(files.items())}


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long, or not a path at all
        return False


def commit() -> str | None:
    """The commit of a checkout, marked if files have changed since; None outside a checkout."""
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
