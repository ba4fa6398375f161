"""Sources: what a study's numbers follow from beside the study, as digests of files.

Those are headstart's code, the modules of one's own classes, and the files of data. A learner's
digest covers these and all settings that its numbers depend on; results with the same digest are
the same bits, and need not be played again.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import getattr_static
from pathlib import Path
from typing import Any

from headstart import own_code
from headstart.specs import Spec, find_class
from headstart.studies.provenance import code_digest
from headstart.studies.study import SAME_IN_FOLDER, LearnerSpec, Study

# A study, a learner or sources as plain data, which is what is kept on disk.
Table = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Digests: of headstart's code, and by name of the files of the environment and of learners."""

    headstart: str
    environment: Mapping[str, str]
    learners: Mapping[str, Mapping[str, str]]

    def plain(self) -> dict[str, Any]:
        """As a JSON table."""
        learners = {name: dict(files) for name, files in self.learners.items() if files}
        return {
            "headstart": self.headstart,
            "environment": dict(self.environment),
            "learners": learners,
        }


def sources(study: Study) -> Sources:
    """The sources of a study as they are now."""
    with own_code.importable(study.folder):
        return Sources(
            headstart=code_digest(),
            environment=_files(study.environment, "environments"),
            learners={one.name: _learner_files(one) for one in study.learners},
        )


@dataclass(frozen=True, kw_only=True)
class Made:
    """What results are made of: a study and its sources, as the plain tables that disks keep."""

    study: Table
    sources: Table

    @classmethod
    def now(cls, study: Study) -> "Made":
        """A study and its sources as they are now."""
        return cls(study=tomllib.loads(study.to_toml()), sources=sources(study).plain())

    @classmethod
    def from_texts(cls, study: str, sources: str) -> "Made":
        """From the texts of a study file and of `sources_text`."""
        return cls(study=tomllib.loads(study), sources=json.loads(sources))

    @property
    def sources_text(self) -> str:
        """The sources as JSON."""
        return json.dumps(self.sources)

    @cached_property
    def digests(self) -> dict[str, str]:
        """The digest of every learner.

        It changes with anything that changes the learner's numbers but λ, which labels them.
        """
        shared = {name: self.study.get(name) for name in (*SAME_IN_FOLDER, "keep_test_tasks")}
        shared |= {"code": self.sources.get("headstart"), "files": self.sources.get("environment")}
        return {one["name"]: self._digest(one, shared) for one in self.study["learners"]}

    def _digest(self, learner: Table, shared: Mapping[str, Any]) -> str:
        files = self.sources.get("learners", {}).get(learner["name"], {})
        own = {"learner": learner, "learner files": files}
        if not is_swept(learner):
            # It plays once, and its random numbers follow from the first value of the grid.
            own["regularization"] = self.study["regularization"][0]
        text = json.dumps({**shared, **own}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_swept(learner: Table) -> bool:
    """Whether anything in a learner's table follows the grid of regularizations."""
    return '"@regularization"' in json.dumps(learner)


def _learner_files(learner: LearnerSpec) -> dict[str, str]:
    files: dict[str, str] = {}
    for package, spec in learner.specs().items():
        files |= _files(spec, package)
    return files


def _files(spec: Spec, package: str) -> dict[str, str]:
    """The digests of files that a class and its settings depend on.

    Those are the modules of one's own classes, the files that settings name, and, where a class has
    a static method `files`, what it returns for the settings: the paths of the files it reads.
    """
    files = {text: Path(text) for text in spec.strings() if _is_file(text)}
    for part in spec.nested():
        if ":" in part.kind:
            files |= own_code.source_files(part.kind.partition(":")[0])
        kind = find_class(part, package)
        if isinstance(getattr_static(kind, "files", None), staticmethod):
            for path in map(Path, getattr(kind, "files")(**part.settings)):  # noqa: B009 - for mypy
                label = path.name if files.get(path.name, path) == path else str(path)
                files[label] = path
    return {name: own_code.file_digest(path) for name, path in sorted(files.items())}


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long, or not a path at all
        return False
