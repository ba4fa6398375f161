"""Service: one process of the decision service."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from headstart import warm_up
from headstart.service.engine import catalogue, export, registry, tasks, views
from headstart.service.engine.commit import Committer, Runner, Slice, Work
from headstart.service.engine.configuration import model_of
from headstart.service.engine.decisions import decide
from headstart.service.engine.maintenance import Call, Maintenance
from headstart.service.engine.measures import measured
from headstart.service.engine.observations import observe
from headstart.service.engine.prior_process import PriorProcess
from headstart.service.engine.rewards import reward
from headstart.service.engine.transaction import Transaction, split
from headstart.service.messages import (
    MOST_ARMS,
    BanditConfiguration,
    BanditView,
    DecisionAnswer,
    DecisionRecord,
    DecisionRequest,
    Gain,
    Item,
    ItemChange,
    ItemReport,
    ObservationAnswer,
    ObservationRequest,
    PriorView,
    RewardAnswer,
    RewardRequest,
    ServiceError,
    ShadowView,
    TaskRecord,
    invalid,
    unavailable,
)
from headstart.service.store import bandits, decisions, sums
from headstart.service.store.bandits import BanditRow
from headstart.service.store.database import Database, ProcessNumber
from headstart.service.store.migrations import version_of

# How long a refresh waits for another process that is refreshing the prior.
_REFRESH_SECONDS = 30.0


class Service:
    """One process of the decision service: requests in, answers after their commit.

    Any number of processes may share a PostgreSQL store; an SQLite file has one. `decide`, `reward`
    and `observe` return futures, which end after the commit; all other methods wait.
    """

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], float],
        cache_bytes: int,
        prior_process: PriorProcess | None = None,
    ) -> None:
        self.database = database
        self.clock = clock
        self._process = ProcessNumber(database)
        self._registry = registry.Registry(clock, cache_bytes)
        runners: dict[str, Runner] = {
            "call": self._call,
            "reward": self._runner(reward),
            "observe": self._runner(observe),
            "decide": self._runner(decide),
        }
        self._committer = Committer(database, runners, clock, self._process.number)
        self._maintenance = Maintenance(
            database, self._registry, self._submit, clock, prior_process
        )
        self._started = self._stopped = False

    @classmethod
    def open(
        cls,
        store: str | Path,
        *,
        clock: Callable[[], float] = time.time,
        cache_bytes: int = 256 << 20,
        compute_apart: bool = False,
    ) -> "Service":
        """Open a store, an SQLite file or postgresql://…; `start` begins the work.

        With `compute_apart`, another process computes priors, by the time of day.
        """
        prior_process = PriorProcess() if compute_apart else None
        database = Database.open(store)
        return cls(database, clock=clock, cache_bytes=cache_bytes, prior_process=prior_process)

    def start(self) -> None:
        """Compile what requests need, and start the threads."""
        warm_up.stored()
        self.database.keep_log_short()
        self._committer.start()
        self._maintenance.start()
        self._started = True

    def stop(self) -> None:
        """Finish current work, refuse everything else, and close the store."""
        if not self._stopped:
            self._stopped = True
            self._maintenance.stop()
            self._committer.stop()
            self._process.release()
            self.database.close()

    def __enter__(self) -> "Service":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def ready(self) -> bool:
        """Whether requests can be answered: compiled, and the store answers and is sound."""
        if not self._started or self._stopped or self._committer.stuck or self.database.damaged:
            return False
        try:
            with self.database.reading() as connection:
                version_of(connection)  # of a page, which may be damaged
        except (SQLAlchemyError, OSError):
            return False
        return self._committer.status.reachable

    def status(self) -> dict[str, float | int | bool | None]:
        """Numbers for /metrics and the page on the service's health."""
        commits, work = self._committer.status, self._maintenance
        bandits = list(self._registry)
        return {
            "waiting_rows": commits.waiting,
            "transactions": commits.transactions,
            "rows": commits.rows,
            "failed_transactions": commits.failures,
            "last_transaction_rows": commits.last_rows,
            "last_transaction_seconds": commits.last_seconds,
            "transaction_seconds": commits.seconds,
            "store_reachable": commits.reachable,
            **self.database.disk(),
            "bandits_in_memory": len(bandits),
            "tasks_in_memory": sum(len(bandit) for bandit in bandits),
            "task_bytes_in_memory": sum(bandit.bytes_used for bandit in bandits),
            "refreshes": work.refreshes,
            "last_refresh": work.last_refresh,
            "last_refresh_seconds": work.last_seconds,
        }

    def counts(self) -> dict[str, Mapping[str, float]]:
        """What this process has committed for each bandit, by the columns of `minutes`."""
        counts = self._committer.counts
        return {b.name: counts[b.number] for b in self._registry if b.number in counts}

    def measures(self) -> dict[str, dict[str, float]]:
        """The state of each bandit, by the names of `MEASURES`; empty while the store is away."""
        try:
            with self.database.reading() as connection:
                return measured(connection, self.clock())
        except (SQLAlchemyError, OSError):
            return {}

    def _runner(self, act: Callable[..., list[Any]]) -> Runner:
        """A runner of requests: rows of all slices together, and answers for each."""

        def run(
            transaction: Transaction, name: str, slices: Sequence[Slice]
        ) -> list[list[Any] | ServiceError]:
            try:
                bandit = self._registry.get(transaction, name)
            except ServiceError as error:
                return [error] * len(slices)
            refused = [bandit.too_many(len(each.work.rows)) for each in slices]
            rows = [() if error else each.rows for each, error in zip(slices, refused, strict=True)]
            answers = act(transaction, bandit, [row for each in rows for row in each])
            parts = split(answers, map(len, rows))
            return [error or part for error, part in zip(refused, parts, strict=True)]

        return run

    def _call(
        self, transaction: Transaction, _: str, slices: Sequence[Slice]
    ) -> list[list[Any] | ServiceError]:
        results: list[list[Any] | ServiceError] = []
        for each in slices:
            try:
                with transaction.connection.begin_nested():
                    results.append([each.rows[0](transaction)])
            except ServiceError as error:
                results.append(error)
        return results

    def _submit(self, call: Call) -> "Future[Any]":
        return self._committer.submit(Work("call", "", [call], single=True))

    def _do(self, call: Call) -> Any:
        return self._submit(call).result()

    def decide(
        self, bandit: str, requests: Sequence[DecisionRequest]
    ) -> "Future[list[DecisionAnswer | ServiceError]]":
        """Decide; every request gets its own answer or error."""
        return self._committer.submit(Work("decide", bandit, requests))

    def reward(
        self, bandit: str, requests: Sequence[RewardRequest]
    ) -> "Future[list[RewardAnswer | ServiceError]]":
        """Pay rewards, in order."""
        return self._committer.submit(Work("reward", bandit, requests))

    def observe(
        self, bandit: str, requests: Sequence[ObservationRequest]
    ) -> "Future[list[ObservationAnswer | ServiceError]]":
        """Learn the rewards of choices made elsewhere, in order."""
        return self._committer.submit(Work("observe", bandit, requests))

    def erase(self, bandit: str, task: str) -> int:
        """Erase a task, from the prior too. Returns the version of the prior without it."""
        if self._do(lambda t: tasks.erase(t, self._registry.get(t, bandit), task)):
            return self.refresh(bandit, whole=False)
        return self.prior(bandit, history=1).version

    def refresh(self, bandit: str, source: str = "refresh", *, whole: bool = True) -> int:
        """Bring the prior up to date now. Returns its version.

        whole: until all tasks are counted; a first version already has all changes of fits, and no
        task that was erased.
        """
        end = time.monotonic() + _REFRESH_SECONDS
        while True:
            try:
                done = self._maintenance.refresh(bandit, source)
            except ServiceError as error:
                if error.problem.status != 409:
                    raise
                done = None
            if done is None:
                if time.monotonic() > end:
                    raise unavailable("another process is refreshing the prior; try again later")
                time.sleep(0.05)
            elif not (whole and done.snapshot.more):
                return done.prior.version

    def put_bandit(self, name: str, configuration: BanditConfiguration) -> BanditView:
        """Create a bandit, or change it."""
        view: BanditView = self._do(lambda t: self._registry.put_bandit(t, name, configuration))
        if view.tasks == 0:
            self._registry.prepare(view)
        return view

    def resume(self, name: str) -> BanditView:
        """Let new tasks start warm again; guardrails that are broken now no longer pause."""
        view: BanditView = self._do(lambda t: self._registry.resume(t, name))
        return view

    def end_shadow(self, name: str) -> BanditView:
        """Serve the service's own choices from now on."""
        view: BanditView = self._do(lambda t: self._registry.end_shadow(t, name))
        return view

    def delete_bandit(self, name: str) -> None:
        """Delete a bandit with everything it has."""
        number = self._do(lambda t: self._registry.delete_bandit(t, name))
        while self._do(lambda t: registry.delete_rows(t, number)):
            pass

    def put_items(self, bandit: str, items: Sequence[Item]) -> int:
        """Replace the catalogue. Returns how many items it has now."""
        return self._change_items(bandit, lambda c, row: catalogue.put_items(c, row, items))

    def patch_items(self, bandit: str, items: Sequence[Item | ItemChange]) -> int:
        """Add new items and change existing ones. Returns how many there are now."""
        return self._change_items(bandit, lambda c, row: catalogue.patch_items(c, row, items))

    def delete_items(self, bandit: str, ids: Sequence[str] | None) -> int:
        """Delete items by id, or all with None. Returns how many are left."""
        return self._change_items(bandit, lambda c, row: catalogue.delete_items(c, row, ids))

    def _change_items(self, bandit: str, change: Callable[[Connection, BanditRow], int]) -> int:
        return int(self._do(lambda t: self._registry.change_items(t, bandit, change)))

    def bandit(self, name: str) -> BanditView:
        """A bandit as it is."""
        with self.database.reading() as connection:
            return bandits.view(connection, bandits.named(connection, name))

    def bandits(self) -> list[BanditView]:
        """All bandits, in the order of their names."""
        with self.database.reading() as connection:
            return [bandits.view(connection, row) for row in bandits.all_bandits(connection)]

    def items(self, bandit: str, *, after: str | None = None, limit: int = 1000) -> list[Item]:
        """Items of the catalogue by id, after `after`."""
        with self.database.reading() as connection:
            row = bandits.named(connection, bandit)
            rows = bandits.items_of(connection, row.id, after=after, limit=limit)
        return [
            Item(
                id=item.id,
                features=item.features.tolist() if item.attributes is None else None,
                attributes=item.attributes,
                tags=item.tags,
            )
            for item in rows
        ]

    def item_report(
        self,
        bandit: str,
        *,
        since: date | None = None,
        until: date | None = None,
        limit: int = MOST_ARMS,
    ) -> ItemReport:
        """Items in numbers, the most shown first; without days, those of the last week."""
        if until is None:
            until = datetime.fromtimestamp(self.clock(), UTC).date()
        if since is None:
            since = date.fromordinal(max(until.toordinal() - 6, 1))
        if since > until:
            raise invalid(f"since must be no later than until, got {since} and {until}")
        with self.database.reading() as connection:
            row = bandits.named(connection, bandit)
            model = model_of(row.configuration, self.clock)
            first, last = map(sums.day_number, (since, until))
            items = views.item_statistics(connection, row, model, first, last)
        decided = sum(one.shown for one in items)
        return ItemReport(since=since, until=until, decisions=decided, items=items[:limit])

    def decision(self, bandit: str, decision: str) -> DecisionRecord:
        """A decision, its reasons and its outcome."""
        with self.database.reading() as connection:
            return decisions.record(connection, bandits.named(connection, bandit), decision)

    def export(
        self, bandit: str, start: float, end: float, *, rewarded: bool
    ) -> tuple[BanditRow, Iterator[list[dict[str, Any]]]]:
        """A bandit, and its decisions from one time until before another, some at a time."""
        with self.database.reading() as connection:
            row = bandits.named(connection, bandit)
        end = min(end, self.clock() + 1.0)  # without decisions made meanwhile
        pages = export.rows(self.database, row, start=start, end=end, rewarded=rewarded)
        return row, pages

    def task(self, bandit: str, task: str) -> TaskRecord:
        """What is known of a task."""
        with self.database.reading() as connection:
            row = bandits.named(connection, bandit)
            model = model_of(row.configuration, self.clock)
            return views.task_record(connection, row, model, task)

    def gain(self, bandit: str) -> Gain:
        """What the warm start is worth."""
        with self.database.reading() as connection:
            return views.gain_view(connection, bandits.named(connection, bandit))

    def shadow(self, bandit: str) -> ShadowView:
        """The state of shadow mode."""
        with self.database.reading() as connection:
            return views.shadow_view(connection, bandits.named(connection, bandit))

    def prior(self, bandit: str, *, history: int = 100) -> PriorView:
        """The current prior, and its latest versions."""
        with self.database.reading() as connection:
            row = bandits.named(connection, bandit)
            model = model_of(row.configuration, self.clock)
            return views.prior_view(connection, row, model, history)
