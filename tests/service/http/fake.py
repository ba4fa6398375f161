"""A service without a bandit: it answers in groups, in a thread, from dictionaries."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from datetime import date
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from headstart.live.outcomes import Outcome
from headstart.service.messages import (
    BanditConfiguration,
    BanditView,
    ChosenArm,
    DecisionAnswer,
    DecisionRecord,
    DecisionRequest,
    Item,
    ItemChange,
    ItemReport,
    ObservationAnswer,
    ObservationRequest,
    PriorView,
    RewardAnswer,
    RewardRequest,
    ServiceError,
    TaskRecord,
    invalid,
    not_found,
)
from headstart.service.store.database import Database


class FakeService:
    """Answers at once, and remembers what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.database = Database.open(folder / "fake.db")
        self.clock: Callable[[], float] = time.time
        self.ready = False
        self.catalogue: dict[str, Item] = {}
        self.known: dict[str, BanditConfiguration] = {"news": BanditConfiguration(dimension=2)}
        self.seen: list[tuple[str, Any]] = []
        self.fails: Exception | None = None
        self.held = threading.Event()
        self.held.set()
        self._queue: SimpleQueue[tuple[Future[Any], Any] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def start(self) -> None:
        self.ready = True

    def stop(self) -> None:
        self.ready = False
        self._queue.put(None)
        self._thread.join(5)
        self.database.close()

    def status(self) -> Mapping[str, object]:
        return {"waiting_rows": 0, "rows": len(self.seen)}

    def counts(self) -> Mapping[str, Mapping[str, float]]:
        return {}

    def measures(self) -> Mapping[str, Mapping[str, float]]:
        return {name: {"pending": 0.0} for name in self.known}

    def _run(self) -> None:
        while (entry := self._queue.get()) is not None:
            future, answer = entry
            self.held.wait()
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    def _later(self, bandit: str, answer: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if bandit not in self.known:
            answer = not_found(f"bandit must be one that was put, got {bandit!r}")
        self._queue.put((future, self.fails or answer))
        return future

    def decide(
        self, bandit: str, requests: Sequence[DecisionRequest]
    ) -> Future[list[DecisionAnswer | ServiceError]]:
        self.seen += [("decide", request) for request in requests]
        return self._later(bandit, [_decided(request) for request in requests])

    def reward(
        self, bandit: str, requests: Sequence[RewardRequest]
    ) -> Future[list[RewardAnswer | ServiceError]]:
        self.seen += [("reward", request) for request in requests]
        answers = [RewardAnswer(decision=r.decision, outcome=Outcome.PAID) for r in requests]
        return self._later(bandit, answers)

    def observe(
        self, bandit: str, requests: Sequence[ObservationRequest]
    ) -> Future[list[ObservationAnswer | ServiceError]]:
        self.seen += [("observe", request) for request in requests]
        return self._later(
            bandit, [ObservationAnswer(id="o", outcome=Outcome.PAID)] * len(requests)
        )

    def erase(self, bandit: str, task: str) -> int:
        self.seen.append(("erase", task))
        return 7

    def put_bandit(self, name: str, configuration: BanditConfiguration) -> BanditView:
        if self.fails is not None:
            raise self.fails
        self.known[name] = configuration
        return self.bandit(name)

    def bandit(self, name: str) -> BanditView:
        if name not in self.known:
            raise not_found(f"bandit must be one that was put, got {name!r}")
        return BanditView(
            name=name,
            configuration=self.known[name],
            dimension=2,
            feature_names=self.known[name].feature_names or ["x0", "x1"],
            created=1.0,
            changed=1.0,
            items=len(self.catalogue),
            tasks=0,
            decisions=0,
            rewards=0,
            prior_version=0,
            paused=None,
        )

    def bandits(self) -> list[BanditView]:
        return [self.bandit(name) for name in self.known]

    def delete_bandit(self, name: str) -> None:
        self.bandit(name)
        del self.known[name]

    def put_items(self, bandit: str, items: Sequence[Item]) -> int:
        self.bandit(bandit)
        self.catalogue = {item.id: item for item in items}
        return len(self.catalogue)

    def patch_items(self, bandit: str, items: Sequence[Item | ItemChange]) -> int:
        self.bandit(bandit)
        for item in items:
            old = self.catalogue.get(item.id)
            features = item.features or (old.features if old else None)
            if features is None:
                raise invalid(f"features of the new item {item.id!r} must be given, got none")
            tags = item.tags if item.tags is not None else (old.tags if old else [])
            self.catalogue[item.id] = Item(id=item.id, features=features, tags=tags)
        return len(self.catalogue)

    def delete_items(self, bandit: str, ids: Sequence[str] | None) -> int:
        self.bandit(bandit)
        for each in list(self.catalogue) if ids is None else ids:
            self.catalogue.pop(each, None)
        return len(self.catalogue)

    def items(self, bandit: str, *, after: str | None = None, limit: int = 1000) -> list[Item]:
        self.bandit(bandit)
        return [self.catalogue[i] for i in sorted(self.catalogue) if i > (after or "")][:limit]

    def decision(self, bandit: str, decision: str) -> DecisionRecord:
        raise not_found(f"decision must be one of {bandit}, got {decision!r}")

    def task(self, bandit: str, task: str) -> TaskRecord:
        self.bandit(bandit)
        raise not_found(f"task must be one of {bandit}, got {task!r}")

    def item_report(
        self, bandit: str, *, since: date | None, until: date | None, limit: int
    ) -> ItemReport:
        self.bandit(bandit)
        first, last = since or date(2026, 3, 1), until or date(2026, 3, 7)
        return ItemReport(since=first, until=last, decisions=limit, items=[])

    def prior(self, bandit: str, *, history: int = 100) -> PriorView:
        self.bandit(bandit)
        return PriorView(
            version=history,
            time=1.0,
            mean=[0.0, 0.0],
            spread=[1.0, 1.0],
            noise_scale=1.0,
            n_tasks=0,
            effective_tasks=0.0,
            source="refresh",
            feature_names=["x0", "x1"],
            history=[],
        )


def _decided(request: DecisionRequest) -> DecisionAnswer | ServiceError:
    if request.tag == "unknown":
        return invalid(f"tag must be one of the catalogue, got {request.tag!r}")
    arm = next(iter(request.arms)) if request.arms else "a"
    return DecisionAnswer(
        id="0" * 32,
        task=str(request.task),
        arms=[ChosenArm(id="0" * 32, arm=arm, propensity=0.5, mean=0.1, low=0.0, high=0.2)],
        prior_version=0,
        control=False,
    )
