"""Downloads: the publishers' archives, checked by their contents before they are stored."""

import logging
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

from headstart.datasets.locations import folders
from headstart.datasets.published import Published, check, read


def fetch(published: Published, data: str | Path | None = None, url: str | None = None) -> Path:
    """Download, check and store a published data set; returns its file of ratings.

    It is stored in the folder that `locations.locate` searches first, so that it replaces a damaged
    file. An archive whose ratings are not the published ones is not stored.
    """
    try:
        import pooch  # noqa: F401, PLC0415 - only the extra `data` brings it
    except ImportError as error:
        raise ImportError("downloading needs pooch: pip install 'headstart[data]'") from error
    address = published.url if url is None else url
    home = folders(data)[0]
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home, prefix=".fetching-") as name:
        temporary = Path(name)
        archive = _download(address, temporary)
        unpacked = _unpack(archive, temporary / published.folder, address)
        _check(published, unpacked, address)
        target = home / published.folder
        target.mkdir(exist_ok=True)
        for path in sorted(unpacked.iterdir()):
            os.replace(path, target / path.name)
    return target / published.file


def _download(address: str, folder: Path) -> Path:
    import pooch  # noqa: PLC0415 - as above

    # At the level INFO, pooch advises pinning the checksum of the downloaded file.
    pooch.get_logger().setLevel(logging.WARNING)
    try:
        archive = pooch.retrieve(
            address,
            known_hash=None,
            path=folder,
            fname="archive.zip",
            downloader=pooch.HTTPDownloader(timeout=60),
        )
    except OSError as error:
        # All errors of requests are OSErrors. One about a status such as 404 still holds the
        # response, whose connection pooch leaves open.
        response = getattr(error, "response", None)
        if response is not None:
            response.close()
        raise ConnectionError(f"cannot download {address}: {error}") from error
    return Path(archive)


def _check(published: Published, folder: Path, address: str) -> None:
    """Raise unless the folder holds the published ratings."""
    ratings = folder / published.file
    if not ratings.is_file():
        held = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        raise ValueError(f"{address} must hold {published.file}, got {held}")
    try:
        check(published, read(published, ratings))
    except ValueError as error:
        problem = str(error).replace(str(ratings), published.file)
        raise ValueError(f"{address} must hold the published ratings: {problem}") from error


def _unpack(archive: Path, folder: Path, address: str) -> Path:
    """The archive's files without their folders, which not every archive has."""
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
