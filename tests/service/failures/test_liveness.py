"""What stands still or fails somewhere stops nothing else: erasing, pages, bandits, processes."""

import asyncio
import dataclasses
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from sqlalchemy import delete, select, text, update
from tests.service.engine.setting import Clock, D, K, decided, items, paid, shop
from tests.service.http.real import serving
from tests.waiting import Running, until

from headstart.service.engine import priors
from headstart.service.engine.maintenance import Maintenance
from headstart.service.engine.service import Service
from headstart.service.engine.transaction import Transaction
from headstart.service.http.app import Application, Limits
from headstart.service.http.logs import Log
from headstart.service.messages import (
    BanditConfiguration,
    DecisionRequest,
    Item,
    RewardRequest,
    ServiceError,
)
from headstart.service.store import database as databases
from headstart.service.store import schema

# Opens a store, pays a decision, and stops in the middle of the transaction.
_STOPPED = """
import os, signal, sys
from headstart.service.engine import rewards
from headstart.service.engine.service import Service
from headstart.service.messages import RewardRequest

written = rewards.write_learned

def stop(*given):
    written(*given)
    print("stopped", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)

rewards.write_learned = stop
with Service.open(sys.argv[1]) as service:
    service.reward("shop", [RewardRequest(decision=sys.argv[2], value=1.0)]).result(60)
"""


def within(seconds: float, work: Callable[[], object]) -> None:
    """Do something that must not take long."""
    thread = Running(work)
    thread.start()
    thread.finish(seconds)


def test_erasing_ends_while_the_prior_lags(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = priors.read_snapshot
    with shop(store) as service:
        paid(service, [each.id for each in decided(service, "ann", "bob")])
        service.refresh("shop")
        # As many tasks change as a refresh can count.
        monkeypatch.setattr(
            priors, "read_snapshot", lambda *given: dataclasses.replace(read(*given), more=True)
        )
        within(30.0, lambda: service.erase("shop", "ann"))
        with service.database.reading() as connection:
            c = schema.contributions.c
            assert not connection.execute(select(c.task).where(c.erased == 1)).all()


def test_probes_and_readers_need_not_wait_for_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()
    monkeypatch.setattr(Service, "erase", lambda *_: goes_on.wait(60) and 1)
    with serving(tmp_path / "store.sqlite", tmp_path) as (address, service):
        service.put_bandit("shop", BanditConfiguration(dimension=D))

        def erase() -> None:
            httpx.delete(f"{address}/v1/bandits/shop/tasks/ann", timeout=60)

        erasing = [Running(erase) for _ in range(40)]
        for each in erasing:
            each.start()
        time.sleep(0.5)
        for path in ("/readyz", "/metrics", "/v1/bandits"):
            assert httpx.get(address + path, timeout=10).status_code == 200
        goes_on.set()
        for each in erasing:
            each.finish(60)


def test_pages_leave_a_connection_to_the_commits(postgresql: str) -> None:
    with shop(postgresql) as service, ExitStack() as stack:
        for _ in range(8):
            connection = stack.enter_context(service.database.reading())
            connection.execute(text("SELECT 1"))
        within(5.0, lambda: decided(service, "ann"))


def test_a_bandit_that_cannot_be_tidied_stops_no_other(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tidy = Maintenance._tidy_bandit

    def broken(self: Maintenance, row: Any, *, sweep: bool) -> None:
        if row.name == "a":
            raise ValueError("its policy has another name now")
        tidy(self, row, sweep=sweep)

    monkeypatch.setattr(Maintenance, "_tidy_bandit", broken)
    clock = Clock()
    with shop(store, clock, deadline_seconds=60.0) as service:
        service.put_bandit("a", BanditConfiguration(dimension=D))
        (answer,) = decided(service, "ann")
        clock.now += 61.0
        until(lambda: service.decision("shop", answer.id).status == "expired")


def test_decisions_of_a_task_that_is_gone_expire(store: str) -> None:
    """Another process may have erased the task while this one decided."""
    clock = Clock()
    with shop(store, clock, deadline_seconds=60.0) as service:
        decided(service, *["ann"] * 3, "bob")
        with service.database.writing() as connection:
            connection.execute(delete(schema.tasks).where(schema.tasks.c.name == "ann"))
        clock.now += 61.0
        c = schema.decisions.c

        def pending() -> int:
            with service.database.reading() as connection:
                return len(connection.execute(select(c.id).where(c.status == 0)).all())

        until(lambda: pending() == 0)


def test_a_task_is_not_erased_while_another_process_decides_for_it(postgresql: str) -> None:
    with shop(postgresql) as one, shop(postgresql) as other:
        decided(one, "ann")
        for _ in range(20):
            erasing = Running(lambda: one.erase("shop", "ann"))
            erasing.start()
            with suppress(ServiceError):  # the task may be locked for long
                decided(other, *["ann"] * 20)
            erasing.finish(60)
            decided(one, "ann")
        with one.database.reading() as connection:
            tasks = set(connection.execute(select(schema.tasks.c.id)).scalars())
            decisions = set(connection.execute(select(schema.decisions.c.task)).scalars())
        assert decisions <= tasks


@pytest.mark.slow
def test_a_process_that_is_stopped_in_a_transaction_stops_no_other(
    postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "FROZEN_SECONDS", 8)
    with shop(postgresql) as service:
        ann, bob = decided(service, "ann", "bob")
        command = [sys.executable, "-c", _STOPPED, postgresql, ann.id]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "stopped\n"
                began = time.monotonic()
                both = service.reward("shop", [RewardRequest(decision=ann.id, value=1.0)])
                other = service.decide("shop", [DecisionRequest(task="eve")])
                assert other.result(4)
                with pytest.raises(ServiceError) as refusal:
                    both.result(4)
                assert refusal.value.problem.status == 503
                assert paid(service, [bob.id]) == ["paid"]
                assert time.monotonic() - began < 6.0  # while the other holds what it has locked

                def pay() -> bool:
                    try:
                        return paid(service, [ann.id]) == ["paid"]
                    except ServiceError:
                        return False

                until(pay, seconds=30)
            finally:
                os.kill(process.pid, signal.SIGKILL)


def test_processes_replace_a_catalogue_in_turns(postgresql: str) -> None:
    with shop(postgresql) as one, shop(postgresql) as other:
        for k in range(10):
            given = [[Item(id=f"{name}{i}", features=[0.0] * D) for i in range(K)] for name in "ab"]
            threads = [
                Running(partial(service.put_items, "shop", each))
                for service, each in zip((one, other), given, strict=True)
            ]
            for each in threads:
                each.start()
            for each in threads:
                each.finish(60)
            assert {item.id[0] for item in one.items("shop")} in ({"a"}, {"b"}), k


def test_a_catalogue_that_was_not_committed_is_not_served(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(store) as service:
        decided(service, "ann")
        write = service._registry.change_items

        def then_fails(transaction: Transaction, *given: Any) -> int:
            n = write(transaction, *given)
            service._registry.get(transaction, "shop")  # as a decision of the same group does
            transaction.connection.exec_driver_sql("SELECT * FROM nothing")
            return n

        with monkeypatch.context() as patch:
            patch.setattr(service._registry, "change_items", then_fails)
            with pytest.raises(ServiceError):
                service.put_items("shop", [Item(id="other", features=[0.0] * D)])
        (answer,) = decided(service, "ann")
        assert answer.arms[0].arm in {item.id for item in items()}


def test_what_follows_a_commit_is_not_a_reason_to_repeat_it(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(store) as service:
        end = Transaction.end

        def broken(self: Transaction) -> None:
            end(self)
            raise RuntimeError("a mistake in the program")

        with monkeypatch.context() as patch:
            patch.setattr(Transaction, "end", broken)
            decided(service, "ann")
        assert service.bandit("shop").decisions == 1


def test_a_deleted_bandit_leaves_the_memory_of_every_process(postgresql: str) -> None:
    with shop(postgresql) as one, shop(postgresql) as other:
        decided(other, "ann")
        one.delete_bandit("shop")
        until(lambda: not one.status()["bandits_in_memory"])
        until(lambda: not other.status()["bandits_in_memory"])


def test_rows_of_a_bandit_are_found_by_an_index(tmp_path: Path) -> None:
    store = str(tmp_path / "store.sqlite")
    with shop(store) as service, service.database.reading() as connection:
        for table in ("tasks", "decisions", "contributions", "items", "item_days", "minutes"):
            query = f"EXPLAIN QUERY PLAN SELECT * FROM {table} WHERE bandit = 7 LIMIT 5"
            plan = connection.exec_driver_sql(query).all()
            assert plan[0].detail.startswith("SEARCH"), table


def test_a_configuration_of_a_later_version_is_read(store: str) -> None:
    with shop(store) as service:
        configuration = msgspec.to_builtins(service.bandit("shop").configuration)
        content = msgspec.json.encode({**configuration, "later": [1]}).decode()
        with service.database.writing() as connection:
            connection.execute(update(schema.bandits).values(configuration=content))
        assert service.bandit("shop").configuration.dimension == D
        assert service.measures()["shop"]["pending"] == 0


def test_a_field_that_is_added_does_not_change_what_a_key_was_used_for() -> None:
    from headstart.service.engine.idempotency import _digest

    class Later(DecisionRequest):
        added: int = 3

    assert _digest(Later(task="ann", n=2)) == _digest(DecisionRequest(task="ann", n=2))
    assert _digest(Later(task="ann", added=4)) != _digest(DecisionRequest(task="ann"))


def test_timers_belong_to_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line from another thread cancels no timer, and no line is lost."""
    cancelled: list[int] = []
    cancel = asyncio.TimerHandle.cancel

    def noted(self: asyncio.TimerHandle) -> None:
        cancelled.append(threading.get_ident())
        cancel(self)

    monkeypatch.setattr(asyncio.TimerHandle, "cancel", noted)
    file = tmp_path / "log"

    async def requests(log: Log) -> None:
        for _ in range(200):
            log.request("GET", "/", 200, 0.1, "id")
            await asyncio.sleep(0)
        await asyncio.sleep(0.3)

    with file.open("w") as stream:
        log = Log("json", stream)

        def events() -> None:
            for _ in range(200):
                log.event("e")

        threads = [Running(events) for _ in range(4)]
        for each in threads:
            each.start()
        asyncio.run(requests(log))
        for each in threads:
            each.finish()
    assert not {*cancelled} & {each.ident for each in threads}
    assert len(file.read_text().splitlines()) == 1000


def exchanged(address: str, sent: bytes) -> bytes:
    """What a server answers to bytes."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(sent)
        text = b""
        while part := connection.recv(65536):
            text += part
    return text


@pytest.mark.parametrize(
    ("version", "hosts", "status"),
    [(b"1.1", 1, b"200"), (b"1.1", 0, b"400"), (b"1.1", 2, b"400"), (b"1.0", 0, b"200")],
)
def test_a_request_names_one_host(
    tmp_path: Path, version: bytes, hosts: int, status: bytes
) -> None:
    with serving(tmp_path / "s.sqlite", tmp_path) as (address, _):
        head = b"GET /healthz HTTP/" + version + b"\r\n" + b"host: localhost\r\n" * hosts
        answer = exchanged(address, head + b"connection: close\r\n\r\n")
    assert answer.split()[1] == status


def test_who_sends_too_much_gets_an_answer(tmp_path: Path) -> None:
    limits = Limits(body_bytes=1 << 20)
    with serving(tmp_path / "s.sqlite", tmp_path, limits) as (address, service):
        service.put_bandit("shop", BanditConfiguration(dimension=D))
        body = b"[" + b" " * (3 << 20) + b"]"
        head = b"POST /v1/bandits/shop/decisions HTTP/1.1\r\nhost: localhost\r\n"
        head += b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        assert exchanged(address, head + body).split()[1] == b"413"


def test_what_follows_a_body_is_no_header(tmp_path: Path) -> None:
    seen: list[dict[bytes, bytes]] = []
    answer = Application._answer

    async def noted(
        self: Application, route: Any, names: Any, query: Any, headers: Any, receive: Any
    ) -> Any:
        found = await answer(self, route, names, query, headers, receive)
        seen.append(dict(headers))
        return found

    with pytest.MonkeyPatch.context() as patch, serving(tmp_path / "s.sqlite", tmp_path) as served:
        patch.setattr(Application, "_answer", noted)
        address, service = served
        service.put_bandit("shop", BanditConfiguration(dimension=D))
        service.put_items("shop", items())
        body = b'{"task": "ann"}'
        text = exchanged(
            address,
            b"POST /v1/bandits/shop/decisions HTTP/1.1\r\nhost: localhost\r\n"
            b"content-type: application/json\r\nx-request-id: first\r\n"
            b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
            + b"%x\r\n" % len(body)
            + body
            + b"\r\n0\r\nx-request-id: second\r\n\r\n",
        )
        assert b"200 OK" in text
        assert b"x-request-id: first" in text
    assert [headers[b"x-request-id"] for headers in seen] == [b"first"]
