"""A study from the text of a TOML file; errors name the key, the value and what was expected."""

import inspect
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import cast

from headstart import checks, specs
from headstart.studies.study import PROTOCOL_OF, PROTOCOLS, LearnerSpec, Study


def from_toml(text: str, folder: str | Path = "") -> Study:
    """The study in a text.

    Parameters
    ----------
    text : str
        The study in TOML.
    folder : str or Path, optional
        Where your own classes are found.

    Returns
    -------
    Study

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
    table = tomllib.loads(text)
    known = {f.name for f in fields(Study)} - {"folder"}
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
    return Study(**settings, folder=str(folder))


def from_file(path: str | Path) -> Study:
    """The study in a file; your own classes are found next to it.

    Parameters
    ----------
    path : str or Path
        The TOML file.

    Returns
    -------
    Study

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
    file = Path(path)
    try:
        return from_toml(file.read_text(encoding="utf-8"), file.absolute().parent)
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
        for name in ("policy", "prior", "agent")
        if name in table
    }
    return LearnerSpec(name=table["name"], **given)


def _method(table: Mapping[str, object], where: str) -> LearnerSpec:
    """A published method: all keys except its name are its settings."""
    method = table["method"]
    known = specs.methods()
    if not isinstance(method, str):
        raise ValueError(f"{where}.method must be the name of a method, got {method!r}")
    checks.one_of(f"{where}.method", method, known)
    own = inspect.signature(known[method]).parameters["name"].default
    settings = {name: value for name, value in table.items() if name not in {"method", "name"}}
    spec = specs.read({"class": method, **settings}, where)
    return LearnerSpec(name=cast(str, table.get("name", own)), method=spec)


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names))
