"""What those who share a service do to each other: large batches, many bandits, and time."""

import asyncio
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from benchmarks.service.load import PATH, set_up
from benchmarks.service.process import Process
from benchmarks.service.steady import steady
from benchmarks.service.wire import Wire

Figures = dict[str, Any]
# The largest batches that are taken: d, rows, and how many tasks they are of.
BATCHES = ((20, 10_000, 10_000), (20, 10_000, 1), (100, 10_000, 100), (1_000, 100, 100))
_LAG = re.compile(r'^headstart_prior_lag_seconds\{bandit="[^"]*"\} (\S+)$', re.MULTILINE)


def stall(process: Process, *, seconds: float) -> list[Figures]:
    """Latencies of one bandit's decisions and rewards while another takes the largest batches."""
    set_up(process, 20, 20)
    plan = {"per_second": 50.0, "n_tasks": 1_000, "seconds": seconds}
    steady(process.port, plan | {"seconds": 5.0, "seed": 1})
    results = [{"batch": None, **_shares(steady(process.port, plan)["latencies"])}]
    for d, rows, n_tasks in BATCHES:
        bandit = f"batches-{d}-{n_tasks}"
        set_up(process, d, 20, bandit=bandit)
        body = [{"task": i % n_tasks} for i in range(rows)]
        with _sent_again_and_again(process, f"/v1/bandits/{bandit}/decisions", body) as statuses:
            found = _shares(steady(process.port, plan)["latencies"])
        batch = {"d": d, "rows": rows, "tasks": n_tasks, "sent": len(statuses)}
        results.append({"batch": batch, "refused": sum(s != 200 for s in statuses), **found})
        process.call("DELETE", f"/v1/bandits/{bandit}")
    return results


def _shares(latencies: list[float]) -> Figures:
    values = np.array(latencies)
    shares = {"p50": 50.0, "p99": 99.0, "max": 100.0}
    return {name: float(np.percentile(values, share)) for name, share in shares.items()}


@contextmanager
def _sent_again_and_again(process: Process, path: str, body: object) -> Iterator[list[int]]:
    """One client that sends a batch as soon as the one before is answered; the statuses."""
    statuses: list[int] = []
    end = threading.Event()

    def send() -> None:
        while not end.is_set():
            statuses.append(process.call("POST", path, body)[0])

    thread = threading.Thread(target=send)
    thread.start()
    try:
        time.sleep(0.5)
        yield statuses
    finally:
        end.set()
        thread.join()


def many_bandits(process: Process, n: int, *, seconds: float) -> Figures:
    """How old priors are: seconds to the first one of each bandit, and how far they lag after."""
    names = [f"bandit{i}" for i in range(n)]
    for name in names:
        set_up(process, 20, 20, bandit=name)
    begin = time.monotonic()
    asyncio.run(_visits(process.port, names, 30.0, n_tasks=100))
    first: dict[str, float] = {}
    while len(first) < n and time.monotonic() - begin < 600.0:
        for name in set(names) - set(first):
            answer = process.call("GET", f"/v1/bandits/{name}/prior?history=0")[1]
            if answer["version"]:
                first[name] = time.monotonic() - begin
        time.sleep(0.2)
    lags: list[float] = []
    thread = threading.Thread(target=_watch_lags, args=(process, lags, seconds))
    thread.start()
    visits = asyncio.run(_visits(process.port, names, seconds, n_tasks=100))
    thread.join()
    return {
        "bandits": n,
        "first_prior": max(first.values()) if len(first) == n else None,
        "visits_per_second": visits / seconds,
        "lag_p50": float(np.median(lags)),
        "lag_max": max(lags),
    }


def _watch_lags(process: Process, lags: list[float], seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        content = process.call("GET", "/metrics")[1].decode()
        lags += [float(lag) for lag in _LAG.findall(content)]
        time.sleep(2.0)


async def _visits(port: int, bandits: list[str], seconds: float, *, n_tasks: int) -> int:
    """Decisions with rewards for all bandits in turn, by four clients; how many."""
    end, n = time.monotonic() + seconds, 0

    async def client(number: int) -> None:
        nonlocal n
        rng, wire = random.Random(number), Wire(port)
        while time.monotonic() < end:
            path = f"/v1/bandits/{rng.choice(bandits)}"
            rows = [{"task": rng.randrange(n_tasks)} for _ in range(5)]
            _, answers = await wire.post(f"{path}/decisions", rows)
            rewards = [{"decision": a["id"], "value": rng.gauss(0.0, 1.0)} for a in answers]
            await wire.post(f"{path}/rewards", rewards)
            n += len(rows)
            await asyncio.sleep(0.05)
        wire.close()

    await asyncio.gather(*map(client, range(4)))
    return n


def memory(process: Process, *, seconds: float) -> Figures:
    """The memory of a service and its children while new tasks come, with rewards in parts."""
    set_up(process, 20, 20)
    sizes: list[tuple[float, int]] = []
    begin, stop = time.monotonic(), threading.Event()

    def watch() -> None:
        while not stop.wait(2.0):
            sizes.append((time.monotonic() - begin, process.resident_bytes(children=True)))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        n = asyncio.run(_new_tasks(process.port, begin + seconds))
    finally:
        stop.set()
        thread.join()
    times, used = np.array(sizes).T
    late = times > times[-1] / 2
    return {
        "seconds": seconds,
        "decisions": n,
        "tasks": process.call("GET", PATH)[1]["tasks"],
        "at": {
            f"{share:.0%}": float(np.interp(share * seconds, times, used))
            for share in (0.1, 0.25, 0.5, 0.75, 1.0)
        },
        "most": float(used.max()),
        "bytes_per_hour": 3_600.0 * float(np.polyfit(times[late], used[late], 1)[0]),
    }


async def _new_tasks(port: int, end: float) -> int:
    """Decisions of old and new tasks, each with a reward in two parts; how many."""
    n = 0

    async def client(number: int) -> None:
        nonlocal n
        rng, wire = random.Random(number), Wire(port)
        while time.monotonic() < end:
            newest = n + 1
            rows = [{"task": f"{number}-{rng.randrange(newest)}"} for _ in range(20)]
            _, answers = await wire.post(f"{PATH}/decisions", rows)
            for key in ("click", "buy"):
                parts = [{"decision": a["id"], "key": key, "value": rng.random()} for a in answers]
                await wire.post(f"{PATH}/rewards", parts)
            n += len(rows)
            await asyncio.sleep(0.02)
        wire.close()

    await asyncio.gather(*map(client, range(4)))
    return n
