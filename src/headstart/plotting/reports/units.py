"""What reward and regret are counted in."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from headstart import environments

# What a linear reward counts in the published data sets; a 0/1 reward counts wins everywhere.
_UNITS = {"LastFM": "plays", "MovieLens": "stars"}


def unit_of(environment: Mapping[str, object]) -> str:
    """The unit of reward in an environment, given as the table of a study."""
    if _setting(environment, "reward") == "winner":
        return "wins"
    unit = _UNITS.get(str(environment["class"]), "units of reward")
    return f"log(1 + {unit})" if _setting(environment, "transform") == "log" else unit


def _setting(environment: Mapping[str, object], name: str) -> object:
    """A setting of an environment, or its default."""
    if name in environment:
        return environment[name]
    found = getattr(environments, str(environment["class"]).split(".")[0], None)
    if found is None or not is_dataclass(found):
        return None
    return next((field.default for field in fields(found) if field.name == name), None)
