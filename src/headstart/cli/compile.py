"""`headstart compile`."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

# The functions of `headstart.warm_up` that call everything, each run in a separate process.
PARTS = ("simulation", "live", "features", "logs")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one part did: specialisations compiled and read, and where they are."""

    part: str
    n_compiled: int
    n_loaded: int
    seconds: float
    folder: Path | None


def compile(  # noqa: A001 - the name of the command
    check: Annotated[
        bool, typer.Option("--check", help="Compile nothing; fail if anything is not compiled.")
    ] = False,
) -> None:
    """Compile everything ahead of time."""
    start = time.perf_counter()
    outcomes = _check() if check else _compile()
    for outcome in outcomes:
        typer.echo(
            f"{outcome.part}: {outcome.n_compiled} functions compiled, "
            f"{outcome.n_loaded} found compiled, {outcome.seconds:.1f} s"
        )
    folders = sorted({str(outcome.folder) for outcome in outcomes if outcome.folder is not None})
    typer.echo(f"{time.perf_counter() - start:.1f} s in all; cache: {', '.join(folders) or 'none'}")
    if not folders:
        typer.echo("Nothing was cached: set HEADSTART_CACHE to a writable folder.")
        raise typer.Exit(1)


def _compile() -> list[Outcome]:
    """Every part; compilation holds one lock per process, so processes share the work."""
    import gc
    import os
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    n = min(os.cpu_count() or 1, len(PARTS))
    # The compiler's objects are never freed, so garbage collection would waste a seventh of the
    # time.
    with ProcessPoolExecutor(n, get_context("spawn"), initializer=gc.disable) as pool:
        return list(pool.map(_warm_up, PARTS))


def _check() -> list[Outcome]:
    """Every part, in this process, up to the first function that is not compiled."""
    from headstart.kernels.compilation import CompilationRefused, no_compilation

    try:
        with no_compilation():
            return [_warm_up(part) for part in PARTS]
    except CompilationRefused as refusal:
        typer.echo(f"Not everything is compiled: {refusal}. Run: headstart compile")
        raise typer.Exit(1) from refusal


def _warm_up(part: str) -> Outcome:
    from headstart import warm_up
    from headstart.kernels.compilation import cache_folder, n_compiled, n_loaded

    start, compiled, loaded = time.perf_counter(), n_compiled(), n_loaded()
    getattr(warm_up, part)()
    return Outcome(
        part=part,
        n_compiled=n_compiled() - compiled,
        n_loaded=n_loaded() - loaded,
        seconds=time.perf_counter() - start,
        folder=cache_folder(),
    )
