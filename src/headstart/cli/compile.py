"""`headstart compile`."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from headstart.cli.exercise import Outcome

# The parts of `headstart.cli.exercise`, each run in a separate process.
PARTS = ("simulation", "live", "logs")


def compile(  # noqa: A001 - the name of the command
    check: Annotated[
        bool, typer.Option("--check", help="Compile nothing; fail if something is not compiled.")
    ] = False,
) -> None:
    """Compile everything ahead of time, for instance when an image is built."""
    start = time.perf_counter()
    outcomes = _check() if check else _compile()
    for each in outcomes:
        typer.echo(
            f"{each.part}: {each.n_compiled} functions compiled, {each.n_loaded} found compiled, "
            f"{each.seconds:.1f} s"
        )
    folders = sorted({str(each.folder) for each in outcomes if each.folder is not None})
    typer.echo(f"{time.perf_counter() - start:.1f} s in all; cache: {', '.join(folders) or 'none'}")
    if not folders:
        typer.echo("Nothing was cached: set HEADSTART_CACHE to a folder that can be written.")
        raise typer.Exit(1)


def _compile() -> "list[Outcome]":
    """Every part; compilation holds one lock per process, so processes share the work."""
    import gc
    import os
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    n = min(os.cpu_count() or 1, len(PARTS))
    # The compiler's objects are never freed: garbage collection would take a seventh of the time.
    with ProcessPoolExecutor(n, get_context("spawn"), initializer=gc.disable) as pool:
        return list(pool.map(_exercise, PARTS))


def _check() -> "list[Outcome]":
    """Every part, in this process, up to the first function that is not compiled."""
    from headstart.kernels.compilation import CompilationRefused, no_compilation

    try:
        with no_compilation():
            return [_exercise(part) for part in PARTS]
    except CompilationRefused as refusal:
        typer.echo(f"Not everything is compiled: {refusal}. Run: headstart compile")
        raise typer.Exit(1) from refusal


def _exercise(part: str) -> "Outcome":
    from headstart.cli.exercise import exercise

    return exercise(part)
