"""What commands share: checks of where files go, and JSON."""

import json
from collections.abc import Mapping
from pathlib import Path

import typer

FIGURES = (".png", ".svg", ".pdf")


def check_figure(path: Path) -> None:
    """A figure's file: it has a format that is written, and its folder can be made."""
    if path.suffix not in FIGURES:
        raise typer.BadParameter(f"the figure must end in .png, .svg or .pdf, got {path}")
    if path.is_dir():
        raise typer.BadParameter(f"the figure must be a file, and {path} is a folder")
    check_parents(path)


def check_parents(path: Path) -> None:
    """A path below folders, or below places where folders can be made: none of them is a file."""
    for place in path.absolute().parents:
        if place.exists() and not place.is_dir():
            raise typer.BadParameter(f"{path} cannot be written: {place} is a file")


def print_json(found: Mapping[str, object]) -> None:
    """Print one JSON object."""
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
