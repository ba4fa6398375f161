"""Generated files."""

from collections.abc import Mapping
from pathlib import Path


def write_changed(folder: Path, pages: Mapping[str, str]) -> None:
    """Write pages by name; leave equal ones alone, since a build redoes those that are newer.

    Other files of the folder with the same suffixes are removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    suffixes = {Path(name).suffix for name in pages}
    for old in folder.iterdir():
        if old.suffix in suffixes and old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
