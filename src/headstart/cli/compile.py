"""`headstart compile`."""

import time
from typing import Annotated

import typer


def compile(  # noqa: A001 - the name of the command
    check: Annotated[
        bool, typer.Option("--check", help="Compile nothing; fail if something is not compiled.")
    ] = False,
) -> None:
    """Compile everything ahead of time, for instance when an image is built."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from headstart.cli.exercise import PARTS, exercise
    from headstart.kernels.compilation import CompilationRefused, no_compilation
    from headstart.simulation import cores

    start = time.perf_counter()
    if check:
        try:
            with no_compilation():
                outcomes = [exercise(part) for part in PARTS]
        except CompilationRefused as refusal:
            typer.echo(f"not everything is compiled: {refusal}. Run: headstart compile")
            raise typer.Exit(1) from refusal
    else:
        # Compilation holds one lock per process: processes, not threads, share the work.
        n = min(cores(), len(PARTS))
        with ProcessPoolExecutor(n, mp_context=get_context("spawn")) as pool:
            outcomes = list(pool.map(exercise, PARTS))
    for each in outcomes:
        typer.echo(
            f"{each.part}: {each.n_compiled} functions compiled, {each.n_loaded} found compiled, "
            f"{each.seconds:.1f} s"
        )
    folders = sorted({str(each.folder) for each in outcomes if each.folder is not None})
    typer.echo(f"{time.perf_counter() - start:.1f} s in all; cache: {', '.join(folders) or 'none'}")
    if not folders:
        typer.echo("Nothing was kept: set HEADSTART_CACHE to a folder that can be written.")
        raise typer.Exit(1)
