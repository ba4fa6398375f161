"""Where to look for the files of published data sets."""

import os
from pathlib import Path

VARIABLE = "HEADSTART_DATA"


class DataMissing(FileNotFoundError):  # noqa: N818 - as FileNotFoundError, without "Error"
    """A published file is in none of the searched folders.

    >>> try:
    ...     hs.environments.Ratings.lastfm(data="nowhere")
    ... except hs.environments.DataMissing as error:
    ...     print(str(error).split(". ")[0])
    user_artists.dat is not in nowhere/hetrec2011-lastfm-2k
    """


def cache() -> Path | None:
    """The operating system's folder for downloads; None without pooch."""
    try:
        import pooch  # noqa: PLC0415 - only the extra `data` brings it
    except ImportError:
        return None
    return Path(pooch.os_cache("headstart"))


def folders(data: str | Path | None = None) -> list[Path]:
    """The folders to search: `data` alone, or $HEADSTART_DATA, then the cache."""
    if data is not None:
        return [Path(data)]
    named, cached = os.environ.get(VARIABLE), cache()
    return [Path(folder) for folder in (named, cached) if folder]


def locate(folder: str, file: str, *, command: str, data: str | Path | None = None) -> Path:
    """The file, in the data set's own folder or next to it; else DataMissing says what to run."""
    searched = folders(data)
    for parent in searched:
        for path in (parent / folder / file, parent / file):
            if path.is_file():
                return path
    where = " or ".join(str(parent / folder) for parent in searched) or "any folder"
    raise DataMissing(f"{file} is not in {where}. {fetch_hint(command, data)}")


def fetch_hint(command: str, data: str | Path | None = None) -> str:
    """A sentence with the command that downloads the file to a searched folder."""
    target = "" if data is None else f" --data {data}"
    need = " (first: pip install 'headstart[data]')" if cache() is None else ""
    other = "" if data is not None else f", or set ${VARIABLE} to a folder that has it"
    return f"To download it, run: headstart data fetch {command}{target}{need}{other}"
