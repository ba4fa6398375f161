"""What commands share: how they print, progress bars, and checks of where files go."""

import json
import threading
import time
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

# How often a line says how much is done, if the output is not a terminal; and, while functions are
# compiled, that they are.
_LINE_SECONDS = 30.0
_COMPILING_SECONDS = 4.0

FIGURES = (".png", ".svg", ".pdf")


class WrongInput(typer.BadParameter):
    """What is wrong with a command, in one sentence; Typer's own begins with “Invalid value”."""

    def format_message(self) -> str:
        """The sentence, unchanged."""
        return self.message


def check_figure(path: Path) -> None:
    """Check that a figure's file has a supported format, and that its folder can be made."""
    if path.suffix not in FIGURES:
        raise WrongInput(f"the figure must end in .png, .svg or .pdf, got {path}")
    if path.is_dir():
        raise WrongInput(f"the figure must be a file, but {path} is a folder")
    check_parents(path)


def check_parents(path: Path) -> None:
    """Check that a path's folders exist or can be made: none of them is a file."""
    for place in path.absolute().parents:
        if place.exists() and not place.is_dir():
            raise WrongInput(f"{path} cannot be written: {place} is a file")


def print_json(found: Mapping[str, object]) -> None:
    """Print one JSON object."""
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))


@contextmanager
def progress_bar(
    console: Console, unit: str = "rounds", doing: str = "playing"
) -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left and how much is done; it appears once the total is known.

    If the output is not a terminal, for instance a file, it prints a line at the start and every
    half minute.
    """
    if not console.is_terminal:
        with _lines(console, unit, doing) as tell:
            yield tell
        return
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
            amount = _amount(done, total, unit)
            bar.update(line, completed=done, total=total or None, visible=True, amount=amount)

        yield tell


@contextmanager
def said_compilation(console: Console) -> Iterator[None]:
    """Say that functions are compiled, as long as they are: only the first run after an install."""
    from headstart.kernels.compilation import compiling, n_compiled

    begun, over = time.monotonic(), threading.Event()

    def watch() -> None:
        before = n_compiled()
        while not over.wait(_COMPILING_SECONDS if before else 1.0):
            now = n_compiled()
            if now > before or (before and compiling()):
                first = "" if before else " once, in about 30 s; later runs start at once"
                seconds = time.monotonic() - begun
                console.print(f"Compiling{first} ({seconds:.0f} s)", soft_wrap=True)
            before = now

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _lines(console: Console, unit: str, doing: str) -> Iterator[Callable[[int, int], None]]:
    """How much is done, as lines: at the start, every half minute, and at the end."""
    begun, over = time.monotonic(), threading.Event()
    last: list[tuple[int, int]] = []

    def line() -> None:
        if last:
            seconds = round(time.monotonic() - begun)
            minutes = f"{seconds // 60}:{seconds % 60:02d}"
            console.print(f"{doing}: {_amount(*last[0], unit)} after {minutes}", soft_wrap=True)

    def tell(done: int, total: int) -> None:
        first = not last
        last[:] = [(done, total)]
        if first:
            line()

    def repeat() -> None:
        while not over.wait(_LINE_SECONDS):
            line()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield tell
        line()
    finally:
        over.set()
        thread.join()


def _amount(done: int, total: int, unit: str) -> str:
    of = f" of {_short(total)}" if total else ""
    return f"{_short(done)}{of} {unit}"


def _short(count: int) -> str:
    """A count with three digits: 950, 12.3 thousand, 4.56 million."""
    for size, word in ((10**6, " million"), (10**3, " thousand")):
        if count >= size:
            return f"{count / size:.3g}{word}"
    return str(count)
