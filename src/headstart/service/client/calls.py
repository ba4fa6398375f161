"""Calls: what is sent for each method of a client, and what its answer is."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec

from headstart.service.client.requests import Log, Task
from headstart.service.http.interface.answers import Erased, ItemCount, ItemPage
from headstart.service.jobs.messages import (
    EvaluateRequest,
    FitChange,
    FitRequest,
    FitView,
    JobView,
)
from headstart.service.messages import (
    BanditConfiguration,
    BanditView,
    DecisionAnswer,
    DecisionRecord,
    DecisionRequest,
    Item,
    ItemChange,
    ObservationAnswer,
    ObservationRequest,
    PriorView,
    RewardAnswer,
    RewardRequest,
    TaskRecord,
)

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class HttpCall(Generic[T]):
    """One call: sent again where it failed, since what it does is done once.

    rows: whether the answer is a list in which each place has an `answer` or a Problem. once: what
    may be done twice if it is sent twice, so that it is sent again only if it did not arrive.
    """

    method: str
    path: str
    answer: type[T] | None
    body: bytes | None = None
    query: Mapping[str, str | int] | None = None
    rows: bool = False
    once: bool = False
    content_type: str = "application/json"


def _path(*names: Task) -> str:
    return "/v1/bandits" + "".join(f"/{_segment(str(name))}" for name in names)


def _segment(name: str) -> str:
    """A name as one part of a path: . and .. would stand for other parts."""
    quoted = quote(name, safe="")
    return quoted.replace(".", "%2E") if quoted in (".", "..") else quoted


def _call(method: str, answer: type[T] | None, *names: Task, body: Any = None) -> HttpCall[T]:
    content = None if body is None else msgspec.json.encode(body)
    return HttpCall(method=method, path=_path(*names), answer=answer, body=content)


def _rows(answer: type[T], bandit: str, route: str, rows: Sequence[Any]) -> HttpCall[T]:
    content = msgspec.json.encode(rows)
    path = _path(bandit, route)
    return HttpCall(method="POST", path=path, answer=answer, body=content, rows=True)


def _keyed(row: T) -> T:
    """The request with an idempotency key, so that sending it again is safe."""
    if getattr(row, "idempotency_key", "") is None:
        return msgspec.structs.replace(row, idempotency_key=uuid.uuid4().hex)  # type: ignore[type-var]
    return row


def bandits() -> HttpCall[list[BanditView]]:
    """All bandits."""
    return _call("GET", list[BanditView])


def put(bandit: str, configuration: BanditConfiguration) -> HttpCall[BanditView]:
    """Create or change a bandit."""
    return _call("PUT", BanditView, bandit, body=configuration)


def view(bandit: str) -> HttpCall[BanditView]:
    """A bandit as it is."""
    return _call("GET", BanditView, bandit)


def delete(bandit: str) -> HttpCall[None]:
    """Delete a bandit."""
    return _call("DELETE", None, bandit)


def decide(bandit: str, request: DecisionRequest) -> HttpCall[DecisionAnswer]:
    """One decision."""
    return _call("POST", DecisionAnswer, bandit, "decisions", body=_keyed(request))


def decide_many(bandit: str, requests: Sequence[DecisionRequest]) -> HttpCall[DecisionAnswer]:
    """Many decisions."""
    return _rows(DecisionAnswer, bandit, "decisions", [_keyed(row) for row in requests])


def reward(bandit: str, request: RewardRequest) -> HttpCall[RewardAnswer]:
    """One reward."""
    return _call("POST", RewardAnswer, bandit, "rewards", body=request)


def reward_many(bandit: str, requests: Sequence[RewardRequest]) -> HttpCall[RewardAnswer]:
    """Many rewards."""
    return _rows(RewardAnswer, bandit, "rewards", requests)


def observe(bandit: str, request: ObservationRequest) -> HttpCall[ObservationAnswer]:
    """One observation."""
    return _call("POST", ObservationAnswer, bandit, "observations", body=_keyed(request))


def observe_many(
    bandit: str, requests: Sequence[ObservationRequest]
) -> HttpCall[ObservationAnswer]:
    """Many observations."""
    return _rows(ObservationAnswer, bandit, "observations", [_keyed(row) for row in requests])


def decision(bandit: str, identity: str) -> HttpCall[DecisionRecord]:
    """A decision as it was made."""
    return _call("GET", DecisionRecord, bandit, "decisions", identity)


def task(bandit: str, name: Task) -> HttpCall[TaskRecord]:
    """What is known of a task."""
    return _call("GET", TaskRecord, bandit, "tasks", name)


def finish(bandit: str, name: Task) -> HttpCall[None]:
    """Finish a task."""
    return _call("POST", None, bandit, "tasks", name, "finish")


def erase(bandit: str, name: Task) -> HttpCall[Erased]:
    """Erase a task."""
    return _call("DELETE", Erased, bandit, "tasks", name)


def prior(bandit: str, history: int) -> HttpCall[PriorView]:
    """The prior."""
    query = {"history": history}
    path = _path(bandit, "prior")
    return HttpCall(method="GET", path=path, answer=PriorView, query=query)


def items(bandit: str, after: str | None, limit: int) -> HttpCall[ItemPage]:
    """A page of the catalogue."""
    query: dict[str, str | int] = {"limit": limit}
    if after is not None:
        query["after"] = after
    path = _path(bandit, "items")
    return HttpCall(method="GET", path=path, answer=ItemPage, query=query)


def put_items(bandit: str, given: Sequence[Item]) -> HttpCall[ItemCount]:
    """Replace the catalogue."""
    return _call("PUT", ItemCount, bandit, "items", body=given)


def patch_items(bandit: str, given: Sequence[Item | ItemChange]) -> HttpCall[ItemCount]:
    """Add to the catalogue, or change it."""
    return _call("PATCH", ItemCount, bandit, "items", body=given)


def delete_items(bandit: str, ids: Sequence[str] | None) -> HttpCall[ItemCount]:
    """Remove from the catalogue."""
    return _call("DELETE", ItemCount, bandit, "items", body=ids)


def start_fit(bandit: str, request: FitRequest, log: Log | None) -> HttpCall[JobView]:
    """Learn from a log."""
    return _job(bandit, "fit", request, log)


def start_evaluate(bandit: str, request: EvaluateRequest, log: Log | None) -> HttpCall[JobView]:
    """Estimate the mean reward on a log."""
    return _job(bandit, "evaluate", request, log)


def jobs(bandit: str, limit: int) -> HttpCall[list[JobView]]:
    """The jobs of a bandit."""
    path = _path(bandit, "jobs")
    return HttpCall(method="GET", path=path, answer=list[JobView], query={"limit": limit})


def job(bandit: str, identity: str) -> HttpCall[JobView]:
    """A job as it stands."""
    return _call("GET", JobView, bandit, "jobs", identity)


def cancel(bandit: str, identity: str) -> HttpCall[JobView]:
    """Cancel a job."""
    return _call("DELETE", JobView, bandit, "jobs", identity)


def fits(bandit: str) -> HttpCall[list[FitView]]:
    """The logs that were learned."""
    return _call("GET", list[FitView], bandit, "fits")


def fit(bandit: str, number: int) -> HttpCall[FitView]:
    """One log that was learned."""
    return _call("GET", FitView, bandit, "fits", number)


def promote(bandit: str, fit: int) -> HttpCall[FitChange]:
    """Have a fit count."""
    return _call("POST", FitChange, bandit, "fits", fit, "promote")


def withdraw(bandit: str, fit: int) -> HttpCall[FitChange]:
    """Have a fit count no longer."""
    return _call("POST", FitChange, bandit, "fits", fit, "withdraw")


def delete_fit(bandit: str, fit: int) -> HttpCall[None]:
    """Delete a fit."""
    return _call("DELETE", None, bandit, "fits", fit)


def _job(
    bandit: str, route: str, request: FitRequest | EvaluateRequest, log: Log | None
) -> HttpCall[JobView]:
    content, kind, query = msgspec.json.encode(request), "application/json", None
    if log is not None:
        query = {"request": content.decode()}
        content, kind = log.content, log.content_type
    return HttpCall(
        method="POST",
        path=_path(bandit, route),
        answer=JobView,
        body=content,
        query=query,
        once=True,
        content_type=kind,
    )
