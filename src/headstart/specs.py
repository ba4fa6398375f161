"""Specs: a class by name with its settings as plain data, built into an object and back.

A name is looked up in the package itself (`headstart.policies.__all__` and so on), so a new class
need not be listed anywhere else. A class outside headstart is named "module:Class".
"Class.constructor" names a class method that makes one, such as "Ratings.from_file". In the package
"methods", names are functions and agents of `headstart.learners`, or agents of other modules; their
settings may be specs of policies.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from importlib import import_module
from types import MappingProxyType

import numpy as np

from headstart import checks, own_code

# A class, or a function, that makes what a spec describes.
Maker = type | Callable[..., object]

# What TOML and JSON can hold: numbers, strings, lists of them, arrays, and specs within specs.
Setting = object

# A class of a package must have one of these methods to be a policy, a prior estimator and so on.
_METHODS = {
    "policies": ("scores",),
    "priors": ("absorb",),
    "environments": ("sample",),
    "learners": ("play",),
}

_CLASS, _ARRAY = "class", "array"

# The names of `headstart.learners`, as a package of specs.
METHODS = "methods"


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A class by name, and settings for its constructor.

    A setting may itself be a spec of the same package. A string that begins with @ names a value
    that is known only while a study runs: @regularization is the value of the grid; any other, such
    as @mean_parameter, is an attribute of the prepared environment.
    """

    kind: str
    settings: Mapping[str, Setting] = field(default_factory=dict)

    def __post_init__(self) -> None:
        frozen = {name: _freeze(value) for name, value in self.settings.items()}
        object.__setattr__(self, "settings", MappingProxyType(frozen))

    def __reduce__(self) -> tuple[Callable[..., "Spec"], tuple[object, ...]]:
        # A read-only view cannot be pickled; the mapping behind it can.
        return _spec, (self.kind, dict(self.settings))

    def replaced(self, name: str, value: Setting) -> "Spec":
        """The spec with another value of a setting; "a.b" is the setting b of the spec a."""
        first, _, rest = name.partition(".")
        within = self.settings.get(first)
        if rest:
            if not isinstance(within, Spec):
                raise ValueError(f"{first} must be a table with a class, got {within!r}")
            value = within.replaced(rest, value)
        return Spec(kind=self.kind, settings={**self.settings, first: value})

    def placeholders(self) -> set[str]:
        """The names that the run fills in, without their @."""
        return set().union(*map(_placeholders, self.settings.values()))

    def nested(self) -> Iterator["Spec"]:
        """The spec itself, and all specs in its settings."""
        yield self
        for value in self.settings.values():
            yield from _nested(value)

    def strings(self) -> set[str]:
        """All strings in its settings."""
        return set().union(*map(_strings, self.settings.values()))

    def plain(self) -> dict[str, Setting]:
        """As a TOML or JSON table."""
        return {_CLASS: self.kind} | {name: _plain(value) for name, value in self.settings.items()}


@dataclass(frozen=True)
class _Array:
    """The numbers of an array, as nested tuples."""

    numbers: Setting


def read(table: object, where: str) -> Spec:
    """The spec in a table; `where` names it in errors."""
    if not isinstance(table, Mapping):
        raise ValueError(f'{where} must be a table with a "class", got {table!r}')
    if not isinstance(table.get(_CLASS), str):
        raise ValueError(f"{where}.class must be the name of a class, got {table.get(_CLASS)!r}")
    settings = {
        name: _read_setting(value, f"{where}.{name}")
        for name, value in table.items()
        if name != _CLASS
    }
    return Spec(kind=table[_CLASS], settings=settings)


def build(
    spec: Spec, package: str, *, where: str, resolve: Callable[[str], object] | None = None
) -> object:
    """Construct the object; `resolve` returns the value that a string with @ names."""
    made = _find(spec.kind, package, where)
    _check_settings(spec, made, where)

    def built(value: Setting, at: str) -> object:
        if isinstance(value, Spec):
            return build(value, package, where=at, resolve=resolve)
        if isinstance(value, _Array):
            return np.asarray(value.numbers, dtype=np.float64)
        if isinstance(value, tuple):
            return [built(item, at) for item in value]
        if not _is_placeholder(value):
            return value
        if resolve is None:
            raise ValueError(f"{at} must be a plain value, got {value!r}")
        return resolve(str(value)[1:])

    settings = {name: built(value, f"{where}.{name}") for name, value in spec.settings.items()}
    try:
        return _maker(spec.kind, made, where)(**settings)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error


def check(spec: Spec, package: str, *, where: str) -> None:
    """Raise what `build` would raise, as far as known before the run."""
    _check(spec, check_names(spec, package, where=where), package, where)


def check_names(spec: Spec, package: str, *, where: str) -> Maker:
    """Check the class and the names of its settings, without building it; return the class."""
    made = _find(spec.kind, package, where, having=_METHODS.get(package, ()))
    _check_settings(spec, made, where)
    return made


def find_class(spec: Spec, package: str) -> Maker:
    """The class or method that a spec names."""
    return _find(spec.kind, package, spec.kind)


def describe(made: object, package: str, *, defaults: bool = True) -> Spec:
    """The spec of a dataclass of plain values, of the package or of another module.

    Without `defaults`, numbers and words that equal their defaults are left out.
    """
    if not is_dataclass(made) or isinstance(made, type):
        raise ValueError(f"only a dataclass of plain values can become data, got {made!r}")
    kind = type(made)
    if kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        raise ValueError(
            f"{kind.__name__} must be defined in a module that others can import: put it into a "
            "separate file and import it from there"
        )
    public = getattr(import_module(f"headstart.{package}"), kind.__name__, None) is kind
    name = kind.__name__ if public else f"{kind.__module__}:{kind.__qualname__}"
    if hasattr(made, "constructed"):  # a class method that made it, with plain settings
        constructor, given = made.constructed
        settings = {name: _describe(value, package) for name, value in given.items()}
        return Spec(kind=f"{name}.{constructor}", settings=settings)
    values = ((f, getattr(made, f.name)) for f in fields(made) if f.init)
    settings = {
        f.name: _describe(value, package)
        for f, value in values
        if defaults or not _is_plain(value) or value != f.default
    }
    return Spec(kind=name, settings=settings)


def rebuild(table: object, package: str, *, where: str) -> object:
    """The object that `describe` described, from its table. Nothing is imported for it."""
    spec = read(table, where)
    _refuse_imports(spec, where)
    return build(spec, package, where=where)


def _refuse_imports(value: Setting, where: str) -> None:
    if isinstance(value, Spec):
        if not value.kind.isidentifier():
            raise ValueError(
                f"{where}.class {value.kind!r} is not part of headstart, and files import nothing: "
                "pass the object itself"
            )
        for name, setting in value.settings.items():
            _refuse_imports(setting, f"{where}.{name}")
    elif isinstance(value, tuple):
        for item in value:
            _refuse_imports(item, where)


def _check(spec: Spec, made: Maker, package: str, where: str) -> None:
    _check_settings(spec, made, where)
    late = {name for name, value in spec.settings.items() if _placeholders(value)}
    for name in late:
        value, at = spec.settings[name], f"{where}.{name}"
        if isinstance(value, Spec):
            _check(value, _find(value.kind, package, at), package, at)
    if not _required(made) & late:
        known = {name: value for name, value in spec.settings.items() if name not in late}
        build(Spec(kind=spec.kind, settings=known), package, where=where)


def _required(made: Maker) -> set[str]:
    """The required settings."""
    if not isinstance(made, type):
        taken = inspect.signature(made).parameters.values()
        return {each.name for each in taken if each.default is each.empty}
    return {f.name for f in fields(made) if f.default is MISSING and f.default_factory is MISSING}


def methods() -> dict[str, Callable[..., object]]:
    """The functions and agents of `headstart.learners`, by name."""
    module = import_module("headstart.learners")
    return {name: getattr(module, name) for name in module.__all__}


def _find(kind: str, package: str, where: str, having: tuple[str, ...] = ()) -> Maker:
    """The dataclass of that name; with `having`, it must have one of these methods."""
    if package == METHODS:
        known = methods()
        # One's own, or a policy within the settings of a method.
        if ":" in kind or (kind[:1].isupper() and kind not in known):
            return _find(kind, "policies", where)
        return known[checks.one_of(where, kind, known)]
    if ":" in kind:
        module_name, _, name = kind.partition(":")
        name = name.partition(".")[0]
        try:
            found = getattr(own_code.load(module_name), name)
        except Exception as error:  # anything that the module's own code raises
            raise ValueError(
                f"{where}.class {kind!r} cannot be imported: {type(error).__name__}: {error}"
            ) from error
        if not is_dataclass(found) or not isinstance(found, type):
            raise ValueError(f"{where}.class must be a dataclass, got {kind!r}")
        return found
    module = import_module(f"headstart.{package}")
    classes: dict[str, type] = {name: getattr(module, name) for name in module.__all__}
    classes = {
        name: made
        for name, made in classes.items()
        if is_dataclass(made) and (not having or any(hasattr(made, name) for name in having))
    }
    return classes[checks.one_of(f"{where}.class", kind.partition(".")[0], classes)]


def _maker(kind: str, made: Maker, where: str) -> Callable[..., object]:
    """The class, or the class method of that name."""
    _, _, constructor = kind.rpartition(":")[2].partition(".")
    if not constructor:
        return made
    found = getattr(made, constructor, None)
    if not inspect.ismethod(found) or constructor.startswith("_"):
        raise ValueError(f"{where}.class must be a class or one of its class methods, got {kind!r}")
    return found


def _check_settings(spec: Spec, made: Maker, where: str) -> None:
    maker = _maker(spec.kind, made, where)
    known = {f.name for f in fields(made) if f.init} if isinstance(made, type) else set()
    if maker is not made or not isinstance(made, type):
        taken = inspect.signature(maker).parameters.values()
        passed_on = any(p.kind is p.VAR_KEYWORD for p in taken)
        own = {p.name for p in taken if p.kind is not p.VAR_KEYWORD}
        known = own | known if passed_on else own
    for name, value in spec.settings.items():
        if name not in known:
            raise ValueError(
                f"{where}.{name} = {value!r} is not a setting of {spec.kind}; "
                f"it takes {', '.join(sorted(known)) or 'none'}"
            )


def _spec(kind: str, settings: dict[str, Setting]) -> Spec:
    return Spec(kind=kind, settings=settings)


def _placeholders(value: Setting) -> set[str]:
    if isinstance(value, Spec):
        return value.placeholders()
    if isinstance(value, tuple):
        return set().union(*map(_placeholders, value))
    return {str(value)[1:]} if _is_placeholder(value) else set()


def _nested(value: Setting) -> Iterator[Spec]:
    if isinstance(value, Spec):
        yield from value.nested()
    elif isinstance(value, tuple):
        for item in value:
            yield from _nested(item)


def _strings(value: Setting) -> set[str]:
    if isinstance(value, Spec):
        return value.strings()
    if isinstance(value, tuple):
        return set().union(*map(_strings, value))
    return {value} if isinstance(value, str) else set()


def _is_placeholder(value: Setting) -> bool:
    return isinstance(value, str) and value.startswith("@")


def _read_setting(value: Setting, where: str) -> Setting:
    if isinstance(value, Mapping):
        return _Array(_freeze(value[_ARRAY])) if set(value) == {_ARRAY} else read(value, where)
    return [_read_setting(item, where) for item in value] if isinstance(value, list) else value


def _describe(value: object, package: str) -> Setting:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return _Array(_freeze(value.tolist()))
    if isinstance(value, list | tuple):
        return tuple(_describe(item, package) for item in value)
    return value if _is_plain(value) else describe(value, package)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _plain(value: Setting) -> Setting:
    if isinstance(value, Spec):
        return value.plain()
    if isinstance(value, _Array):
        return {_ARRAY: _plain(value.numbers)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _freeze(value: Setting) -> Setting:
    return tuple(_freeze(item) for item in value) if isinstance(value, list | tuple) else value
