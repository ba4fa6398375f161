"""The whole reproduction: run the chapters' studies, then write the report."""

from collections.abc import Sequence
from pathlib import Path

from headstart.paper import report
from headstart.paper.interpretations import Chapter
from headstart.paper.verdicts import Judged
from headstart.studies.results import code
from headstart.studies.runner import Progress, run_all


def reproduce(
    chapters: Sequence[Chapter],
    out: Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> list[tuple[str, Judged]]:
    """Run what is not there yet, write report.md, report.html and figures; return the verdicts.

    A study's folder is named after what its numbers depend on, so that a run with other settings
    or other code never meets it.
    """
    studies = {name: study for chapter in chapters for name, study in chapter.studies().items()}
    places = {
        name: out / "results" / f"{name}-{study.digest}-{code()[:8]}"
        for name, study in studies.items()
    }
    found = run_all(
        {places[name]: study for name, study in studies.items()},
        workers=workers,
        scheduler=scheduler,
        progress=progress,
    )
    return report.write(chapters, {name: found[places[name]] for name in studies}, out)
