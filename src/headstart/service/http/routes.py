"""Routes: every call of the interface; calls are routed, decoded and described from these.

A route is a function. Its name, docstring and types are the operation's name, summary and schemas;
it asks for what it needs by the names of its parameters: `service`, `jobs`, `metrics` and
`description` of the application, `body`, `query` and `upload` of the call, or a name in the path.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Annotated, Any, Literal, TypeVar, get_args
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Meta
from msgspec.json import Decoder
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.routing import compile_path

from headstart import __version__
from headstart.service.engine import export
from headstart.service.engine.service import Service
from headstart.service.http.metrics import Metrics
from headstart.service.http.problems import MethodError, no_path
from headstart.service.http.proxy import prefix
from headstart.service.jobs.files import Upload
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import (
    LONGEST_NAME,
    MOST_ARMS,
    BanditConfiguration,
    BanditView,
    DecisionAnswer,
    DecisionRecord,
    DecisionRequest,
    Erased,
    EvaluateRequest,
    FitChange,
    FitRequest,
    FitView,
    Gain,
    Item,
    ItemChange,
    ItemCount,
    ItemPage,
    ItemReport,
    JobView,
    Message,
    Name,
    Names,
    ObservationAnswer,
    ObservationRequest,
    PriorView,
    RewardAnswer,
    RewardRequest,
    Role,
    ServiceError,
    ShadowView,
    TaskRecord,
    Time,
    invalid,
    not_found,
    unavailable,
)

VERSION = "v1"
JSON = "application/json"
_RESOURCES = ("service", "jobs", "metrics", "description")  # of the application
_LARGEST_FIT = 2**31 - 1
F = TypeVar("F", bound=Callable[..., Any])


class Text(msgspec.Struct):
    """An answer that is not JSON of a message."""

    content: bytes
    content_type: str


class Stream(msgspec.Struct):
    """An answer in parts, sent as they are made."""

    parts: Iterator[bytes]
    content_type: str


@dataclass(frozen=True, kw_only=True)
class Route:
    """A method and a path, who may call them, and the function that answers.

    errors: the statuses of its own refusals. answer: the type of the answer, for one row if the
    body is one `row` or a list of rows; None without a message, when media is the content type.
    """

    method: str
    path: str
    role: Role | None  # None if no key is needed
    function: Callable[..., Any]
    status: int
    errors: Sequence[int]
    media: str
    answer: Any
    body: Any  # its type; None without one
    body_optional: bool
    row: type[msgspec.Struct] | None  # then the function returns a future
    query: type[msgspec.Struct] | None
    names: tuple[str, ...]  # in the path
    resources: tuple[str, ...]  # what the function needs of the application
    takes_upload: bool  # whether the body may be a log instead
    decoder: Decoder[Any]  # of the body, or of one row
    rows_decoder: Decoder[list[Any]]

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.function.__name__

    @property
    def summary(self) -> str:
        """What the operation does."""
        return inspect.getdoc(self.function) or ""


ROUTES: list[Route] = []


def route(
    method: str,
    path: str,
    role: Role | None,
    *,
    status: int = 200,
    errors: Sequence[int] = (),
    media: str = JSON,
) -> Callable[[F], F]:
    """A function that answers a method and a path, added to `ROUTES`."""

    def add(function: F) -> F:
        signature = inspect.signature(function)
        types = {name: taken.annotation for name, taken in signature.parameters.items()}
        row = get_args(types["rows"])[0] if "rows" in types else None
        answer = signature.return_annotation
        if row is not None:  # Future[list[answer | ServiceError]]
            (answers,) = get_args(answer)
            answer = get_args(get_args(answers)[0])[0]
        body = types.get("body")
        body_optional = body is not None and signature.parameters["body"].default is None
        ROUTES.append(
            Route(
                method=method,
                path=path,
                role=role,
                function=function,
                status=status,
                errors=errors,
                media=media,
                answer=None if status == 204 or answer in (Text, Stream) else answer,
                body=get_args(body)[0] if body_optional else body,
                body_optional=body_optional,
                row=row,
                query=types.get("query"),
                names=tuple(compile_path(path)[2]),
                resources=tuple(name for name in _RESOURCES if name in types),
                takes_upload="upload" in types,
                decoder=Decoder(body if row is None else row),
                rows_decoder=Decoder(list[row]),  # type: ignore[valid-type]
            )
        )
        return function

    return add


_get, _put, _patch, _post, _delete = (
    partial(route, method) for method in ("GET", "PUT", "PATCH", "POST", "DELETE")
)

BANDITS = f"/{VERSION}/bandits"
BANDIT = f"{BANDITS}/{{bandit}}"


@_post(f"{BANDIT}/decisions", "decide", errors=(404, 409))
def decide(
    service: Service, bandit: str, rows: Sequence[DecisionRequest]
) -> Future[list[DecisionAnswer | ServiceError]]:
    """Choose arms for a task, or for a list of tasks."""
    return service.decide(bandit, rows)


@_post(f"{BANDIT}/rewards", "decide", errors=(404,))
def reward(
    service: Service, bandit: str, rows: Sequence[RewardRequest]
) -> Future[list[RewardAnswer | ServiceError]]:
    """Report the reward of a decision, or a list of rewards; each counts once."""
    return service.reward(bandit, rows)


@_post(f"{BANDIT}/observations", "decide", errors=(404, 409))
def observe(
    service: Service, bandit: str, rows: Sequence[ObservationRequest]
) -> Future[list[ObservationAnswer | ServiceError]]:
    """Report the reward of a choice that was made elsewhere, or a list of these."""
    return service.observe(bandit, rows)


@_get(BANDITS, "read")
def list_bandits(service: Service) -> list[BanditView]:
    """All bandits."""
    return service.bandits()


@_put(BANDIT, "admin", errors=(409,))
def put_bandit(service: Service, bandit: str, body: BanditConfiguration) -> BanditView:
    """Create or change a bandit."""
    return service.put_bandit(bandit, body)


@_get(BANDIT, "read", errors=(404,))
def get_bandit(service: Service, bandit: str) -> BanditView:
    """A bandit: its configuration, and how much it has of what."""
    return service.bandit(bandit)


@_delete(BANDIT, "admin", status=204, errors=(404,))
def delete_bandit(service: Service, bandit: str) -> None:
    """Delete a bandit with all its tasks and decisions."""
    service.delete_bandit(bandit)


@_post(f"{BANDIT}/resume", "admin", errors=(404,))
def resume_bandit(service: Service, bandit: str) -> BanditView:
    """Let new tasks start warm again after a guardrail was broken."""
    return service.resume(bandit)


class HistoryQuery(Message):
    """How many versions of the prior to list."""

    history: Annotated[int, Meta(ge=0, le=10_000)] = 100


@_get(f"{BANDIT}/prior", "read", errors=(404,))
def get_prior(service: Service, bandit: str, query: HistoryQuery) -> PriorView:
    """What the tasks so far say about the next: the prior, and its history."""
    return service.prior(bandit, history=query.history)


@_get(f"{BANDIT}/gain", "read", errors=(404,))
def get_gain(service: Service, bandit: str) -> Gain:
    """What the warm start is worth: warm tasks against the control, at any time."""
    return service.gain(bandit)


@_get(f"{BANDIT}/shadow", "read", errors=(404,))
def get_shadow(service: Service, bandit: str) -> ShadowView:
    """Shadow mode: how often the service would have chosen the same."""
    return service.shadow(bandit)


class ItemQuery(Message):
    """Which items: after an id, at most `limit`."""

    after: Name | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1_000


@_get(f"{BANDIT}/items", "read", errors=(404,))
def list_items(service: Service, bandit: str, query: ItemQuery) -> ItemPage:
    """The catalogue, page by page."""
    items = service.items(bandit, after=query.after, limit=query.limit)
    return ItemPage(items=items, next=items[-1].id if len(items) == query.limit else None)


@_put(f"{BANDIT}/items", "admin", errors=(404,))
def put_items(
    service: Service, bandit: str, body: Annotated[list[Item], Meta(max_length=MOST_ARMS)]
) -> ItemCount:
    """Replace the whole catalogue."""
    return ItemCount(items=service.put_items(bandit, body))


@_patch(f"{BANDIT}/items", "admin", errors=(404,))
def patch_items(
    service: Service, bandit: str, body: Annotated[list[ItemChange], Meta(max_length=MOST_ARMS)]
) -> ItemCount:
    """Add items to the catalogue, or change some; null leaves a value unchanged."""
    # A change with all values is an item, which may be new.
    items = [
        Item(**msgspec.structs.asdict(change))
        if (change.features or change.attributes) is not None and change.tags is not None
        else change
        for change in body
    ]
    return ItemCount(items=service.patch_items(bandit, items))


@_delete(f"{BANDIT}/items", "admin", errors=(404,))
def delete_items(service: Service, bandit: str, body: Names | None = None) -> ItemCount:
    """Remove items by their ids; without a body, all."""
    return ItemCount(items=service.delete_items(bandit, body))


class StatisticsQuery(Message):
    """Which days, in UTC, including both; and at most how many items, the most shown first."""

    since: date | None = None
    until: date | None = None
    limit: Annotated[int, Meta(ge=1, le=MOST_ARMS)] = MOST_ARMS


@_get(f"{BANDIT}/items/statistics", "read", errors=(404,))
def item_statistics(service: Service, bandit: str, query: StatisticsQuery) -> ItemReport:
    """Items in numbers: how often each was shown and what it earned, over the last week or days."""
    return service.item_report(bandit, since=query.since, until=query.until, limit=query.limit)


class ExportQuery(Message):
    """Which decisions: from a time until before another; rewarded: only those with a reward."""

    start: Time = 0.0
    end: Time = 1e11
    rewarded: bool = False


PARQUET = "application/vnd.apache.parquet"


@_get(f"{BANDIT}/decisions.parquet", "read", errors=(404,), media=PARQUET)
def export_parquet(service: Service, bandit: str, query: ExportQuery) -> Stream:
    """Decisions with their propensities and rewards, as a Parquet file."""
    row, pages = service.export(bandit, query.start, query.end, rewarded=query.rewarded)
    return Stream(export.parquet(pages, row.dimension), PARQUET)


@_get(f"{BANDIT}/decisions/{{decision}}", "read", errors=(404,))
def get_decision(service: Service, bandit: str, decision: str) -> DecisionRecord:
    """A decision: why this arm, and what happened to its reward."""
    return service.decision(bandit, decision)


@_get(f"{BANDIT}/tasks/{{task}}", "read", errors=(404,))
def get_task(service: Service, bandit: str, task: str) -> TaskRecord:
    """What is known of a task."""
    return service.task(bandit, task)


@_delete(f"{BANDIT}/tasks/{{task}}", "admin", errors=(404,))
def erase_task(service: Service, bandit: str, task: str) -> Erased:
    """Erase a task and its decisions, from the prior too."""
    return Erased(prior_version=service.erase(bandit, task))


@_post(f"{BANDIT}/fit", "admin", status=202, errors=(404,))
def start_fit(jobs: Jobs, bandit: str, body: FitRequest, upload: Upload | None) -> JobView:
    """Learn from a log: a report first, then a shadow fit that counts once promoted."""
    return jobs.start_fit(bandit, body, upload)


@_post(f"{BANDIT}/evaluate", "admin", status=202, errors=(404,))
def start_evaluate(
    jobs: Jobs, bandit: str, body: EvaluateRequest, upload: Upload | None
) -> JobView:
    """Estimate the mean reward of the bandit on a log of decisions."""
    return jobs.start_evaluate(bandit, body, upload)


class LimitQuery(Message):
    """At most how many."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100


@_get(f"{BANDIT}/jobs", "read", errors=(404,))
def list_jobs(jobs: Jobs, bandit: str, query: LimitQuery) -> list[JobView]:
    """The jobs of a bandit, latest first."""
    return jobs.jobs(bandit, limit=query.limit)


@_get(f"{BANDIT}/jobs/{{job}}", "read", errors=(404,))
def get_job(jobs: Jobs, bandit: str, job: str) -> JobView:
    """The state of a job: progress, and its report once it is done."""
    return jobs.job(bandit, job)


@_delete(f"{BANDIT}/jobs/{{job}}", "admin", errors=(404, 409))
def cancel_job(jobs: Jobs, bandit: str, job: str) -> JobView:
    """Cancel a job that has not ended."""
    return jobs.cancel(bandit, job)


def _fit_number(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > _LARGEST_FIT:
        raise not_found(f"fit must be the number of one of this bandit, got {text!r}")
    return int(text)


@_get(f"{BANDIT}/fits", "read", errors=(404,))
def list_fits(jobs: Jobs, bandit: str) -> list[FitView]:
    """The logs that were learned, latest first."""
    return jobs.fits(bandit)


@_get(f"{BANDIT}/fits/{{fit}}", "read", errors=(404,))
def get_fit(jobs: Jobs, bandit: str, fit: str) -> FitView:
    """A log that was learned."""
    return jobs.fit(bandit, _fit_number(fit))


@_post(f"{BANDIT}/fits/{{fit}}/promote", "admin", errors=(404, 409))
def promote_fit(jobs: Jobs, bandit: str, fit: str) -> FitChange:
    """Let a fit count for the prior, which gets a new version."""
    return jobs.promote(bandit, _fit_number(fit))


@_post(f"{BANDIT}/fits/{{fit}}/withdraw", "admin", errors=(404, 409))
def withdraw_fit(jobs: Jobs, bandit: str, fit: str) -> FitChange:
    """Stop counting a fit; the prior gets a new version without it."""
    return jobs.withdraw(bandit, _fit_number(fit))


@_delete(f"{BANDIT}/fits/{{fit}}", "admin", status=204, errors=(404, 409))
def delete_fit(jobs: Jobs, bandit: str, fit: str) -> None:
    """Delete a fit that is not promoted."""
    jobs.delete_fit(bandit, _fit_number(fit))


class Health(Message):
    """Whether the process answers, and what it speaks."""

    status: Literal["ok"]
    version: str  # of headstart
    interfaces: list[str]  # the versions of the interface


@_get("/healthz", None)
def health() -> Health:
    """Whether the process answers."""
    return Health(status="ok", version=__version__, interfaces=[VERSION])


class Readiness(Message):
    """Whether calls are answered."""

    ready: bool


@_get("/readyz", None, errors=(503,))
def readiness(service: Service) -> Readiness:
    """Whether calls are answered: 503 until all is compiled and the store answers."""
    if not service.ready:
        raise unavailable("the service is not ready: it is compiling, or its store does not answer")
    return Readiness(ready=True)


PROBES = frozenset(("/healthz", "/readyz"))  # called every second, and not logged


@_get("/metrics", "read", media="text/plain")
def metrics(metrics: Metrics) -> Text:
    """Metrics for Prometheus."""
    return Text(metrics.text(), CONTENT_TYPE_LATEST)


@_get("/openapi.json", None)
def openapi(description: Callable[[str], bytes]) -> Text:
    """The description of all calls."""
    return Text(description(prefix.get()), JSON)


class RouteTable:
    """Routes by method and path, matched as Starlette does, but percent-encoded.

    So a name in a path is one segment, whatever it holds; and an unknown method is answered with
    all methods of the path.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        by_path: dict[str, dict[str, Route]] = {}
        for route in routes:
            by_path.setdefault(route.path, {})[route.method] = route
        self._patterns = [(compile_path(path)[0], methods) for path, methods in by_path.items()]
        self._first = {path.split("/")[1] for path in by_path} | {"bandits"}

    def knows(self, path: str) -> bool:
        """Whether a path belongs to the interface, right or wrong; else it is a page."""
        first = path.split("/", 2)[1:2]
        return bool(first) and (first[0] in self._first or _is_version(first[0]))

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """The route of a call, and the names in its path."""
        for pattern, methods in self._patterns:
            if match := pattern.match(path):
                route = methods.get("GET" if method == "HEAD" else method)
                if route is None:
                    template = next(iter(methods.values())).path
                    raise MethodError(method[:20], template, list(methods))
                return route, {n: _name(n, text) for n, text in match.groupdict().items()}
        first = path.split("/", 2)[1] if "/" in path else ""
        if first != VERSION and (_is_version(first) or first == "bandits"):
            raise not_found(
                f"the path must begin with /{VERSION}/, this service's version, got {path[:200]!r}"
            )
        raise no_path(path)


def _is_version(name: str) -> bool:
    return name[:1] == "v" and name[1:].isdigit()


def _name(name: str, text: str) -> str:
    """A name in a path, decoded."""
    if "%" in text:
        try:
            text = unquote_to_bytes(text).decode()
        except UnicodeDecodeError:
            raise invalid(f"{name} in the path must be UTF-8, got {text[:200]!r}") from None
    elif not text.isascii():
        raise invalid(f"{name} in the path must be percent-encoded UTF-8, got {text[:200]!r}")
    if not 1 <= len(text) <= LONGEST_NAME or "\x00" in text:
        raise invalid(
            f"{name} in the path must have 1 to {LONGEST_NAME} characters, none of them U+0000, "
            f"got {text[:LONGEST_NAME]!r}"
        )
    return text
