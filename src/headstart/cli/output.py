"""What commands share: how they print, progress bars, and checks of where files go."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Trained = Annotated[
    int | None,
    typer.Option(help="The number N of training tasks to show.", show_default="the last"),
]

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


@contextmanager
def progress_bar(
    console: Console, unit: str = "rounds", doing: str = "playing"
) -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left and how much is done; it appears once the total is known."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[amount]}"),
        TimeRemainingColumn(),
        console=console,
        disable=console.quiet,
    ) as bar:
        line = bar.add_task(doing, total=None, visible=False, amount="")

        def tell(done: int, total: int) -> None:
            of = f" of {_short(total)}" if total else ""
            amount = f"{_short(done)}{of} {unit}"
            bar.update(line, completed=done, total=total or None, visible=True, amount=amount)

        yield tell


def _short(count: int) -> str:
    """A count with three digits: 950, 12.3 thousand, 4.56 million."""
    for size, word in ((10**6, " million"), (10**3, " thousand")):
        if count >= size:
            return f"{count / size:.3g}{word}"
    return str(count)
