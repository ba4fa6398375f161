"""Jobs: what requests and pages may do with jobs and fits."""

import os
import tempfile
from pathlib import Path
from typing import Unpack

from sqlalchemy import ColumnElement, Connection, delete, update

from headstart.features import Features
from headstart.interfaces import n_about
from headstart.live.stored import Model
from headstart.service.engine.configuration import model_of
from headstart.service.engine.priors import memory_that_counts
from headstart.service.engine.service import Service
from headstart.service.jobs import table
from headstart.service.jobs.evaluate import model_to_evaluate
from headstart.service.jobs.files import LARGEST_UPLOAD, Folders, Upload
from headstart.service.jobs.fit import columns_of
from headstart.service.jobs.runner import Runner, RunnerOptions
from headstart.service.messages import (
    EvaluateRequest,
    FitChange,
    FitRequest,
    FitView,
    JobView,
    LogColumns,
    ServiceError,
    conflict,
    invalid,
    not_found,
)
from headstart.service.store import bandits, priors, schema
from headstart.service.store import jobs as queries
from headstart.service.store.database import is_sqlite, parsed

_FITS = schema.fits


class Jobs:
    """The jobs and fits of a service.

    data: the folder of files that requests may name, or None. uploads: where uploaded logs are kept
    until their job has ended.
    """

    def __init__(
        self,
        service: Service,
        *,
        uploads: Path,
        data: Path | None = None,
        largest_upload: int = LARGEST_UPLOAD,
        **options: Unpack[RunnerOptions],
    ) -> None:
        if data is not None and not data.is_dir():
            raise ValueError(f"data must be a folder, got {str(data)!r}")
        self._service, self._database = service, service.database
        self.folders = Folders(data=data, uploads=uploads, largest_upload=largest_upload)
        self.runner = Runner(service.database, self.folders, clock=service.clock, **options)

    def start(self) -> None:
        """Begin to run jobs in the background."""
        self.runner.start()

    def stop(self) -> None:
        """Stop; the current job waits for another process, or for the next start."""
        self.runner.stop()

    def receive(self, media_type: str) -> Upload:
        """An upload of a log: write its bytes to it, in a with statement, then start a job."""
        return self.folders.receive(media_type)

    def start_fit(self, bandit: str, request: FitRequest, upload: Upload | None = None) -> JobView:
        """Start a fit: read and report on a log and, unless it is a dry run, learn a shadow fit."""
        return self._start(bandit, request, upload)

    def start_evaluate(
        self, bandit: str, request: EvaluateRequest, upload: Upload | None = None
    ) -> JobView:
        """Start an estimate of a bandit's mean reward on a log of decisions."""
        return self._start(bandit, request, upload)

    def job(self, bandit: str, job: str) -> JobView:
        """One job of a bandit."""
        with self._database.reading() as connection:
            row = queries.one(connection, bandits.named(connection, bandit).id, job)
        if row is None:
            raise not_found(f"there is no job {job[:64]!r} of this bandit")
        return row.view(bandit)

    def jobs(self, bandit: str, *, limit: int = 100) -> list[JobView]:
        """The jobs of a bandit, latest first."""
        with self._database.reading() as connection:
            number = bandits.named(connection, bandit).id
            rows = queries.of_bandit(connection, number, limit)
        return [row.view(bandit) for row in rows]

    def cancel(self, bandit: str, job: str) -> JobView:
        """Cancel a job that has not ended; its work so far is dropped."""
        with self._database.writing() as connection:
            number = bandits.named(connection, bandit).id
            cancelled = table.cancel(connection, number, job, self._service.clock())
        view = self.job(bandit, job)
        if not cancelled:
            raise conflict(f"an ended job cannot be cancelled, and this one is {view.status}")
        self.runner.wake()
        return view

    def fits(self, bandit: str) -> list[FitView]:
        """The logs that were learned, latest first."""
        with self._database.reading() as connection:
            number = bandits.named(connection, bandit).id
            return priors.fits_of(connection, number)

    def fit(self, bandit: str, fit: int) -> FitView:
        """One log that was learned."""
        with self._database.reading() as connection:
            number = bandits.named(connection, bandit).id
            return priors.fit(connection, number, fit)

    def promote(self, bandit: str, fit: int) -> FitChange:
        """Let a fit count for the prior, which gets a new version."""
        with self._database.reading() as connection:
            row = bandits.named(connection, bandit)
            model = model_of(row.configuration, self._service.clock)
            before = _check_promotable(connection, row.id, fit, model)
        with self._database.writing() as connection:
            _change_status(connection, row.id, fit, before, "promoted")
        return self._refresh(bandit, fit, before, source="fit")

    def withdraw(self, bandit: str, fit: int) -> FitChange:
        """Stop counting a fit; the prior gets a new version without it."""
        with self._database.writing() as connection:
            number = bandits.named(connection, bandit).id
            _change_status(connection, number, fit, "promoted", "withdrawn")
        return self._refresh(bandit, fit, "promoted", source="withdrawal")

    def delete_fit(self, bandit: str, fit: int) -> None:
        """Delete a fit that is not promoted, with what was learned from its log."""
        with self._database.writing() as connection:
            number = bandits.named(connection, bandit).id
            query = delete(_FITS).where(_which(number, fit), _FITS.c.status != "promoted")
            if not connection.execute(query).rowcount:
                raise _wrong_status(connection, number, fit, "withdrawn")

    def _refresh(self, bandit: str, fit: int, before: str, *, source: str) -> FitChange:
        """Compute the prior with the changed fits; if that fails, undo the change."""
        try:
            version = self._service.refresh(bandit, source, whole=False)
        except BaseException:
            now = self.fit(bandit, fit).status
            with self._database.writing() as connection:
                number = bandits.named(connection, bandit).id
                _change_status(connection, number, fit, now, before)
            raise
        return FitChange(fit=self.fit(bandit, fit), prior_version=version)

    def _start(
        self, bandit: str, request: FitRequest | EvaluateRequest, upload: Upload | None
    ) -> JobView:
        try:
            with self._database.reading() as connection:
                row = bandits.named(connection, bandit)
            model = model_of(row.configuration, self._service.clock)
            if isinstance(request, FitRequest):
                _check_columns(model, request.columns, row.schema)
            else:
                model_to_evaluate(row.configuration, request)
            if (upload is None) == (not request.files):
                raise invalid("name files of the data folder, or upload one log")
            if upload is not None:
                upload.check()
            else:
                self.folders.resolve(request.files)
            name = None if upload is None else upload.name
            with self._database.writing() as connection:
                job = table.add(connection, row.id, request, name, self._service.clock())
        except BaseException:
            if upload is not None:
                upload.discard()
            raise
        self.runner.wake()
        return self.job(bandit, job)


def uploads_folder(store: str | Path) -> Path:
    """Where a service on this store keeps uploads: next to an SQLite file, or temporary."""
    url = parsed(store)
    if is_sqlite(url):
        path = Path(str(url.database)).resolve()
        return path.with_name(path.name + ".uploads")
    return Path(tempfile.gettempdir()) / f"headstart-uploads-{os.geteuid()}"


def _check_promotable(connection: Connection, bandit: int, fit: int, model: Model) -> str:
    """Raise unless a fit can be promoted: it must not count yet, and suit those that do."""
    chosen = priors.fit(connection, bandit, fit)
    if chosen.status == "promoted":
        raise conflict(f"fit {fit} is already promoted")
    digest = chosen.report.digest
    for other in priors.fits_of(connection, bandit):
        if other.status == "promoted" and digest is not None and other.report.digest == digest:
            raise conflict(
                f"fit {other.id} is promoted and has the same files as fit {fit}, so their "
                "tasks would count twice: withdraw it first"
            )
    memory, promoted = priors.memories(connection, bandit)
    try:
        memory_that_counts(model, memory, [*promoted, *priors.fit_memories(connection, [fit])])
    except ValueError as error:
        raise conflict(f"fit {fit} cannot be promoted: {error}; fit the log again") from None
    return chosen.status


def _change_status(connection: Connection, bandit: int, fit: int, before: str, after: str) -> None:
    """Let a fit count, or stop counting it."""
    change = update(_FITS).where(_which(bandit, fit), _FITS.c.status == before)
    if not connection.execute(change.values(status=after)).rowcount:
        raise _wrong_status(connection, bandit, fit, before)


def _wrong_status(connection: Connection, bandit: int, fit: int, wanted: str) -> ServiceError:
    status = priors.fit(connection, bandit, fit).status
    return conflict(f"fit {fit} must be {wanted}, and it is {status}")


def _which(bandit: int, fit: int) -> ColumnElement[bool]:
    return (_FITS.c.bandit == bandit) & (_FITS.c.id == fit)


def _check_columns(model: Model, named: LogColumns, features: Features | None) -> None:
    """Raise if the columns do not match the bandit's features."""
    try:
        columns = columns_of(named, features)
    except ValueError as error:
        raise invalid(str(error)) from None
    names = columns.feature_names()
    if names is not None and len(names) != model.dimension:
        raise invalid(
            f"features must be the {model.dimension} columns of the bandit's features, or one of "
            f"lists, got {len(names)}"
        )
    order = model.feature_names.known
    if names is not None and order is not None and names != order and set(names) == set(order):
        raise invalid(
            f"features must be in the order of the bandit's, {list(order)}, got {list(names)}"
        )
    if features is None and columns.n_about not in (0, n_about(model.prior)):
        raise invalid(
            f"about must be the {n_about(model.prior)} columns that the prior takes, "
            f"got {columns.n_about}"
        )
    if model.settings.half_life_seconds is not None and columns.time is None:
        raise invalid("a half-life in seconds needs a column of times: give time, got none")
