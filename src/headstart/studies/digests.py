"""Digests: what a study's numbers depend on besides its settings, and the names of pieces.

That is headstart's code, the versions of the libraries that compute, the modules of your own
classes, and the files of data. A piece is the numbers of one agent in one shard; pieces of the same
digest are the same bits.
"""

import hashlib
import json
import platform
import subprocess
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from inspect import getattr_static
from pathlib import Path
from typing import Any

from headstart import own_code
from headstart.specs import Spec, find_class
from headstart.studies.study import LearnerSpec, Study

# Sources as plain data, as on disk.
Table = Mapping[str, Any]

# The package's folder. `headstart` itself imports packages that do not affect numbers.
ROOT = Path(__file__).parents[1]

# The libraries that compute: another version may round differently.
_COMPUTING = ("numpy", "scipy", "numba")

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
    """The versions of Python, headstart and the libraries that results go through."""
    names = ("headstart", *_COMPUTING, "xarray")
    return {"python": platform.python_version()} | {name: version(name) for name in names}


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
            "versions": {name: version(name) for name in _COMPUTING},
            "environment": _files(study.environment, "environments"),
            "learners": {name: files for name, files in learners.items() if files},
        }


def pieces(study: Study, made: Table) -> dict[tuple[str, int], str]:
    """The digest of every agent in every shard, for these `sources`.

    It changes with anything that changes the piece's numbers, and with nothing else.
    """
    without = {"name", "about", "learners", "regularization", "replications", "shard"}
    shared = {name: value for name, value in study.plain().items() if name not in without}
    shared |= {name: made[name] for name in ("headstart", "versions", "environment")}
    return {
        (agent, number): _digest(
            {
                **shared,
                "agent": agent,
                "learner": learner.plain(),
                "files": made["learners"].get(learner.name, {}),
                "shard": [number, len(study.in_shard(number))],
            }
        )
        for agent, (learner, _) in study.agents().items()
        for number in range(study.n_shards)
    }


def _digest(parts: Table) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def changed(old: Table, new: Table) -> list[str]:
    """What differs between two tables of sources: files, libraries, headstart's own code."""
    names = [] if old.get("headstart") == new.get("headstart") else ["headstart's own code"]
    for part in ("versions", "environment"):
        names += _differing(old.get(part, {}), new.get(part, {}))
    before, after = old.get("learners", {}), new.get("learners", {})
    for learner in before.keys() & after.keys():
        names += _differing(before[learner], after[learner])
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
