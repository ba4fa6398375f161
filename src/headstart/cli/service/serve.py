"""`headstart serve`."""

import sys
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from headstart.cli.service.keys import Store, needs_extra, one_sentence


class LogStyle(StrEnum):
    """How lines of the log look."""

    TEXT = "text"
    JSON = "json"


def serve(
    *,
    store: Store = "headstart.db",
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8000,
    data: Annotated[Path | None, typer.Option(help="The folder whose logs jobs may read.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Add simulated users.")] = False,
    log_format: Annotated[LogStyle, typer.Option(help="Lines of the log.")] = LogStyle.TEXT,
    log_requests: Annotated[bool, typer.Option(help="One line of the log per request.")] = True,
    limit_body: Annotated[int, typer.Option(min=1, help="Megabytes of a request.")] = 16,
    limit_waiting: Annotated[int, typer.Option(min=1, help="Requests that wait at once.")] = 2_000,
    cache: Annotated[int, typer.Option(min=1, help="Megabytes of tasks in memory.")] = 256,
    processes: Annotated[
        int, typer.Option(min=1, max=64, help="Processes at this port; with PostgreSQL only.")
    ] = 1,
    child: Annotated[Path | None, typer.Option("--child", hidden=True)] = None,
) -> None:
    """Serve decisions over HTTP, with a dashboard, from an SQLite file or PostgreSQL."""
    with needs_extra():
        from headstart.service.http.app import Limits
        from headstart.service.processes import end_with_parent
        from headstart.service.running import Running, run

    if processes > 1:
        _serve_many(processes, store, port)
    if child is not None:
        end_with_parent()
    settings = Running(
        store=store,
        host=host,
        port=port,
        data=data,
        demo=demo,
        beside=child,
        log_format=log_format.value,
        log_requests=log_requests,
        limits=Limits(body_bytes=limit_body << 20, waiting=limit_waiting),
        cache_bytes=cache << 20,
    )

    def announce(address: str, needs_key: bool) -> None:
        if child is not None:
            return
        shown = store if "://" not in store else f"{store.split('://')[0]}://…"
        typer.echo(f"Dashboard: {address}/   (store: {shown})")
        typer.echo(f"Interface: {address}/v1/bandits, described at {address}/openapi.json")
        if not needs_key:
            typer.echo("No key is needed, and only this machine is served: see headstart keys.")

    with one_sentence("serve"):
        went_well = run(settings, announce)
    if not went_well:
        raise typer.Exit(1)


def _serve_many(n: int, store: str, port: int) -> None:
    """Run this command n times, at one port."""
    from headstart.service.processes import Processes

    if "://" not in store or port == 0:
        typer.echo(
            "headstart serve: processes must be 1 but with --store postgresql://… and a --port, "
            f"got {n}",
            err=True,
        )
        raise typer.Exit(2)
    given = sys.argv[1:]
    at = next(i for i, each in enumerate(given) if each.startswith("--processes"))
    del given[at : at + (1 if "=" in given[at] else 2)]
    call = [sys.executable, "-c", "from headstart.cli import app; app()", *given]
    typer.echo(f"{n} processes at port {port}")
    with TemporaryDirectory(prefix="headstart-") as folder:
        command = [*call, "--child", folder]
        ended = Processes(command, n, lambda text: typer.echo(text, err=True)).run()
    raise typer.Exit(ended)
