"""`headstart backup`, `restore` and `migrate`: the store of the decision service."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headstart.cli.service.keys import Store, needs_extra, one_sentence

if TYPE_CHECKING:
    from headstart.service.store.backup import Progress

Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    store: Store = "headstart.db",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    quiet: Quiet = False,
) -> None:
    """Save everything in the service to one file.

    The service may be running.
    """
    with needs_extra():
        from headstart.service.store.backup import backup

    with one_sentence("backup"), _progress(quiet) as progress:
        rows = backup(store, file, force=force, progress=progress)
    if not quiet:
        typer.echo(f"{file}: {_described(rows)}")


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `headstart backup` wrote.")],
    store: Store = "headstart.db",
    force: Annotated[
        bool, typer.Option("--force", help="Replace everything in the store.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Restore a backup into an empty store.

    The store is an SQLite file or a PostgreSQL database. Stop the service first.
    """
    with needs_extra():
        from headstart.service.store.backup import restore

    with one_sentence("restore"), _progress(quiet) as progress:
        rows = restore(store, file, force=force, progress=progress)
    if not quiet:
        typer.echo(f"restored from {file}: {_described(rows)}")


def migrate(
    store: Store = "headstart.db",
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; end with 1 if there is a step to take.")
    ] = False,
) -> None:
    """Upgrade a store to this version of headstart.

    Stop the service first.
    """
    with needs_extra():
        from headstart.service.store.database import Database, steps_due

    with one_sentence("migrate"):
        version, steps = steps_due(store)
        if steps and not check:
            Database.open(store, create=False).close()
    to = version + len(steps)
    typer.echo(f"version {version} of the tables, version {to} in this headstart")
    for number, step in enumerate(steps, version + 1):
        typer.echo(f"{'to do' if check else 'done'}: {number}. {step}")
    if steps and check:
        raise typer.Exit(1)


def _described(rows: dict[str, int]) -> str:
    names = ("bandits", "tasks", "decisions")
    return ", ".join(f"{rows[name]:,} {name}" for name in names)


@contextmanager
def _progress(quiet: bool) -> "Iterator[Progress]":
    """A bar on a terminal."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("copying", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
