"""Parts of a study: a class of one of the rooms by name, with its settings, and how it is built.

A name is looked up in the room itself (`headstart.policies.__all__` and so on), so that a new
class can be named in a study without being listed anywhere else. A class of one's own is named
"module:Class". "Class.constructor" names a class method that makes one, such as
"Ratings.from_file".
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from importlib import import_module
from types import MappingProxyType

from headstart import checks

# What TOML can say: numbers, words, lists of them, and parts within parts.
Setting = object

# What makes a class of a room a policy, a prior estimator or an environment.
_DUTY = {"policies": "scores", "priors": "absorb", "environments": "sample"}


@dataclass(frozen=True, kw_only=True)
class Part:
    """A class by name, and settings for its constructor.

    A setting may itself be a part of the same room. A word that begins with @ stands for what is
    known only while the study runs: @regularization is the value of the grid, and any other,
    such as @mean_parameter, an attribute of the prepared environment.
    """

    kind: str
    settings: Mapping[str, Setting] = field(default_factory=dict)

    def __post_init__(self) -> None:
        frozen = {name: _freeze(value) for name, value in self.settings.items()}
        object.__setattr__(self, "settings", MappingProxyType(frozen))

    def __reduce__(self) -> tuple[Callable[..., "Part"], tuple[object, ...]]:
        # A read-only view cannot be pickled; what it shows can.
        return _part, (self.kind, dict(self.settings))

    def names(self) -> set[str]:
        """The names that the study leaves to the run, without their @."""
        found: set[str] = set()
        for value in self.settings.values():
            if isinstance(value, Part):
                found |= value.names()
            elif _is_late(value):
                found.add(str(value)[1:])
        return found

    def plain(self) -> dict[str, Setting]:
        """As a TOML table."""
        table: dict[str, Setting] = {"class": self.kind}
        for name, value in self.settings.items():
            if isinstance(value, Part):
                table[name] = value.plain()
            else:
                table[name] = _thaw(value)
        return table


def build(
    part: Part, room: str, *, where: str, known: Callable[[str], object] | None = None
) -> object:
    """Construct the part; `known` gives what a word with @ stands for."""
    made = _find(part.kind, room, where)
    settings: dict[str, object] = {}
    for name, value in _checked(part, made, where).items():
        place = f"{where}.{name}"
        if isinstance(value, Part):
            settings[name] = build(value, room, where=place, known=known)
        elif _is_late(value):
            if known is None:
                raise ValueError(f"{place} must be a plain value, got {value!r}")
            settings[name] = known(str(value)[1:])
        else:
            settings[name] = _thaw(value)
    try:
        return _maker(part.kind, made, where)(**settings)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error


def check(part: Part, room: str, *, where: str) -> None:
    """Raise what building the part would raise, as far as it can be known before the run."""
    made = _find(part.kind, room, where, whole=True)
    _checked(part, made, where)
    plain = {name: value for name, value in part.settings.items() if not _is_late(value)}
    nested = [value for value in plain.values() if isinstance(value, Part) and value.names()]
    required = {
        f.name for f in fields(made) if f.default is MISSING and f.default_factory is MISSING
    }
    if not nested and not (required & part.names()):
        build(Part(kind=part.kind, settings=plain), room, where=where)


def check_names(part: Part, room: str, *, where: str) -> None:
    """Check the class and the names of its settings, without building it."""
    _checked(part, _find(part.kind, room, where, whole=True), where)


def read(table: object, where: str) -> Part:
    """A part from a TOML table."""
    if not isinstance(table, Mapping):
        raise ValueError(f'{where} must be a table with a "class", got {table!r}')
    if not isinstance(table.get("class"), str):
        raise ValueError(f"{where}.class must be the name of a class, got {table.get('class')!r}")
    settings = {}
    for name, value in table.items():
        if name != "class":
            nested = isinstance(value, Mapping)
            settings[name] = read(value, f"{where}.{name}") if nested else value
    return Part(kind=table["class"], settings=settings)


def _maker(kind: str, made: type, where: str) -> Callable[..., object]:
    """The class, or the class method that the name asks for."""
    _, _, constructor = kind.rpartition(":")[2].partition(".")
    if not constructor:
        return made
    found = getattr(made, constructor, None)
    if not inspect.ismethod(found) or constructor.startswith("_"):
        raise ValueError(f"{where}.class must be a class or one of its class methods, got {kind!r}")
    return found


def _find(kind: str, room: str, where: str, whole: bool = False) -> type:
    if ":" in kind:
        module_name, _, name = kind.partition(":")
        name = name.partition(".")[0]
        try:
            found = getattr(import_module(module_name), name)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"{where}.class {kind!r} cannot be imported: {error}") from error
        if not is_dataclass(found) or not isinstance(found, type):
            raise ValueError(f"{where}.class must be a dataclass, got {kind!r}")
        return found
    module = import_module(f"headstart.{room}")
    classes: dict[str, type] = {name: getattr(module, name) for name in module.__all__}
    classes = {
        name: made
        for name, made in classes.items()
        if is_dataclass(made) and (not whole or hasattr(made, _DUTY[room]))
    }
    return classes[checks.one_of(f"{where}.class", kind.partition(".")[0], classes)]


def _checked(part: Part, made: type, where: str) -> Mapping[str, Setting]:
    maker = _maker(part.kind, made, where)
    known = {f.name for f in fields(made) if f.init}
    if maker is not made:
        taken = inspect.signature(maker).parameters.values()
        passed_on = any(p.kind is p.VAR_KEYWORD for p in taken)
        own = {p.name for p in taken if p.kind is not p.VAR_KEYWORD}
        known = own | known if passed_on else own
    for name, value in part.settings.items():
        if name not in known:
            raise ValueError(
                f"{where}.{name} = {value!r} is not a setting of {part.kind}; "
                f"it takes {', '.join(sorted(known)) or 'none'}"
            )
    return part.settings


def _part(kind: str, settings: dict[str, Setting]) -> Part:
    return Part(kind=kind, settings=settings)


def _is_late(value: Setting) -> bool:
    return isinstance(value, str) and value.startswith("@")


def _freeze(value: Setting) -> Setting:
    return tuple(_freeze(item) for item in value) if isinstance(value, list | tuple) else value


def _thaw(value: Setting) -> Setting:
    return [_thaw(item) for item in value] if isinstance(value, tuple) else value
