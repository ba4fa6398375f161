"""The reproduction: run the sections' studies, then write the report."""

from collections.abc import Sequence
from pathlib import Path

from headstart.paper.interpretations import ReportSection
from headstart.paper.report import Verdicts, write_report
from headstart.progress import Progress
from headstart.studies.provenance import code_digest
from headstart.studies.runner import run_all


def reproduce(
    sections: Sequence[ReportSection],
    out: Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Verdicts:
    """Run studies without results, write report.md, report.html and figures; return the verdicts.

    A study's folder is named after what its numbers depend on, so that results of other settings
    or other code are never used for it.
    """
    studies = {name: study for section in sections for name, study in section.studies().items()}
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
    return write_report(sections, {name: found[folders[name]] for name in studies}, out)
