"""Latency at a fixed rate: requests begin when they are due, whatever became of those before.

A latency counts from the moment at which the request was due, so that an answer that is late delays
those behind it in the figures too (no coordinated omission).
"""

import asyncio
import json
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.service.load import PATH
from benchmarks.service.wire import Wire, request

_CONNECTIONS = 64


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Decisions per second at random moments; each has its reward some time later."""

    port: int
    per_second: float
    seconds: float
    n_tasks: int
    reward_after: float = 1.0
    seed: int = 0


async def latencies(plan: Plan) -> tuple[list[float], int]:
    """The seconds of every request, and how many were not answered by 200."""
    rng = random.Random(plan.seed)
    free: asyncio.Queue[Wire] = asyncio.Queue()
    for _ in range(_CONNECTIONS):
        free.put_nowait(Wire(plan.port))
    found: list[float] = []
    n_refused = 0
    begin = time.perf_counter() + 0.1

    async def send(due: float, content: bytes) -> bytes:
        nonlocal n_refused
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        wire = await free.get()
        status, answer = 0, b""
        try:
            status, answer = await wire.send(content)
        except TimeoutError:
            pass  # a latency like any other: as long as the client waits
        finally:
            free.put_nowait(wire)
        found.append(time.perf_counter() - due)
        n_refused += status != 200
        return answer

    async def pair(due: float, task: int, value: float) -> None:
        body = json.dumps({"task": f"task{task}"}).encode()
        content = await send(due, request(f"{PATH}/decisions", body))
        if not content:
            return
        answer = json.loads(content)
        reward = json.dumps({"decision": answer["id"], "value": value}).encode()
        await send(due + plan.reward_after, request(f"{PATH}/rewards", reward))

    due = 0.0
    async with asyncio.TaskGroup() as group:
        while due < plan.seconds:
            task, value = rng.randrange(plan.n_tasks), rng.gauss(0.0, 1.0)
            group.create_task(pair(begin + due, task, value))
            due += rng.expovariate(plan.per_second)
            # Tasks are made shortly before they are due, not all at once.
            await asyncio.sleep(max(0.0, begin + due - 0.2 - time.perf_counter()))
    return found, n_refused


def steady(port: int, plan: dict[str, Any]) -> dict[str, Any]:
    """The latencies of a plan, by a process of its own, and how many requests were refused."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.service.steady", json.dumps(plan | {"port": port})],
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(argument: str) -> None:
    """Print the latencies of a plan that is given as JSON."""
    found, n_refused = asyncio.run(latencies(Plan(**json.loads(argument))))
    print(json.dumps({"latencies": found, "refused": n_refused}))


if __name__ == "__main__":
    main(sys.argv[1])
