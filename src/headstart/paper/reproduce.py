"""The reproduction: run the sections' studies, then write the report."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import xarray as xr

from headstart.paper.interpretations import ReportSection
from headstart.paper.report import Verdicts, write_report
from headstart.progress import Progress
from headstart.studies.digests import code_digest
from headstart.studies.runner import run_all
from headstart.studies.study import Study


def reproduce(
    sections: Sequence[ReportSection],
    out: Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Verdicts:
    """Run studies without results, write the report with its figures; return the verdicts."""
    studies = {name: study for section in sections for name, study in section.studies().items()}
    results = run_named(studies, out, workers=workers, scheduler=scheduler, progress=progress)
    return write_report(sections, results, out)


def run_named(
    studies: Mapping[str, Study],
    out: Path,
    *,
    workers: int | None,
    scheduler: str | None,
    progress: Progress | None,
) -> dict[str, xr.Dataset]:
    """The results of studies by name, in `out/results`; those that are there are not played again.

    A study's folder is named after what its numbers depend on, so that results of other settings
    or other code are never used for it.
    """
    folders = {
        name: out / "results" / f"{name}-{study.digest}-{code_digest()[:8]}"
        for name, study in studies.items()
    }
    found = run_all(
        {folders[name]: study for name, study in studies.items()},
        workers=workers,
        scheduler=scheduler,
        progress=progress,
    )
    return {name: found[folders[name]] for name in studies}
