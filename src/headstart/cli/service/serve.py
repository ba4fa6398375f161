"""`headstart serve`."""

import gc
from enum import StrEnum
from pathlib import Path
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
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for a free one.")] = 8000,
    data: Annotated[
        Path | None, typer.Option(help="The folder of logs that jobs may read.")
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Add simulated users.")] = False,
    log_format: Annotated[LogStyle, typer.Option(help="The format of log lines.")] = LogStyle.TEXT,
    log_requests: Annotated[bool, typer.Option(help="Log every request.")] = True,
    limit_body: Annotated[int, typer.Option(min=1, help="The largest request, in megabytes.")] = 16,
    limit_waiting: Annotated[int, typer.Option(min=1, help="How many requests may wait.")] = 2_000,
    limit_job_memory: Annotated[
        int, typer.Option(min=1, help="The memory of a job, in megabytes.")
    ] = 4_096,
    cache: Annotated[int, typer.Option(min=1, help="Tasks in memory, in megabytes.")] = 256,
    proxy: Annotated[
        list[str] | None, typer.Option(help="Address or network of a trusted proxy.")
    ] = None,
    root_path: Annotated[str, typer.Option(help="The proxy's prefix, such as /bandits.")] = "",
) -> None:
    """Serve decisions over HTTP, with a dashboard.

    Everything is stored in an SQLite file or in PostgreSQL.
    """
    gc.disable()  # until the service has started: what it imports stays
    with needs_extra():
        from headstart.service.http.app import Limits
        from headstart.service.main import ServeOptions
        from headstart.service.main import serve as serve_until_signal

    options = ServeOptions(
        store=store,
        host=host,
        port=port,
        data=data,
        demo=demo,
        log_format=log_format.value,
        log_requests=log_requests,
        limits=Limits(body_bytes=limit_body << 20, waiting=limit_waiting),
        cache_bytes=cache << 20,
        proxies=tuple(proxy or ()),
        root_path=root_path,
        job_bytes=limit_job_memory << 20,
    )

    def announce(address: str, needs_key: bool) -> None:
        without_password = store if "://" not in store else f"{store.split('://')[0]}://…"
        typer.echo(f"Dashboard: {address}/   (store: {without_password})")
        typer.echo(f"Interface: {address}/v1/bandits, described at {address}/openapi.json")
        if not needs_key:
            typer.echo("No API key exists yet, so only this machine is served.")
            typer.echo("To open it up: headstart keys create")

    with one_sentence("serve"):
        went_well = serve_until_signal(options, announce)
    if not went_well:
        raise typer.Exit(1)
