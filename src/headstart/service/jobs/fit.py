"""What a fit does: read a log, report on it, and compute the resulting prior."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import msgspec
import numpy as np

from headstart.features import Features
from headstart.live.decision import Learned
from headstart.live.stored import default_names, memory_of_log
from headstart.logs import Columns, ItemColumn, LogReading, LogReport, check_log
from headstart.service.engine.configuration import model_of
from headstart.service.engine.priors import memory_that_counts
from headstart.service.jobs.files import estimated_rows
from headstart.service.jobs.work import Done, FitWork, Steps
from headstart.service.messages import FitReport, LogColumns, LogSummary, PriorNumbers
from headstart.service.schemas import check_arm, schema_of

_READING = "reading rows: {done:,} of {total:,}"
_READING_ON = "reading rows: {done:,}"
_BLOCK = 1 << 22
# How much of a fit's work is done when the rows are read, and when the tasks are counted.
_READ, _COUNTED = 0.2, 0.95


def columns_of(
    named: LogColumns,
    schema: Features | None = None,
    catalogue: Mapping[str, Sequence[float]] | None = None,
) -> Columns:
    """The columns of a request, checked; with a schema, every attribute is a column of its name.

    catalogue: the features of items where the log names them, once they are known.
    """
    given = msgspec.structs.asdict(named)
    arm = given.pop("arm")
    if arm is not None:
        check_arm(arm, schema)
        if named.features != LogColumns().features:
            raise ValueError(f"features must not be named next to arm, got {named.features!r}")
        given["features"] = arm if catalogue is None else ItemColumn(arm, catalogue)
    elif schema is not None:
        if named.features != LogColumns().features:
            raise ValueError(
                "features must not be named for a bandit with attributes, which are columns "
                f"of their names, got {named.features!r}"
            )
        given["features"] = schema
    return Columns(**given)


def fit(work: FitWork, steps: Steps) -> Done:
    """Read the log; a dry run learns nothing."""
    model, request = model_of(work.configuration, time.time), work.request
    schema = schema_of(work.configuration)
    columns = columns_of(request.columns, schema, work.catalogue)
    folder = Path(work.folder)
    steps.begin(0.0, "opening the files")
    rows = estimated_rows(folder, work.files)
    what = _READING if rows else _READING_ON
    known = None if schema is None else schema.columns
    names = list(columns.feature_names() or known or work.configuration.feature_names or [])
    names = names or list(default_names(model.dimension))
    if request.dry_run:
        report = check_log(
            work.files,
            columns,
            model.dimension,
            reward_range=model.settings.reward_range,
            grouped_by_task=request.grouped_by_task,
            progress=steps.within(0.0, 1.0, what, rows),
        )
        return Done(report=FitReport(dry_run=True, log=summary(report), feature_names=names))
    current = memory_that_counts(model, work.memory, work.promoted)
    read = _COUNTED if request.grouped_by_task else _READ
    reading = LogReading(
        work.files,
        columns,
        model.dimension,
        on_bad=request.on_bad,
        reward_range=model.settings.reward_range,
        grouped_by_task=request.grouped_by_task,
        progress=steps.within(0.0, read, what, rows),
    )
    counting = steps.within(_READ, _COUNTED, "counting tasks: {done:,} of {total:,}")
    counted = None if request.grouped_by_task else counting
    memory = memory_of_log(model, reading, beside=current, counted=counted)
    steps.begin(_COUNTED, "computing the prior")
    before = current.learned(model)
    content = memory.to_bytes()
    with_it = memory_that_counts(model, work.memory, [*work.promoted, content])
    after = with_it.learned(model)
    return Done(
        report=FitReport(
            dry_run=False,
            log=summary(reading.report),
            feature_names=names,
            digest=_digest(folder, work.files),
            before=numbers(before),
            after=numbers(after),
            shift=((after.mean - before.mean) / before.spread).tolist(),
        ),
        memory=content,
    )


def numbers(learned: Learned) -> PriorNumbers:
    """A prior in numbers, as a message."""
    return PriorNumbers(
        mean=learned.mean.tolist(),
        spread=np.asarray(learned.spread).tolist(),
        noise_scale=learned.noise_scale,
        n_tasks=learned.n_tasks,
        effective_tasks=float(learned.effective_tasks),
    )


def summary(report: LogReport) -> LogSummary:
    """A log's report as a message."""
    # Through JSON: a value in a row may be of any type, and a number may be NaN.
    plain = {**asdict(report), "n_bad": report.n_bad, "n_used": report.n_used}
    plain["far_apart"] = list(report.far_apart())
    return msgspec.json.decode(msgspec.json.encode(plain, enc_hook=str), type=LogSummary)


def _digest(folder: Path, files: list[str]) -> str:
    """A digest of the content of files, whatever their names and order."""
    digests = []
    for name in files:
        digest = hashlib.sha256()
        with (folder / name).open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        digests.append(digest.digest())
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()
