"""`headstart data`: fetch the published data sets, and print where they are."""

from pathlib import Path
from typing import Annotated

import typer

from headstart.cli.output import AsJson, WrongInput, print_json

app = typer.Typer(no_args_is_help=True, help="The published data that the paper's studies use.")

Folder = Annotated[
    Path | None,
    typer.Option("--data", help="The folder of the files; default: $HEADSTART_DATA, or a cache."),
]


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="lastfm or movielens.")],
    data: Folder = None,
    url: Annotated[
        str | None, typer.Option(help="Another address of the archive, such as a mirror.")
    ] = None,
) -> None:
    """Download a data set from its publisher and check it."""
    from headstart.datasets import download
    from headstart.datasets.published import PUBLISHED, find, load

    if name not in PUBLISHED:
        raise WrongInput(f"the name must be one of {', '.join(PUBLISHED)}, got {name!r}")
    published = PUBLISHED[name]
    try:
        load(published, data)
    except (FileNotFoundError, ValueError):
        pass
    else:
        typer.echo(f"{published.title} is complete: {find(published, data)}")
        return
    typer.echo(f"Downloading {url or published.url}")
    try:
        file = download.fetch(published, data, url)
    except (ImportError, OSError, ValueError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from error
    typer.echo(
        f"{published.title}: {published.n_ratings:,} ratings by {published.n_users:,} users of "
        f"{published.n_items:,} items in {file}"
    )
    typer.echo("For research, under its own licence; see the readme in the same folder.")


@app.command()
def path(data: Folder = None, as_json: AsJson = False) -> None:
    """Print where each data set is, or how to download it."""
    from headstart.datasets.locations import DataMissing
    from headstart.datasets.published import PUBLISHED, find

    places: dict[str, str | None] = {}
    for published in PUBLISHED.values():
        try:
            places[published.name] = str(find(published, data))
            told = places[published.name]
        except DataMissing as error:
            places[published.name], told = None, f"missing. {error}"
        if not as_json:
            typer.echo(f"{published.name}: {told}")
    if as_json:
        print_json(places)
