"""Progress bars of commands that run studies."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


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
