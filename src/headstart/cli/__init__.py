"""The command line: one file per command; each parses, delegates and prints."""

from typing import Annotated

import typer

import headstart
from headstart.cli import data, features
from headstart.cli.bound import bound
from headstart.cli.compile import compile  # noqa: A004 - the name of the command
from headstart.cli.demo import demo
from headstart.cli.diagnose import diagnose
from headstart.cli.fit import fit
from headstart.cli.report import report
from headstart.cli.reproduce import reproduce
from headstart.cli.run import run
from headstart.cli.service import keys
from headstart.cli.service.serve import serve
from headstart.cli.service.store import backup, migrate, restore
from headstart.cli.trial import trial

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(headstart.__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Contextual bandits without a cold start."""


# In the order in which people need them: a first look, an application, the service, studies.
app.command()(demo)
app.command()(trial)
app.add_typer(features.app, name="features")
app.command()(fit)
app.command()(serve)
app.add_typer(keys.app, name="keys")
app.command()(backup)
app.command()(restore)
app.command()(migrate)
app.command()(run)
app.command()(report)
app.command()(diagnose)
app.command()(reproduce)
app.add_typer(data.app, name="data")
app.command()(bound)
app.command()(compile)
