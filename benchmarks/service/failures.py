"""Failures under load: processes killed, the database away, the disk full, rewards sent twice."""

import asyncio
import math
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.service.audit import Audit, audit
from benchmarks.service.load import METRIC, PATH, Client, Records, opened, set_up
from benchmarks.service.process import Process
from benchmarks.service.wire import Wire

DIMENSION, N_ITEMS, N_TASKS, N_CLIENTS = 8, 20, 50, 16
_MEASURED: dict[str, Any] = {
    "control_share": 0.1,
    "guardrails": [{"name": METRIC, "worse": "higher"}],
}


@dataclass(frozen=True, kw_only=True)
class Result:
    """An audit after failures, and what the clients saw meanwhile."""

    audit: Audit
    n_kills: int
    n_broken: int  # requests without an answer
    n_unavailable: int  # answers 503
    seconds: float
    wrong: Sequence[str]  # the first few


# What happens while the clients work.
Disturbance = Callable[[Sequence[Process], Records], Awaitable[None]]


def under_load(
    store: str, folder: Path, disturbance: Disturbance, *, n_processes: int = 1, **settings: Any
) -> Result:
    """Load a store through processes, disturb them, and audit the store afterwards.

    settings: those of the bandit, next to its control and its guardrail.
    """
    begin = time.monotonic()
    records = opened(folder)
    processes = [Process(store, folder) for _ in range(n_processes)]
    try:
        for each in processes:
            each.start()
        set_up(processes[0], DIMENSION, N_ITEMS, **_MEASURED, **settings)
        asyncio.run(_disturbed(processes, records, disturbance))
        for each in processes:
            each.stop()
    finally:
        records.file.close()
        for each in processes:
            each.kill()
    return Result(
        audit=audit(store, records, DIMENSION),
        n_kills=records.n_kills,
        n_broken=records.n_broken,
        n_unavailable=records.refused[503],
        seconds=time.monotonic() - begin,
        wrong=records.wrong[:10],
    )


async def _disturbed(
    processes: Sequence[Process], records: Records, disturbance: Disturbance
) -> None:
    stop = asyncio.Event()
    ports = [each.port for each in processes]
    async with asyncio.TaskGroup() as group:
        for i in range(N_CLIENTS):
            group.create_task(Client(f"client{i}", ports, records, N_TASKS).run(stop))
        try:
            await disturbance(processes, records)
        finally:
            stop.set()


def kills(
    n: int,
    *,
    seed: int = 0,
    seconds: float = math.inf,
    say: Callable[[str], None] = lambda _: None,
) -> Disturbance:
    """Kill one of the processes n times, at random moments of the load, and start it again.

    After so many seconds, no further one is killed.
    """

    async def disturb(processes: Sequence[Process], records: Records) -> None:
        rng, begin = random.Random(seed), time.monotonic()
        for i in range(n):
            if time.monotonic() - begin > seconds:
                break
            enough = len(records.decisions) + rng.randrange(1, 150)
            while len(records.decisions) < enough:
                await asyncio.sleep(0.001)
            await asyncio.sleep(rng.uniform(0.0, 0.02))
            process = rng.choice(processes)
            process.kill()
            records.n_kills += 1
            await asyncio.to_thread(process.start)
            say(f"{i + 1} of {n} kills, {len(records.decisions)} decisions acknowledged")
        await asyncio.sleep(0.5)

    return disturb


def without(
    away: Callable[[], AbstractContextManager[None]],
    seconds: float,
    after: float,
    meanwhile: Callable[[], None] = lambda: None,
) -> Disturbance:
    """Take something away for some seconds; then decisions must be acknowledged again."""

    async def disturb(processes: Sequence[Process], records: Records) -> None:
        while len(records.decisions) < 100:
            await asyncio.sleep(0.01)
        with away():
            await asyncio.sleep(seconds)
            await asyncio.to_thread(meanwhile)
        begin, before = time.monotonic(), len(records.decisions)
        while len(records.decisions) < before + 20:
            if time.monotonic() - begin > after:
                raise RuntimeError(f"no decisions {after} s after what was away came back")
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)

    return disturb


def rewards_sent_twice(store: str, folder: Path, n: int) -> Counter[tuple[str, ...]]:
    """Send every reward to two processes at once; how often each pair of outcomes was answered."""
    with Process(store, folder) as first, Process(store, folder) as second:
        set_up(first, DIMENSION, N_ITEMS)
        return asyncio.run(_send_twice([first.port, second.port], n))


async def _send_twice(ports: Sequence[int], n: int) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()

    async def client(number: int) -> None:
        wires = [Wire(port) for port in ports]
        for i in range(n // N_CLIENTS):
            _, answer = await wires[i % 2].post(f"{PATH}/decisions", {"task": (number + i) % 20})
            message = {"decision": answer["id"], "value": 1.0}
            sent = await asyncio.gather(*(each.post(f"{PATH}/rewards", message) for each in wires))
            found[tuple(sorted(answer.get("outcome", str(s)) for s, answer in sent))] += 1
        for wire in wires:
            wire.close()

    await asyncio.gather(*map(client, range(N_CLIENTS)))
    return found
