"""Clients that decide and reward until they are stopped, and keep every acknowledged answer."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from benchmarks.service.process import Process
from benchmarks.service.wire import Wire

BANDIT = "shop"
PATH = f"/v1/bandits/{BANDIT}"
METRIC = "refund"
_RETRY_SECONDS = 0.05


@dataclass(kw_only=True)
class Records:
    """What was acknowledged, in memory and, as it comes, in a file; and what must not happen."""

    file: TextIO
    decisions: dict[str, dict[str, Any]] = field(default_factory=dict)  # by key
    observations: dict[str, str] = field(default_factory=dict)  # id by key
    rewards: dict[str, dict[str, float]] = field(default_factory=dict)  # parts by decision, by key
    paid: Counter[str] = field(default_factory=Counter)  # answers "paid" by decision, key and value
    refused: Counter[int] = field(default_factory=Counter)  # answers by status
    n_broken: int = 0  # requests without an answer
    n_kills: int = 0
    wrong: list[str] = field(default_factory=list)

    def write(self, kind: str, **content: object) -> None:
        """One line of the file."""
        self.file.write(json.dumps({"kind": kind, **content}) + "\n")


def set_up(
    process: Process,
    dimension: int,
    n_items: int,
    seed: int = 0,
    bandit: str = BANDIT,
    **settings: Any,
) -> None:
    """A bandit with a catalogue of random arms."""
    rng, path = random.Random(seed), f"/v1/bandits/{bandit}"
    status, answer = process.call("PUT", path, {"dimension": dimension, "scales": None, **settings})
    if status != 200:
        raise RuntimeError(f"the bandit was not made: {answer}")
    items = [
        {"id": f"item{i}", "features": [rng.gauss(0.0, dimension**-0.5) for _ in range(dimension)]}
        for i in range(n_items)
    ]
    status, answer = process.call("PUT", f"{path}/items", items)
    if status != 200:
        raise RuntimeError(f"the catalogue was not made: {answer}")


class Client:
    """One connection per process; a request without an answer is sent again, perhaps elsewhere."""

    def __init__(self, name: str, ports: Sequence[int], records: Records, n_tasks: int) -> None:
        self._name = name
        self._wires = [Wire(port, timeout=15.0) for port in ports]
        self._records = records
        self._rng = random.Random(name)
        self._n_tasks = n_tasks
        self._waiting: list[str] = []  # decisions without a reward
        self._rewarded: list[str] = []
        self._n_timeouts = 0
        self._n = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`, then end what was begun."""
        actions = (self._decide, self._reward, self._amend, self._observe, self._repeat)
        while not stop.is_set():
            (action,) = self._rng.choices(actions, weights=(5, 5, 3, 1, 1))
            await action()
        await self._reward()
        for wire in self._wires:
            wire.close()

    async def _post(self, path: str, rows: list[dict[str, Any]]) -> list[Any]:
        """The answers to a batch; a key or an id makes it safe to send rows again."""
        answers: list[Any] = [None] * len(rows)
        left = list(range(len(rows)))
        wires = self._rng.sample(self._wires, len(self._wires))
        while True:
            for wire in wires:
                try:
                    status, answer = await wire.post(f"{PATH}/{path}", [rows[i] for i in left])
                except (OSError, TimeoutError) as error:
                    self._records.n_broken += 1
                    self._n_timeouts += isinstance(error, TimeoutError)
                    continue
                if status == 200:
                    for i, each in zip(left, answer, strict=True):
                        answers[i] = each
                    # Rows that were not stored when the store failed in the middle.
                    left = [i for i in left if answers[i].get("status") == 503]
                    if not left:
                        return answers
                    status = 503
                self._records.refused[status] += 1
                if status != 503:
                    self._records.wrong.append(f"{path}: status {status}, {answer}")
                    return []
            await asyncio.sleep(_RETRY_SECONDS)

    def _task(self) -> str:
        return f"task{self._rng.randrange(self._n_tasks)}"

    def _new_key(self) -> str:
        self._n += 1
        return f"{self._name}-{self._n}"

    async def _decide(self) -> None:
        rows = [
            {"task": self._task(), "idempotency_key": self._new_key()}
            for _ in range(self._rng.choice((1, 1, 4)))
        ]
        for row, answer in zip(rows, await self._post("decisions", rows), strict=False):
            if "arms" not in answer:
                self._records.wrong.append(f"decision: {answer}")
                continue
            self._records.decisions[row["idempotency_key"]] = answer
            self._records.write("decision", key=row["idempotency_key"], answer=answer)
            if self._rng.random() < 0.8:  # the others wait for ever
                self._waiting.append(answer["id"])

    async def _reward(self) -> None:
        chosen, self._waiting = self._waiting[:8], self._waiting[8:]
        timeouts = self._n_timeouts
        await self._pay([self._part(each, self._rng.choice(["", "click"])) for each in chosen])
        if self._n_timeouts == timeouts:
            self._rewarded += [each for each in chosen if each in self._records.rewards]

    async def _amend(self) -> None:
        """Other parts of rewards that came, and corrections of parts."""
        recent = self._rewarded[-100:]
        rows = []
        for decision in self._rng.sample(recent, min(4, len(recent))):
            parts = self._records.rewards[decision]
            key = self._rng.choice(["", "click", "buy", "return"])
            rows.append(self._part(decision, key, correction=key in parts))
        await self._pay(rows)

    def _part(self, decision: str, key: str, *, correction: bool = False) -> dict[str, Any]:
        """One part of a reward; it happened before the deadline, whenever it is sent."""
        row = {"decision": decision, "value": self._rng.gauss(0.0, 1.0), "time": 0.0}
        if key:
            row |= {"key": key, "metrics": {METRIC: self._rng.random()}}
        return row | {"correction": correction}

    async def _pay(self, rows: list[dict[str, Any]]) -> None:
        """Send parts, one of each decision."""
        if not rows:
            return
        before, timeouts = self._records.n_broken, self._n_timeouts
        answers = await self._post("rewards", rows)
        if self._n_timeouts > timeouts:
            # What was sent first may still be done after the next correction, and undo it.
            uncertain = {row["decision"] for row in rows}
            self._rewarded = [each for each in self._rewarded if each not in uncertain]
        for row, answer in zip(rows, answers, strict=False):
            # What a request without an answer did is told by the next.
            known = {"paid"} if self._records.n_broken == before else {"paid", "duplicate"}
            self._take(row, answer, known)

    def _take(self, row: dict[str, Any], answer: dict[str, Any], known: set[str]) -> None:
        outcome = answer.get("outcome")
        if outcome not in known:
            self._records.wrong.append(f"reward: {answer}, expected one of {sorted(known)}")
        if outcome in ("paid", "duplicate"):
            decision, key = row["decision"], row.get("key", "")
            self._records.rewards.setdefault(decision, {})[key] = row["value"]
            self._records.paid[f"{decision} {key} {row['value']}"] += outcome == "paid"
            self._records.write("reward", **row, outcome=outcome)

    async def _observe(self) -> None:
        key = self._new_key()
        row = {"task": self._task(), "arm": "item0", "value": self._rng.gauss(0.0, 1.0)}
        for answer in await self._post("observations", [{**row, "idempotency_key": key}]):
            if answer.get("outcome") != "paid":
                self._records.wrong.append(f"observation: {answer}")
                continue
            self._records.observations[key] = answer["id"]
            self._records.write("observation", key=key, **row, id=answer["id"])

    async def _repeat(self) -> None:
        """What was acknowledged before, once more: the same answer, and nothing is counted."""
        records = self._records
        if records.decisions:
            key = self._rng.choice(list(records.decisions)[-1000:])
            before = records.decisions[key]
            row = {"task": before["task"], "idempotency_key": key}
            for answer in await self._post("decisions", [row]):
                if answer != before:
                    records.wrong.append(f"the same key got {answer} after {before}")
        if self._rewarded:
            decision = self._rng.choice(self._rewarded[-100:])
            key, value = self._rng.choice(list(records.rewards[decision].items()))
            own = {"decision": decision, **({"key": key} if key else {})}
            for other, outcome in ((value, "duplicate"), (value + 1.0, "conflict")):
                for answer in await self._post("rewards", [{**own, "value": other}]):
                    if answer.get("outcome") != outcome:
                        records.wrong.append(f"reward: {answer}, expected {outcome}")


def opened(folder: Path) -> Records:
    """Records in a file of the folder."""
    return Records(file=(folder / "acknowledged.jsonl").open("w"))
