"""Progress bars of commands that run studies."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def progress_bar(console: Console) -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left, in millions of rounds."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("million rounds"),
        TimeRemainingColumn(),
        console=console,
    ) as bar:
        line = bar.add_task("playing", total=None)

        def tell(done: int, total: int) -> None:
            bar.update(line, completed=round(done / 1e6), total=max(1, round(total / 1e6)))

        yield tell
