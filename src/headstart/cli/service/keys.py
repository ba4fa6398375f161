"""`headstart keys`."""

import contextlib
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from headstart.service.store.database import Database

app = typer.Typer(no_args_is_help=True, help="API keys of the decision service.")

Store = Annotated[
    str,
    typer.Option(help="An SQLite file, or postgresql://user@host/name.", envvar="HEADSTART_STORE"),
]


class RoleName(StrEnum):
    """What a key may do."""

    DECIDE = "decide"
    READ = "read"
    ADMIN = "admin"


@contextlib.contextmanager
def needs_extra() -> Iterator[None]:
    """Say in one sentence what to install."""
    try:
        yield
    except ImportError as error:
        typer.echo(f"the service needs {error.name}: pip install 'headstart[serve]'", err=True)
        raise typer.Exit(2) from None


@contextlib.contextmanager
def one_sentence(command: str) -> Iterator[None]:
    """Say in one sentence what is wrong with a store, an address or a setting."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except ValueError as error:
        reason = str(error)
    except OSError as error:
        reason = f"{error.filename} cannot be opened: {error.strerror}"
    except SQLAlchemyError as error:
        lines = str(getattr(error, "orig", error)).strip().splitlines()
        reason = f"the store does not answer: {lines[0] if lines else type(error).__name__}"
    else:
        return
    typer.echo(f"headstart {command}: {reason}", err=True)
    raise typer.Exit(2)


@contextlib.contextmanager
def _opened(store: str, *, create: bool = False) -> "Iterator[Database]":
    """The store; create: make it if there is none."""
    with needs_extra():
        from headstart.service.store.database import Database

    with one_sentence("keys"):
        database = Database.open(store, alone=False, create=create)
        try:
            yield database
        finally:
            database.close()


@app.command()
def create(
    *,
    store: Store = "headstart.db",
    role: Annotated[RoleName, typer.Option(help="What the key may do.")],
    name: Annotated[str, typer.Option(help="What it is for.")] = "unnamed",
) -> None:
    """Make a key and print it. It cannot be shown again."""
    with _opened(store, create=True) as database:
        from headstart.service.store.keys import create_key

        typer.echo(create_key(database, name=name, role=role.value, now=time.time()))


@app.command("list")
def list_(*, store: Store = "headstart.db") -> None:
    """List the keys, without their secrets."""
    with _opened(store) as database:
        from headstart.service.store.keys import list_keys

        for key in list_keys(database):
            state = "active" if key.revoked is None else f"revoked {_day(key.revoked)}"
            typer.echo(f"{key.id}  {key.role:6}  made {_day(key.created)}  {state}  {key.name}")


@app.command()
def revoke(
    identity: Annotated[str, typer.Argument(metavar="ID", help="From `headstart keys list`.")],
    *,
    store: Store = "headstart.db",
) -> None:
    """Revoke a key and its sessions, within seconds."""
    with _opened(store) as database:
        from headstart.service.store.keys import revoke_key

        if identity.startswith("hs_"):
            public = identity.split("_")[1]
            typer.echo(
                "headstart keys: ID must be one of headstart keys list, got a whole key, which "
                f"others on this machine may have seen: headstart keys revoke {public}",
                err=True,
            )
            raise typer.Exit(2)
        if not revoke_key(database, identity, now=time.time()):
            typer.echo(
                f"headstart keys: ID must be one of headstart keys list, got {identity!r}", err=True
            )
            raise typer.Exit(2)
        typer.echo(f"{identity} is revoked.")


def _day(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d")
