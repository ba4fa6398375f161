"""Maintenance: threads that refresh priors, let decisions expire, and delete old data."""

import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from headstart.live.stored import Pace
from headstart.service.engine import configuration, priors, retention
from headstart.service.engine.bandits import Bandit, PriorInUse
from headstart.service.engine.counters import compact
from headstart.service.engine.prior_process import PriorProcess
from headstart.service.engine.priors import NewPrior
from headstart.service.engine.registry import Registry, delete_rows, left_behind, must_pause
from headstart.service.engine.rewards import expire
from headstart.service.engine.transaction import Transaction
from headstart.service.messages import ServiceError
from headstart.service.store import bandits
from headstart.service.store.bandits import BanditRow
from headstart.service.store.database import Database, end_frozen, refresh_lock
from headstart.service.store.tasks import any_to_count

_log = logging.getLogger("headstart.service")

_PAUSE_SECONDS = 0.5
_SWEEP_SECONDS = 30.0
_RETRY_SECONDS = 5.0
# A version is written with its memory: at most a megabyte per second.
_PACE = Pace(least=0.0, most=5.0, seconds_per_byte=1e-6, seconds_per_root=0.1)

Call = Callable[[Transaction], Any]


class Maintenance:
    """What a process does besides answering requests. It writes through their commits.

    One thread refreshes priors, which may take long; another does everything that must not wait for
    it.
    """

    def __init__(
        self,
        database: Database,
        registry: Registry,
        submit: Callable[[Call], "Future[Any]"],
        clock: Callable[[], float],
        prior_process: PriorProcess | None = None,
    ) -> None:
        self._process = prior_process
        self._database = database
        self._registry = registry
        self._submit = submit
        self._clock = clock
        self._stopping = threading.Event()
        self._refreshing = threading.Lock()
        self._due: dict[int, float] = {}
        self._last_sweep = -math.inf
        self._threads = [
            threading.Thread(target=self._loop, args=(each,), name=name, daemon=True)
            for name, each in (
                ("headstart-refresh", self._refresh_all),
                ("headstart-tidy", self._tidy),
            )
        ]
        self.refreshes = 0
        self.last_refresh: float | None = None
        self.last_seconds = 0.0

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End; a version in progress is left to the next start."""
        self._stopping.set()
        if self._process is not None:
            self._process.stop()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _loop(self, once: Callable[[], None]) -> None:
        while not self._stopping.wait(_PAUSE_SECONDS):
            try:
                once()
            except (SQLAlchemyError, OSError, ServiceError) as error:
                _log.debug("maintenance waits for the store: %s", type(error).__name__)
            except Exception:
                _log.exception("maintenance failed and goes on")

    def _rows(self) -> list[BanditRow]:
        with self._database.reading() as connection:
            return bandits.all_bandits(connection)

    def _refresh_all(self) -> None:
        """Refresh priors one by one: first priors first, then the least recently refreshed.

        The order is decided again after each, so that a new bandit does not wait for all others.
        """
        while not self._stopping.is_set():
            now = time.monotonic()
            due = [row for row in self._rows() if now >= self._due.get(row.id, 0.0)]
            due.sort(key=lambda row: (row.prior_version > 0, self._due.get(row.id, 0.0)))
            with self._database.reading() as connection:
                needed = next((row for row in due if any_to_count(connection, row.id)), None)
            if needed is None:
                return
            self._refresh(needed)

    def _tidy(self) -> None:
        end_frozen(self._database)
        sweep = time.monotonic() - self._last_sweep > _SWEEP_SECONDS
        rows = self._rows()
        names = {row.name for row in rows}
        if any(bandit.name not in names for bandit in self._registry):
            self._submit(lambda _: self._registry.keep(names)).result()
        for row in rows:
            if self._stopping.is_set():
                return
            try:
                self._tidy_bandit(row, sweep=sweep)
            except (SQLAlchemyError, OSError):  # of the store: the others would fail too
                raise
            except ServiceError as error:
                _log.warning("maintenance of a bandit waits: %s", error)
            except Exception:  # the others must not wait for it
                _log.exception("maintenance of a bandit failed")
        if sweep:
            if self._last_sweep == -math.inf:
                self._delete_left_behind()
            self._repeat(retention.delete_keys)
            self._repeat(retention.delete_jobs)
            self._repeat(lambda t: compact(t.connection, t.now, retention.ROWS))
            self._last_sweep = time.monotonic()

    def _tidy_bandit(self, row: BanditRow, *, sweep: bool) -> None:
        if row.configuration.deadline_seconds is not None:
            self._repeat(self._with_bandit(row.name, partial(expire, limit=retention.ROWS)))
        if row.configuration.guardrails:
            self._pause_if_broken(row)
        if sweep and row.configuration.retention_seconds is not None:
            self._repeat(self._with_bandit(row.name, retention.delete_old))
        if sweep:
            self._repeat(partial(retention.delete_days, bandit=row.id))
        self._install(row)

    def _pause_if_broken(self, row: BanditRow) -> None:
        with self._database.reading() as connection:
            broken = must_pause(connection, row)
        if broken:
            self._submit(partial(self._registry.pause, name=row.name)).result()

    def _delete_left_behind(self) -> None:
        """Finish deletions of bandits that a process began and did not end."""
        with self._database.reading() as connection:
            numbers = left_behind(connection)
        for number in numbers:
            more = True
            while more and not self._stopping.is_set():
                more = self._submit(partial(delete_rows, bandit=number)).result()

    def _with_bandit(self, name: str, act: Callable[[Transaction, Bandit], Any]) -> Call:
        return lambda transaction: act(transaction, self._registry.get(transaction, name))

    def _repeat(self, call: Callable[[Transaction], int]) -> None:
        """Do something in small transactions until nothing is left."""
        while not self._stopping.is_set() and self._submit(call).result() >= retention.ROWS:
            pass

    def _install(self, row: BanditRow) -> None:
        """Take over a version that another process has computed."""
        known = {bandit.number: bandit.prior_version for bandit in self._registry}
        if row.id not in known or known[row.id] >= row.prior_version:
            return
        model = configuration.model_of(row.configuration, self._clock)
        with self._database.reading() as connection:
            prior = priors.read_prior(connection, row.id, model)
        if prior is not None:
            self._submit(self._with_bandit(row.name, partial(_use, prior))).result()

    def _refresh(self, row: BanditRow) -> None:
        began = time.monotonic()
        # If it fails, the others get their turns before it is tried again.
        self._due[row.id] = began + _RETRY_SECONDS
        new = self.refresh(row.name, "refresh")
        ended = time.monotonic()
        n_bytes = n_tasks = 0
        if new is not None:
            n_bytes = len(new.memory)
            n_tasks = 0 if new.snapshot.more else new.learned.n_tasks
        rest = _PACE.rest(ended - began, n_bytes=n_bytes, n_tasks=n_tasks)
        self._due[row.id] = ended + max(rest, _PAUSE_SECONDS)

    def refresh(self, name: str, source: str) -> NewPrior | None:
        """Compute and store a version of the prior; None if another process is doing it."""
        began = time.monotonic()
        with self._refreshing:
            with self._database.reading() as connection:
                row = bandits.named(connection, name)
            with refresh_lock(self._database, row.id) as held:
                if not held:
                    return None
                new = self._new_prior(row, source)
                self._submit(self._with_bandit(name, partial(priors.store, new=new))).result()
        self.refreshes += 1
        self.last_refresh, self.last_seconds = self._clock(), time.monotonic() - began
        return new

    def _new_prior(self, row: BanditRow, source: str) -> NewPrior:
        model = configuration.model_of(row.configuration, self._clock)
        with self._database.reading() as connection:
            snapshot = priors.read_snapshot(connection, row.id, model)
        source = "erasure" if snapshot.erased else source
        if self._process is None:
            return priors.compute(snapshot, model, source)
        return self._process.compute(row.configuration, snapshot, source)


def _use(prior: PriorInUse, _: Transaction, bandit: Bandit) -> None:
    if bandit.prior_version < prior.version:
        bandit.use(prior)
