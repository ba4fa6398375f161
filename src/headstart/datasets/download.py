"""Downloads: the publishers' archives, checked by what they hold before they are kept."""

import logging
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

from headstart.datasets.locations import folders
from headstart.datasets.published import Published, check, read


def fetch(published: Published, data: str | Path | None = None, url: str | None = None) -> Path:
    """Download, check and keep a published set; returns its file of ratings.

    It goes where `places.locate` looks first, so that a damaged file is really replaced. Nothing
    is kept of an archive whose ratings are not the published ones.
    """
    try:
        import pooch  # noqa: PLC0415 - only the extra `data` brings it
    except ImportError as error:
        raise ImportError("downloading needs pooch: pip install 'headstart[data]'") from error
    address = published.url if url is None else url
    home = folders(data)[0]
    home.mkdir(parents=True, exist_ok=True)
    # pooch would advise everybody to pin the checksum of whatever arrived.
    pooch.get_logger().setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory(dir=home, prefix=".fetching-") as folder:
        part = Path(folder)
        try:
            archive = pooch.retrieve(
                address,
                known_hash=None,
                path=part,
                fname="archive.zip",
                downloader=pooch.HTTPDownloader(timeout=60),
            )
        except OSError as error:
            # Everything that requests raises is an OSError. One about a status such as 404 still
            # holds the answer, whose connection pooch leaves open.
            answer = getattr(error, "response", None)
            if answer is not None:
                answer.close()
            raise ConnectionError(f"{address} could not be downloaded: {error}") from error
        found = _unpack(Path(archive), part / published.folder, address)
        ratings = found / published.file
        if not ratings.is_file():
            held = ", ".join(sorted(path.name for path in found.iterdir())) or "nothing"
            raise ValueError(f"{address} must hold {published.file}, got {held}")
        try:
            check(published, read(published, ratings))
        except ValueError as error:
            problem = str(error).replace(str(ratings), published.file)
            raise ValueError(f"{address} holds something else: {problem}") from error
        target = home / published.folder
        target.mkdir(exist_ok=True)
        for path in sorted(found.iterdir()):
            os.replace(path, target / path.name)
    return target / published.file


def _unpack(archive: Path, folder: Path, address: str) -> Path:
    """The archive's files, without their folders: one publisher packs with one, one without."""
    folder.mkdir()
    try:
        with zipfile.ZipFile(archive) as packed:
            for member in packed.infolist():
                name = Path(member.filename).name
                if member.is_dir() or name.startswith(".") or "__MACOSX" in member.filename:
                    continue
                with packed.open(member) as source, (folder / name).open("wb") as sink:
                    shutil.copyfileobj(source, sink)
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise ValueError(f"{address} must be a zip archive: {error}") from error
    return folder
