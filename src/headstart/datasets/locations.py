"""Where the files of published data are looked for."""

import os
from pathlib import Path

VARIABLE = "HEADSTART_DATA"


class DataMissing(FileNotFoundError):  # noqa: N818 - says what is the matter, as its parent does
    """A published file is in none of the places that were looked at."""


def cache() -> Path | None:
    """The folder for downloads, as the operating system has it; None without pooch."""
    try:
        import pooch  # noqa: PLC0415 - only the extra `data` brings it
    except ImportError:
        return None
    return Path(pooch.os_cache("headstart"))


def folders(data: str | Path | None = None) -> list[Path]:
    """Where files are looked for: in `data` alone, or in $HEADSTART_DATA, then in the cache."""
    if data is not None:
        return [Path(data)]
    named, cached = os.environ.get(VARIABLE), cache()
    return [Path(place) for place in (named, cached) if place]


def locate(folder: str, file: str, *, command: str, data: str | Path | None = None) -> Path:
    """The file, in the set's own folder or beside it; else DataMissing, with what to run."""
    places = folders(data)
    for place in places:
        for path in (place / folder / file, place / file):
            if path.is_file():
                return path
    where = " or ".join(str(place / folder) for place in places) or "any place"
    raise DataMissing(f"{file} is not in {where}. {mend(command, data)}")


def mend(command: str, data: str | Path | None = None) -> str:
    """The sentence that says how to get a good file to where it is looked for."""
    target = "" if data is None else f" --data {data}"
    need = " (first: pip install 'headstart[data]')" if cache() is None else ""
    hint = "" if data is not None else f", or point ${VARIABLE} at a folder that has it"
    return f"To get a good copy, run: headstart data fetch {command}{target}{need}{hint}"
