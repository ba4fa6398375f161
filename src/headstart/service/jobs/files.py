"""The files of jobs: files of the data folder that a request may name, and uploaded logs."""

import os
import shutil
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import IO

from headstart.logs.sources import find_files, is_text
from headstart.service.messages import ServiceError, invalid, unavailable

# The names under which uploads are kept, by their media type.
_UPLOADED = {
    "text/csv": "upload.csv",
    "application/vnd.apache.parquet": "upload.parquet",
}
MEDIA_TYPES = tuple(_UPLOADED)
LARGEST_UPLOAD = 1 << 28  # bytes, unless the operator says otherwise
# Uploads that no job names are deleted after this long.
_STALE_SECONDS = 86_400.0
_PATTERN_MARKS = "*?["
_BLOCK = 1 << 22


@dataclass(frozen=True, kw_only=True)
class Folders:
    """Where the files of jobs are.

    data: the folder of files that requests may name; None if they may name none. uploads: where
    uploaded logs are kept until their job has ended.
    """

    data: Path | None
    uploads: Path
    largest_upload: int = LARGEST_UPLOAD

    def resolve(self, names: Sequence[str]) -> list[str]:
        """The files that paths, folders and patterns name, relative to the data folder.

        Nothing outside it can be named, not even by "..", an absolute path, an address or a link.
        """
        if self.data is None:
            raise invalid(
                "files must not be given, since the service has no data folder: start it with "
                "--data, or upload the log"
            )
        root = self.data.resolve()
        paths: list[str] = []
        for name in names:
            for path in _expanded(root, _checked(name)):
                if not path.resolve().is_relative_to(root):
                    raise invalid(f"files must be in the data folder, got {name!r}, which is not")
                paths.append(str(path.relative_to(root)))
        seen: set[str] = set()
        for name in paths:
            if name in seen:
                raise invalid(f"files must be named once, got {name!r} twice")
            seen.add(name)
        return paths

    def of_job(self, files: Sequence[str], upload: str | None) -> tuple[Path, list[str]] | None:
        """The folder of a job's files and their names in it; None if they are not here."""
        if upload is not None:
            folder = self.uploads / upload
            held = [name for name in _UPLOADED.values() if (folder / name).is_file()]
            return (folder, held) if held else None
        if self.data is None:
            return None
        try:
            return self.data.resolve(), self.resolve(files)
        except ServiceError:
            return None

    def receive(self, media_type: str) -> "Upload":
        """A new upload, to write its bytes to."""
        kind = media_type.partition(";")[0].strip().lower()
        if kind not in _UPLOADED:
            raise ServiceError(
                415,
                "Unsupported media type",
                f"a log must be uploaded as {' or '.join(MEDIA_TYPES)}, got {kind[:100]!r}",
            )
        name = uuid.uuid4().hex
        _own(self.uploads)
        folder = self.uploads / name
        folder.mkdir(mode=0o700)
        return Upload(name, folder / _UPLOADED[kind], self.largest_upload)

    def delete(self, upload: str | None) -> None:
        """Delete an upload, if it is here."""
        if upload is not None:
            shutil.rmtree(self.uploads / upload, ignore_errors=True)

    def sweep(self, kept: Iterable[str]) -> None:
        """Delete old uploads that no job will read."""
        keep = set(kept)
        before = time.time() - _STALE_SECONDS
        for folder in self.uploads.iterdir() if self.uploads.is_dir() else ():
            if folder.name not in keep and folder.stat().st_mtime < before:
                self.delete(folder.name)


class Upload:
    """A log that is being uploaded. As a context, it is deleted if the body raises."""

    def __init__(self, name: str, path: Path, largest: int) -> None:
        self.name = name
        self._path, self._largest, self._size = path, largest, 0
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file: IO[bytes] = os.fdopen(descriptor, "wb")

    def write(self, content: bytes) -> None:
        """Add bytes; raises past the limit."""
        self._size += len(content)
        if self._size > self._largest:
            raise ServiceError(
                413,
                "Content too large",
                f"an uploaded log must have at most {self._largest:,} bytes: put it into "
                "the data folder",
            )
        try:
            self._file.write(content)
            self._file.flush()
        except OSError as error:
            raise unavailable("the log cannot be stored now: is the disk full?") from error

    def check(self) -> None:
        """Refuse a Parquet file that would become too large when read, by its footer.

        It may have as many values as text of the same limit, at two bytes each.
        """
        if self._path.suffix != ".parquet":
            return
        rows, columns = _shape(self._path)
        if rows * columns > self._largest // 2:
            raise ServiceError(
                413,
                "Content too large",
                f"an uploaded log must have at most {self._largest // 2:,} values, got "
                f"{rows:,} rows of {columns} columns: put it into the data folder",
            )

    def discard(self) -> None:
        """Close and delete it."""
        self._file.close()
        shutil.rmtree(self._path.parent, ignore_errors=True)

    def __enter__(self) -> "Upload":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._file.close()
        else:
            self.discard()


def estimated_rows(folder: Path, files: Sequence[str]) -> int:
    """About how many rows files have, by their lines or footers; 0 if that is not known."""
    total = 0
    for name in files:
        if Path(name).suffix.lower() in (".parquet", ".pq"):
            total += _shape(folder / name)[0]
            continue
        if not is_text(name) or Path(name).suffix.lower() not in (".csv", ".tsv"):
            return 0
        with (folder / name).open("rb") as file:
            while block := file.read(_BLOCK):
                total += block.count(b"\n")
    return total


def _shape(path: Path) -> tuple[int, int]:
    """How many rows and columns a Parquet file has."""
    from pyarrow import ArrowInvalid, parquet  # noqa: PLC0415 - a third of a second

    try:
        footer = parquet.read_metadata(path)
    except (OSError, ArrowInvalid) as error:
        raise invalid(f"the log must be a Parquet file, got {error!s:.200}") from None
    return footer.num_rows, footer.num_columns


def _own(folder: Path) -> None:
    """Create a folder, for its owner only, if there is none."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folder.lstat().st_uid != os.geteuid() or folder.is_symlink():
        raise unavailable(f"the folder of uploads, {folder.name}, belongs to another user")


def _checked(name: str) -> str:
    """A relative path without steps upwards."""
    parts = PurePosixPath(name).parts
    if (
        "\0" in name
        or "\\" in name
        or "://" in name
        or PurePosixPath(name).is_absolute()
        or ".." in parts
        or not parts
    ):
        raise invalid(
            f"files must be paths relative to the data folder, without '..', got {name[:200]!r}"
        )
    return name


def _expanded(root: Path, name: str) -> list[Path]:
    path = root / name
    try:
        if path.is_file():
            return [path]
        if path.is_dir():
            return _of_folder(root, path)
        if any(mark in name for mark in _PATTERN_MARKS):
            matches = sorted(root.glob(name))
            # Neither pipes nor devices, which might never end.
            readable = [match for match in matches if match.is_file() or match.is_dir()]
            files = [
                path
                for match in readable
                for path in (_of_folder(root, match) if match.is_dir() else [match])
            ]
            if files:
                return files
    except (OSError, NotImplementedError) as error:
        raise invalid(
            f"files must be readable, got {name[:200]!r}: {type(error).__name__}"
        ) from None
    except ValueError as error:
        raise invalid(str(error).replace(f"{root}{os.sep}", "")) from None
    raise invalid(f"files must be in the data folder, got {name[:200]!r}, which is not")


def _of_folder(root: Path, folder: Path) -> list[Path]:
    if not folder.resolve().is_relative_to(root):
        raise invalid("files must be in the data folder, got a link that leads out of it")
    return [Path(name) for name in find_files([folder])]
