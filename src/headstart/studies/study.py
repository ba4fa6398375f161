"""Study: an experiment as data, in Python or in a TOML file."""

import hashlib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast

import tomli_w

from headstart import checks
from headstart import specs as parts
from headstart.interfaces import Environment, Policy, PriorEstimator
from headstart.simulation.learner import Learner, Optimal
from headstart.specs import Part

Protocol = Literal["sequence", "train-then-test"]

_PROTOCOLS = ("sequence", "train-then-test")

# Settings that only one of the protocols has.
_ONLY = {"tasks": "sequence", "training_tasks": "train-then-test", "test_tasks": "train-then-test"}

_FORBIDDEN = set('/\\:*?"<>|')


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """A learner of a study: a policy and a prior, or neither for OPT."""

    name: str
    policy: Part | None = None
    prior: Part | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"a learner's name must be a word, got {self.name!r}")
        if (self.policy is None) != (self.prior is None):
            raise ValueError(
                f"learner {self.name!r} must have a policy and a prior, or neither to be OPT"
            )

    @property
    def swept(self) -> bool:
        """Whether anything in it follows the grid of regularizations."""
        return any("regularization" in part.names() for part in (self.policy, self.prior) if part)

    def build(self, name: str, known: Callable[[str], object]) -> Learner | Optimal:
        """The learner, under a name of its own; `known` says what words with @ stand for."""
        if self.policy is None or self.prior is None:
            return Optimal(name)
        where = f"learner {self.name!r}"
        policy = parts.build(self.policy, "policies", where=f"{where} policy", known=known)
        prior = parts.build(self.prior, "priors", where=f"{where} prior", known=known)
        return Learner(name, cast(Policy, policy), cast(PriorEstimator, prior))


@dataclass(frozen=True, kw_only=True)
class Study:
    """An experiment: learners that meet the same tasks, at every regularization of a grid.

    `sequence` plays `tasks` tasks in a row, memory carried along (`simulate`); `train-then-test`
    plays `test_tasks` from the memory after each of `training_tasks` (`evaluate`). Replications
    are played in shards of `shard`, each with a random stream of its own that follows from the
    seed and the shard's number.
    """

    name: str
    environment: Part
    learners: tuple[Contestant, ...]
    horizon: int
    protocol: Protocol = "sequence"
    tasks: int = 20
    training_tasks: tuple[int, ...] = (10,)
    test_tasks: int = 10
    regularization: tuple[float, ...] = (1.0,)
    replications: int = 100
    shard: int = 25
    seed: int = 0
    about: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or set(self.name) & _FORBIDDEN:
            raise ValueError(f"name must be a word that can name a folder, got {self.name!r}")
        checks.one_of("protocol", self.protocol, _PROTOCOLS)
        for f in fields(self):
            # What the protocol does not use has no say in whether two studies are equal.
            if _ONLY.get(f.name, self.protocol) != self.protocol:
                object.__setattr__(self, f.name, f.default)
        for name in ("horizon", "tasks", "test_tasks", "replications", "shard"):
            checks.count(name, getattr(self, name))
        checks.count("seed", self.seed, least=0)
        sizes = tuple(
            checks.count("training_tasks", n, least=0) for n in self._listed("training_tasks")
        )
        grid = tuple(checks.positive("regularization", g) for g in self._listed("regularization"))
        object.__setattr__(self, "training_tasks", sizes)
        object.__setattr__(self, "regularization", grid)
        object.__setattr__(self, "learners", tuple(self.learners))
        parts.check_names(self.environment, "environments", where="environment")
        names = [learner.name for learner in self.learners]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"learners must be one or more with different names, got {names}")
        for learner in self.learners:
            for room, part in (("policies", learner.policy), ("priors", learner.prior)):
                if part is not None:
                    kind = "policy" if room == "policies" else "prior"
                    parts.check(part, room, where=f"learner {learner.name!r} {kind}")

    def _listed(self, name: str) -> tuple[Any, ...]:
        values = getattr(self, name)
        if not isinstance(values, list | tuple) or not values or len(set(values)) < len(values):
            raise ValueError(
                f"{name} must be a list of one or more different numbers, got {values!r}"
            )
        return tuple(values)

    @property
    def n_shards(self) -> int:
        """How many units of work it is made of."""
        return -(-self.replications // self.shard)

    @property
    def digest(self) -> str:
        """Eight letters that change with anything that changes the numbers."""
        plain = {
            name: value for name, value in self.plain().items() if name not in {"name", "about"}
        }
        return hashlib.sha256(tomli_w.dumps(plain).encode()).hexdigest()[:8]

    def environment_built(self) -> Environment:
        """The environment, not yet prepared."""
        return cast(Environment, parts.build(self.environment, "environments", where="environment"))

    def plain(self) -> dict[str, object]:
        """As a TOML table: what the protocol uses, and only that."""
        table: dict[str, object] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if (
                f.name in {"environment", "learners"}
                or _ONLY.get(f.name, self.protocol) != self.protocol
            ):
                continue
            if value != "":
                table[f.name] = list(value) if isinstance(value, tuple) else value
        table["environment"] = self.environment.plain()
        table["learners"] = [_plain(learner) for learner in self.learners]
        return table

    def to_toml(self) -> str:
        """The text of a study file."""
        return tomli_w.dumps(self.plain())


def from_toml(text: str) -> Study:
    """The study in the text of a file; an error names the key, the value and what was expected."""
    table = tomllib.loads(text)
    known = {f.name for f in fields(Study)}
    for name, value in table.items():
        if name not in known:
            raise ValueError(f"{name} = {value!r} is not a key of a study; it has {_list(known)}")
    for f in fields(Study):
        if f.default is MISSING and f.default_factory is MISSING and f.name not in table:
            raise ValueError(f"{f.name} is missing; a study must have it")
    protocol = checks.one_of("protocol", table.get("protocol", "sequence"), _PROTOCOLS)
    for name, only in _ONLY.items():
        if name in table and only != protocol:
            raise ValueError(f"{name} = {table[name]!r} is for protocol {only!r}, got {protocol!r}")
    settings = dict(table)
    settings["environment"] = parts.read(table["environment"], "environment")
    if not isinstance(table["learners"], list):
        raise ValueError(f"learners must be a list of tables, got {table['learners']!r}")
    settings["learners"] = tuple(
        _contestant(given, f"learners[{i}]") for i, given in enumerate(table["learners"])
    )
    return Study(**settings)


def from_file(path: Path) -> Study:
    """The study in a file."""
    try:
        return from_toml(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise ValueError(f"{path}: {error}") from error


def _contestant(table: object, where: str) -> Contestant:
    if not isinstance(table, Mapping):
        raise ValueError(f"{where} must be a table, got {table!r}")
    known = {f.name for f in fields(Contestant)}
    for name, value in table.items():
        if name not in known:
            raise ValueError(
                f"{where}.{name} = {value!r} is not a key of a learner; it has {_list(known)}"
            )
    rooms = {
        name: parts.read(table[name], f"{where}.{name}")
        for name in ("policy", "prior")
        if name in table
    }
    if "name" not in table:
        raise ValueError(f"{where}.name is missing; a learner must have it")
    return Contestant(name=table["name"], **rooms)


def _plain(learner: Contestant) -> dict[str, object]:
    table: dict[str, object] = {"name": learner.name}
    for name, part in (("policy", learner.policy), ("prior", learner.prior)):
        if part is not None:
            table[name] = part.plain()
    return table


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names))
