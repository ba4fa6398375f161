"""Group commit: a long work leaves turns to the others, and every row is answered once."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.service.engine.setting import answer_of, decided, shop

from headstart.service.engine.commit import Committer, Runner, Slice, Work
from headstart.service.engine.transaction import Transaction
from headstart.service.messages import (
    BanditConfiguration,
    DecisionAnswer,
    DecisionRequest,
    Item,
    ServiceError,
    unavailable,
)
from headstart.service.store.database import Database


class Recorder:
    """A runner that answers rows by themselves, and notes what each transaction had."""

    def __init__(self, *, seconds_per_row: float = 0.0, fails_at: int | None = None) -> None:
        self.seen: list[tuple[str, list[int]]] = []
        self._seconds = seconds_per_row
        self._fails_at = fails_at

    def __call__(
        self, _: Transaction, bandit: str, slices: Sequence[Slice]
    ) -> list[Sequence[Any] | ServiceError]:
        rows = [row for each in slices for row in each.rows]
        self.seen.append((bandit, rows))
        time.sleep(self._seconds * len(rows))
        if self._fails_at in rows:
            raise unavailable("the store is full")
        return [each.rows for each in slices]


@contextmanager
def committing(folder: Path, runner: Runner, *works: Work) -> Iterator[Committer]:
    """A committer that finds these works when it starts."""
    database = Database.open(folder / "store.sqlite")
    committer = Committer(database, {"decide": runner}, time.time, 1)
    for work in works:
        committer.submit(work)
    committer.start()
    yield committer
    committer.stop()
    database.close()


def test_a_decision_waits_for_two_transactions_while_the_largest_batch_is_made(
    tmp_path: Path,
) -> None:
    with shop(str(tmp_path / "store.sqlite")) as service:
        service.put_bandit("other", BanditConfiguration(dimension=2))
        service.put_items("other", [Item(id="a", features=[0.0, 1.0])])
        requests = [DecisionRequest(task=f"task{i}") for i in range(10_000)]
        batch = service.decide("shop", requests)
        waited = []
        while not batch.done():
            for bandit in ("shop", "other"):
                before = int(service.status()["transactions"] or 0)
                service.decide(bandit, [DecisionRequest(task="ann")]).result(120)
                # The one under way and its own; numbers are noted after the answers' commit.
                waited.append(int(service.status()["transactions"] or 0) - before)
                assert int(service.status()["last_transaction_rows"] or 0) <= 1_128
        assert len(waited) >= 10
        # On a busy machine more may have been noted before they are read here.
        assert np.median(waited) <= 3
        answers = [answer_of(each) for each in batch.result(120)]
        assert [answer.task for answer in answers] == [request.task for request in requests]
        assert service.bandit("shop").tasks == 10_001


def test_rows_that_take_long_are_few_in_a_transaction(tmp_path: Path) -> None:
    runner, work = Recorder(seconds_per_row=0.005), Work("decide", "a", range(30))
    with committing(tmp_path, runner, work):
        assert work.future.result(60) == list(range(30))
    sizes = [len(rows) for _, rows in runner.seen]
    assert sizes[0] == 1  # before it is known how long one takes
    assert max(sizes) <= 4


def test_bandits_and_works_have_turns(tmp_path: Path) -> None:
    runner = Recorder(seconds_per_row=0.0005)
    large = [Work("decide", "a", range(400)), Work("decide", "a", range(1_000, 1_400))]
    other = Work("decide", "b", range(2_000, 2_100))
    with committing(tmp_path, runner, *large, other):
        for work in (*large, other):
            assert work.future.result(60) == list(work.rows)
    place = {row: i for i, (_, rows) in enumerate(runner.seen) for row in rows}
    assert place[2_099] < 0.6 * len(runner.seen)  # a third of the turns would be 200 rows
    assert place[1_200] < place[399]
    assert place[200] < place[1_399]


def test_bandits_have_equal_time(tmp_path: Path) -> None:
    seconds = {"wide": 0.03, "narrow": 0.0005}
    seen: list[str] = []

    def runner(_: Transaction, bandit: str, slices: Sequence[Slice]) -> list[Sequence[Any]]:
        rows = [each.rows for each in slices]
        seen.extend([bandit] * sum(map(len, rows)))
        time.sleep(seconds[bandit] * sum(map(len, rows)))
        return rows

    wide = Work("decide", "wide", range(10))
    narrow = [Work("decide", "narrow", [i]) for i in range(40)]
    with committing(tmp_path, runner, wide, *narrow):
        for work in (wide, *narrow):
            assert work.future.result(60) == list(work.rows)
    # 40 short rows take less time than one long one; the first one is not known to be long.
    last = len(seen) - seen[::-1].index("narrow")
    assert seen[:last].count("wide") <= 2


def test_after_a_failure_rows_that_are_committed_have_answers(tmp_path: Path) -> None:
    runner = Recorder(seconds_per_row=0.001, fails_at=57)
    work, short = Work("decide", "a", range(100)), Work("decide", "b", range(1))
    with committing(tmp_path, runner, work, short) as committer:
        answers = work.future.result(60)
        assert short.future.result(60) == [0]
        (first, *_) = (i for i, answer in enumerate(answers) if isinstance(answer, ServiceError))
        assert 0 < first <= 57
        assert answers[:first] == list(range(first))
        assert all(isinstance(answer, ServiceError) for answer in answers[first:])
        again = Work("decide", "a", range(58, 60))
        assert committer.submit(again).result(60) == [58, 59]
        assert committer.status.waiting == 0


def test_where_the_first_rows_fail_the_work_fails(tmp_path: Path) -> None:
    work = Work("decide", "a", range(100))
    with committing(tmp_path, Recorder(fails_at=0), work), pytest.raises(ServiceError):
        work.future.result(60)


def test_a_batch_has_fewer_rows_where_there_are_many_features(tmp_path: Path) -> None:
    with shop(str(tmp_path / "store.sqlite")) as service:
        service.put_bandit("wide", BanditConfiguration(dimension=1_000))
        rows = [DecisionRequest(task="ann", arms={"a": [0.0] * 1_000})] * 101
        with pytest.raises(ServiceError, match="at most 100 rows where d = 1,000, got 101"):
            service.decide("wide", rows).result(120)
        assert service.bandit("wide").tasks == 0


def test_rows_of_one_task_are_decisions_of_their_own(tmp_path: Path) -> None:
    with shop(str(tmp_path / "store.sqlite")) as service:
        answers = decided(service, *["ann", "bob"] * 50)
        assert len({answer.id for answer in answers}) == 100
        assert len({answer.arms[0].arm for answer in answers if answer.task == "ann"}) == 1
        assert all(isinstance(answer, DecisionAnswer) for answer in answers)
        assert service.bandit("shop").tasks == 2
