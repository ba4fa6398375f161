"""Settings of a bandit on the command line: --set, --policy, --prior, and a TOML file."""

import inspect
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headstart import MetaBandit, specs
from headstart.live import settings as live

# The package of the classes of each part that is a spec.
_PARTS = {"policy": "policies", "prior": "priors"}
# What a command cannot set: the dimension follows from the log, and a clock is code.
_NOT_SET = ("dimension", "clock", *_PARTS)


def bandit_settings(
    file: Path | None, given: Sequence[str], policy: Sequence[str], prior: Sequence[str]
) -> dict[str, Any]:
    """The arguments of MetaBandit: from the file, overridden by the command."""
    table = {} if file is None else _read(file)
    words = {"policy": policy, "prior": prior}
    settings: dict[str, Any] = {}
    for part, package in _PARTS.items():
        spec = _spec(part, words[part]) if words[part] else table.pop(part, None)
        table.pop(part, None)
        if spec is not None:
            settings[part] = specs.build(specs.read(spec, part), package, where=part)
    for text in given:
        name, value = _assignment(text, "--set")
        table[name] = value
    known = _known()
    for name, value in table.items():
        if name not in known:
            raise ValueError(
                f"{name} = {value!r} is not a setting of a bandit; it takes "
                f"{', '.join([*_PARTS, *known])}"
            )
    return {**settings, **table}


def _known() -> list[str]:
    """The settings of MetaBandit that plain data can give."""
    own = inspect.signature(MetaBandit).parameters.values()
    named = [each.name for each in own if each.kind is not each.VAR_KEYWORD]
    return [name for name in (*named, *live.names()) if name not in _NOT_SET]


def names_of(text: str) -> list[str]:
    """The names in a comma-separated list; blanks around them do not count."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise ValueError(f"columns must be names separated by commas, got {text!r}")
    return found


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"settings must be a TOML file, got {file}: {error}") from error


def _spec(part: str, words: Sequence[str]) -> dict[str, Any]:
    """A class and its settings: the word without "=" is the class."""
    classes = [word for word in words if "=" not in word]
    if len(classes) != 1:
        raise ValueError(
            f"--{part} must name one class, as in --{part} NAME --{part} setting=value, "
            f"got {' '.join(words)!r}"
        )
    given = [_assignment(word, f"--{part}") for word in words if "=" in word]
    return {"class": classes[0], **dict(given)}


def _assignment(text: str, option: str) -> tuple[str, Any]:
    """A name and its value in TOML; 0,1 means [0, 1], and a word that is not TOML is a string."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals and value):
        raise ValueError(f"{option} must be name=value, got {text!r}")
    for form in (value, f"[{value}]") if "," in value else (value,):
        try:
            return name, tomllib.loads(f"value = {form}")["value"]
        except tomllib.TOMLDecodeError:
            pass
    return name, value
