"""`headstart backup`, `restore` and `migrate`: the store of the decision service."""

from pathlib import Path
from typing import Annotated

import typer

from headstart.cli.service.keys import Store, needs_extra, one_sentence


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    store: Store = "headstart.db",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Copy an SQLite store to one file.

    The copy is checked. The service may be running.
    """
    with needs_extra():
        from headstart.service.store.backup import backup

    with one_sentence("backup"):
        rows = backup(store, file, force=force)
    typer.echo(f"{file}: {_described(rows)}")


def restore(
    source: Annotated[
        str, typer.Argument(help="A file that `headstart backup` wrote, or another store.")
    ],
    store: Store = "headstart.db",
    force: Annotated[
        bool, typer.Option("--force", help="Replace everything in the store.")
    ] = False,
) -> None:
    """Copy a backup into an empty store.

    The store is an SQLite file or a PostgreSQL database. Stop the service first.
    """
    with needs_extra():
        from headstart.service.store.backup import restore

    with one_sentence("restore"):
        rows = restore(store, source, force=force)
    typer.echo(f"restored from {source}: {_described(rows)}")


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
