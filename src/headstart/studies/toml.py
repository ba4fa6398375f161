"""A study from the text of a TOML file; errors name the key, the value and what was expected."""

import inspect
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar, cast

import xarray as xr

from headstart import checks, specs
from headstart.studies.study import PROTOCOL_OF, PROTOCOLS, LearnerSpec, Study

T = TypeVar("T")


def from_toml(text: str, folder: str | Path = "") -> Study:
    """The study in a text.

    Examples
    --------
    >>> from headstart import studies
    >>> study = studies.from_toml('''
    ... name = "small"
    ... horizon = 20
    ... tasks = 3
    ... replications = 4
    ... [environment]
    ... class = "Synthetic"
    ... [[learners]]
    ... name = "ITL"
    ... policy = {class = "OFUL"}
    ... prior = {class = "Fixed"}
    ... ''')
    >>> study.n_shards, study.learners[0].name
    (1, 'ITL')
    """
    studies = every_from_toml(text, folder)
    if len(studies) > 1:
        raise ValueError("sweep makes several studies: every_from_toml returns them all")
    return studies[0]


def every_from_toml(text: str, folder: str | Path = "") -> list[Study]:
    """The studies in a text: one, or one for each combination of values of its `sweep`."""
    table = tomllib.loads(text)
    sweep = table.pop("sweep", {})
    if not isinstance(sweep, Mapping):
        raise ValueError(f"sweep must be a table of lists, got {sweep!r}")
    return Study(**_settings(table), folder=str(folder)).over(sweep)


def _settings(table: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a study that a table has."""
    known = {f.name for f in fields(Study)} - {"folder"} | {"sweep"}
    for name, value in table.items():
        if name not in known:
            raise ValueError(f"{name} = {value!r} is not a key of a study; it has {_list(known)}")
    for f in fields(Study):
        if f.default is MISSING and f.default_factory is MISSING and f.name not in table:
            raise ValueError(f"{f.name} is missing; a study must have it")
    protocol = checks.one_of("protocol", table.get("protocol", "sequence"), PROTOCOLS)
    for name, only in PROTOCOL_OF.items():
        if name in table and only != protocol:
            raise ValueError(f"{name} = {table[name]!r} is for protocol {only!r}, got {protocol!r}")
    settings = dict(table)
    settings["environment"] = specs.read(table["environment"], "environment")
    if not isinstance(table["learners"], list):
        raise ValueError(f"learners must be a list of tables, got {table['learners']!r}")
    settings["learners"] = tuple(
        _learner(given, f"learners[{i}]") for i, given in enumerate(table["learners"])
    )
    return settings


def of_results(results: xr.Dataset) -> Study:
    """The study that made results; its own classes are not imported, and may be gone."""
    settings = _settings(tomllib.loads(str(results.attrs["study"])))
    defaults = {f.name: f.default for f in fields(Study)}
    lists = {name: tuple(value) for name, value in settings.items() if isinstance(value, list)}
    folder = str(results.attrs.get("folder", ""))
    return checks.trusted(Study, **defaults | settings | lists | {"folder": folder})


def from_file(path: str | Path) -> Study:
    """The study in a file; your own classes are found next to it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart import studies
    >>> from headstart.specs import Spec
    >>> opt = studies.LearnerSpec(name="OPT")
    >>> synthetic = Spec(kind="Synthetic")
    >>> mine = studies.Study(name="mine", environment=synthetic, learners=(opt,), horizon=5)
    >>> _ = Path("mine.toml").write_text(mine.to_toml())
    >>> studies.from_file(Path("mine.toml")) == mine
    True
    """
    return _read(path, from_toml)


def every_from_file(path: str | Path) -> list[Study]:
    """The studies in a file: several if it has a `sweep`."""
    return _read(path, every_from_toml)


def _read(path: str | Path, read: Callable[[str, Path], T]) -> T:
    file = Path(path)
    try:
        return read(file.read_text(encoding="utf-8"), file.absolute().parent)
    except (ValueError, OSError) as error:
        raise ValueError(f"{path}: {error}") from error


def _learner(table: object, where: str) -> LearnerSpec:
    if not isinstance(table, Mapping):
        raise ValueError(f"{where} must be a table, got {table!r}")
    if "method" in table:
        return _method(table, where)
    known = {f.name for f in fields(LearnerSpec)}
    for name, value in table.items():
        if name not in known:
            raise ValueError(
                f"{where}.{name} = {value!r} is not a key of a learner; it has {_list(known)}"
            )
    if "name" not in table:
        raise ValueError(f"{where}.name is missing; a learner must have it")
    given = {
        name: specs.read(table[name], f"{where}.{name}")
        for name in ("policy", "prior")
        if name in table
    }
    return LearnerSpec(name=table["name"], **given)


def _method(table: Mapping[str, object], where: str) -> LearnerSpec:
    """A published method, or an agent of one's own: all other keys are its settings."""
    method = table["method"]
    known = specs.methods()
    if not isinstance(method, str):
        raise ValueError(f"{where}.method must be the name of a method, got {method!r}")
    own: object = None
    if ":" not in method:
        checks.one_of(f"{where}.method", method, known)
        own = inspect.signature(known[method]).parameters["name"].default
    elif "name" not in table:
        raise ValueError(f"{where}.name is missing; a learner must have it")
    settings = {name: value for name, value in table.items() if name not in {"method", "name"}}
    spec = specs.read({"class": method, **settings}, where)
    return LearnerSpec(name=cast(str, table.get("name", own)), method=spec)


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names))
