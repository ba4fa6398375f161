"""The client with asyncio; the build writes the one without, `_sync.py`, from this file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import NoneType
from typing import Any, Self, TypeVar

import httpx
import msgspec

from headstart_client import transport as wire
from headstart_client.messages import (
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
    ObservationAnswer,
    ObservationRequest,
    PriorView,
    Problem,
    RewardAnswer,
    RewardRequest,
    ShadowView,
    TaskRecord,
)
from headstart_client.transport import Arms, Attributes, Outcome, Retries, Task, Vector

T = TypeVar("T")


class AsyncClient:
    """A client of a decision service at an address, over connections that are kept open.

    A call that fails in transit, or with 502, 503 or 504, is sent again: decisions and observations
    have a key that makes them happen once, and rewards are counted once. A refused call raises a
    `ServiceError`, whose `problem` says why; a service that cannot be reached raises a
    `ConnectionFailedError`.

    Parameters
    ----------
    address : str, default "http://127.0.0.1:8000"
        Where the service is.
    key : str, optional
        A key, `hs_…`, if the service needs one.
    timeout : float, default 10.0
        How many seconds one attempt may take.
    retries : Retries, optional
        How often a call is sent again, and when.
    transport : httpx.AsyncBaseTransport, optional
        What sends requests, such as an application in this process.
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000",
        *,
        key: str | None = None,
        timeout: float = 10.0,
        retries: Retries | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._retries = Retries() if retries is None else retries
        options = wire.options(address, key, timeout)
        self._http = httpx.AsyncClient(transport=transport, **options)

    async def send(
        self,
        method: str,
        *names: Task,
        content: bytes | None = None,
        content_type: str = "application/json",
        query: Mapping[str, str | int] | None = None,
        once: bool = False,
    ) -> bytes:
        """Send a call below /v1/bandits, repeatedly if that helps. Returns the answer's content."""
        attempt = 0
        while True:
            try:
                outcome: Outcome = await self._http.request(
                    method,
                    wire.path(names),
                    content=content,
                    params=query,
                    headers={"content-type": content_type},
                )
            except httpx.TransportError as error:
                outcome = error
            seconds = self._retries.pause(attempt, outcome, once=once)
            if seconds is None:
                return wire.content_of(outcome)
            await asyncio.sleep(seconds)
            attempt += 1

    async def download(
        self, *names: Task, file: Path, query: Mapping[str, str | int | float]
    ) -> None:
        """Write the content of an answer into a file, which is complete or absent."""
        with wire.whole_file(file) as opened:
            try:
                request = self._http.build_request("GET", wire.path(names), params=query)
                outcome = await self._http.send(request, stream=True)
                if outcome.status_code >= 300:
                    await outcome.aread()
                    wire.content_of(outcome)
                async for part in outcome.aiter_bytes():
                    opened.write(part)
                await outcome.aclose()
            except httpx.TransportError as error:
                wire.content_of(error)

    async def bandits(self) -> list[BanditView]:
        """All bandits."""
        return wire.decoded(await self.send("GET"), list[BanditView])

    def bandit(self, name: str) -> AsyncBandit:
        """A bandit by its name, whether it exists yet or not; sends nothing."""
        return AsyncBandit(self, name)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class AsyncBandit:
    """One bandit of a service.

    Its catalogue is `items` (put, patch, delete, and iteration); `jobs` fit a log or evaluate a
    policy on one (fit, evaluate, wait), and `fits` are priors from logs (promote, withdraw).
    """

    def __init__(self, client: AsyncClient, name: str) -> None:
        self.name = name
        self._client = client
        self.items = AsyncItems(self)
        self.jobs = AsyncJobs(self)
        self.fits = AsyncFits(self)

    async def call(
        self,
        answer: type[T],
        method: str,
        *names: Task,
        body: Any = None,
        content_type: str = "application/json",
        query: Mapping[str, str | int] | None = None,
        once: bool = False,
    ) -> T:
        """Send a call below the path of this bandit."""
        content = await self._client.send(
            method,
            self.name,
            *names,
            content=body if isinstance(body, bytes | None) else wire.encode(body),
            content_type=content_type,
            query=query,
            once=once,
        )
        return wire.decoded(content, answer)

    async def put(self, configuration: BanditConfiguration) -> BanditView:
        """Create the bandit, or change it."""
        return await self.call(BanditView, "PUT", body=configuration)

    async def view(self) -> BanditView:
        """The configuration of the bandit, and its counts."""
        return await self.call(BanditView, "GET")

    async def resume(self) -> BanditView:
        """Let new tasks start warm again after a guardrail was broken."""
        return await self.call(BanditView, "POST", "resume")

    async def delete(self) -> None:
        """Delete the bandit with all its tasks and decisions."""
        await self.call(NoneType, "DELETE", once=True)

    async def decide(
        self,
        task: Task,
        arms: Arms = None,
        *,
        tag: str | None = None,
        exclude: Iterable[str] = (),
        context: Attributes | None = None,
        about: Vector | Attributes | None = None,
        n: int = 1,
        own: str | None = None,
        own_propensity: float | None = None,
        idempotency_key: str | None = None,
    ) -> DecisionAnswer:
        """Choose an arm for a task.

        Parameters
        ----------
        task : str or int
            The name of the task. A new name opens a task.
        arms : mapping of str to features or attributes, or iterable of str, optional
            What to choose from, by id; the ids of items, or the whole catalogue by default.
        tag : str, optional
            Choose among the catalogue's items with this tag.
        exclude : iterable of str, optional
            The ids of arms that may not be chosen.
        context : mapping of str to object, optional
            With a schema, the attributes of this decision.
        about : sequence of float or mapping of str to object, optional
            What is known of the task: numbers, or with a schema attributes. The first values count.
        n : int, default 1
            How many arms to choose; each is a separate decision.
        own : str, optional
            The arm that the caller would serve, for shadow mode.
        own_propensity : float, optional
            The probability with which the caller chose `own`.
        idempotency_key : str, optional
            A key that makes the decision happen once; drawn by default.
        """
        request = DecisionRequest(
            task=task,
            arms=wire.arms_of(arms),
            tag=tag,
            exclude=[str(arm) for arm in exclude],
            context=wire.attributes(context),
            about=None if about is None else wire.arm(about),
            n=n,
            own=own,
            own_propensity=own_propensity,
            idempotency_key=idempotency_key,
        )
        return await self.call(DecisionAnswer, "POST", "decisions", body=wire.keyed(request))

    async def decide_many(
        self, requests: Sequence[DecisionRequest]
    ) -> list[DecisionAnswer | Problem]:
        """Many decisions in one call; each gets an answer or a problem."""
        rows = [wire.keyed(request) for request in requests]
        return await self._many(DecisionAnswer, "decisions", rows)

    async def reward(
        self,
        decision: str,
        value: float,
        *,
        weight: float | None = None,
        time: float | None = None,
        key: str | None = None,
        correction: bool = False,
        metrics: Mapping[str, float] | None = None,
    ) -> RewardAnswer:
        """Report the reward of a decision, or the part of it with this key; it counts once.

        Parameters
        ----------
        decision : str
            The id of the decision.
        value : float
            The reward.
        weight : float, optional
            How many times the reward counts: once by default, or as before a correction.
        time : float, optional
            When it happened, in seconds since 1970; now by default.
        key : str, optional
            The name of a part of the reward; parts add up.
        correction : bool, default False
            Whether it replaces what came before.
        metrics : mapping of str to float, optional
            Other numbers, for guardrails.
        """
        request = RewardRequest(
            decision=decision,
            value=float(value),
            weight=weight,
            time=time,
            key=key,
            correction=correction,
            metrics={name: float(number) for name, number in (metrics or {}).items()},
        )
        return await self.call(RewardAnswer, "POST", "rewards", body=request)

    async def reward_many(self, requests: Sequence[RewardRequest]) -> list[RewardAnswer | Problem]:
        """Many rewards in one call; each gets an answer or a problem."""
        return await self._many(RewardAnswer, "rewards", requests)

    async def observe(
        self,
        task: Task,
        value: float,
        *,
        features: Vector | None = None,
        item: Attributes | None = None,
        arm: str | None = None,
        weight: float = 1.0,
        context: Attributes | None = None,
        about: Vector | Attributes | None = None,
        time: float | None = None,
        idempotency_key: str | None = None,
    ) -> ObservationAnswer:
        """Report the reward of a choice that was made elsewhere.

        Parameters
        ----------
        task : str or int
            The name of the task.
        value : float
            The reward.
        features : sequence of float, optional
            The features of the choice.
        item : mapping of str to object, optional
            With a schema, the attributes of the choice.
        arm : str, optional
            The id of the choice in the catalogue.
        weight : float, default 1.0
            How many times the reward counts.
        context : mapping of str to object, optional
            With a schema, the attributes of the choice's context.
        about : sequence of float or mapping of str to object, optional
            What is known of the task: numbers, or with a schema attributes. The first values count.
        time : float, optional
            When it happened, in seconds since 1970; now by default.
        idempotency_key : str, optional
            A key that makes the reward count once; drawn by default.
        """
        request = ObservationRequest(
            task=task,
            value=float(value),
            features=wire.vector(features),
            item=wire.attributes(item),
            arm=arm,
            weight=weight,
            context=wire.attributes(context),
            about=None if about is None else wire.arm(about),
            time=time,
            idempotency_key=idempotency_key,
        )
        return await self.call(ObservationAnswer, "POST", "observations", body=wire.keyed(request))

    async def observe_many(
        self, requests: Sequence[ObservationRequest]
    ) -> list[ObservationAnswer | Problem]:
        """Many observations in one call; each gets an answer or a problem."""
        rows = [wire.keyed(request) for request in requests]
        return await self._many(ObservationAnswer, "observations", rows)

    async def decision(self, identity: str) -> DecisionRecord:
        """A decision: why this arm, and what happened to its reward."""
        return await self.call(DecisionRecord, "GET", "decisions", identity)

    async def export(
        self, file: str | Path, *, start: float = 0.0, end: float = 1e11, rewarded: bool = False
    ) -> None:
        """Write decisions into a Parquet file."""
        query: dict[str, str | int | float] = {"start": start, "end": end}
        query["rewarded"] = str(rewarded).lower()
        await self._client.download(self.name, "decisions.parquet", file=Path(file), query=query)

    async def task(self, name: Task) -> TaskRecord:
        """What is known of a task."""
        return await self.call(TaskRecord, "GET", "tasks", name)

    async def erase(self, task: Task) -> int:
        """Erase a task, from the prior too. Returns the version of the prior without it."""
        return (await self.call(Erased, "DELETE", "tasks", task, once=True)).prior_version

    async def gain(self) -> Gain:
        """How much more warm tasks earn than the control; valid at any time."""
        return await self.call(Gain, "GET", "gain")

    async def shadow(self) -> ShadowView:
        """Shadow mode: how often the service would have chosen the same."""
        return await self.call(ShadowView, "GET", "shadow")

    async def prior(self, *, history: int = 100) -> PriorView:
        """What the tasks so far say about the next."""
        return await self.call(PriorView, "GET", "prior", query={"history": history})

    async def _many(self, answer: type[T], route: str, rows: Sequence[Any]) -> list[T | Problem]:
        contents = await self.call(list[msgspec.Raw], "POST", route, body=rows)
        return [wire.decoded_row(bytes(content), answer) for content in contents]


class AsyncItems:
    """The catalogue of a bandit. Iterate over it to read it, page by page."""

    def __init__(self, bandit: AsyncBandit) -> None:
        self._bandit = bandit

    async def __aiter__(self) -> AsyncIterator[Item]:
        query: dict[str, str | int] = {"limit": 1_000}
        while True:
            page = await self._bandit.call(ItemPage, "GET", "items", query=query)
            for item in page.items:
                yield item
            if page.next is None:
                return
            query["after"] = page.next

    async def put(self, items: Mapping[str, Vector | Attributes] | Iterable[Item]) -> int:
        """Replace the whole catalogue. Returns how many items there are now.

        Takes items; or features by id, or with a schema attributes by id.
        """
        body = wire.items_of(items)
        return (await self._bandit.call(ItemCount, "PUT", "items", body=body)).items

    async def patch(
        self, changes: Mapping[str, Vector | Attributes] | Iterable[Item | ItemChange]
    ) -> int:
        """Add items, or change some. Returns how many there are now."""
        body = wire.changes_of(changes)
        return (await self._bandit.call(ItemCount, "PATCH", "items", body=body)).items

    async def statistics(self, since: date | None = None, until: date | None = None) -> ItemReport:
        """How often each item was shown, and what it earned: over the last week, or these days."""
        days = {"since": since, "until": until}
        query = {name: str(day) for name, day in days.items() if day is not None}
        return await self._bandit.call(ItemReport, "GET", "items", "statistics", query=query)

    async def delete(self, ids: Iterable[str] | None = None) -> int:
        """Remove items by id, or all. Returns how many are left."""
        body = None if ids is None else [str(item) for item in ids]
        return (await self._bandit.call(ItemCount, "DELETE", "items", body=body)).items


class AsyncJobs:
    """The jobs of a bandit: fits from logs, and evaluations on them."""

    def __init__(self, bandit: AsyncBandit) -> None:
        self._bandit = bandit

    async def fit(self, request: FitRequest, log: str | Path | None = None) -> JobView:
        """Learn from files of the service's data folder, or from an uploaded log."""
        return await self._start("fit", request, log)

    async def evaluate(self, request: EvaluateRequest, log: str | Path | None = None) -> JobView:
        """Estimate the mean reward on a log of decisions."""
        return await self._start("evaluate", request, log)

    async def list(self, *, limit: int = 100) -> Sequence[JobView]:
        """The jobs of the bandit, latest first."""
        return await self._bandit.call(list[JobView], "GET", "jobs", query={"limit": limit})

    async def get(self, job: str) -> JobView:
        """The state of a job."""
        return await self._bandit.call(JobView, "GET", "jobs", job)

    async def cancel(self, job: str) -> JobView:
        """Cancel a job that has not ended."""
        return await self._bandit.call(JobView, "DELETE", "jobs", job)

    async def wait(self, job: str, *, every: float = 1.0) -> JobView:
        """Wait until a job has ended. Returns its state."""
        while True:
            view = await self.get(job)
            if view.ended is not None:
                return view
            await asyncio.sleep(every)

    async def _start(
        self, route: str, request: FitRequest | EvaluateRequest, log: str | Path | None
    ) -> JobView:
        content, kind, query = wire.job_content(request, log)
        return await self._bandit.call(
            JobView, "POST", route, body=content, content_type=kind, query=query, once=True
        )


class AsyncFits:
    """The logs that a bandit has learned; a fit counts while it is promoted."""

    def __init__(self, bandit: AsyncBandit) -> None:
        self._bandit = bandit

    async def list(self) -> Sequence[FitView]:
        """All fits, latest first."""
        return await self._bandit.call(list[FitView], "GET", "fits")

    async def get(self, fit: int) -> FitView:
        """One fit, with its report."""
        return await self._bandit.call(FitView, "GET", "fits", fit)

    async def promote(self, fit: int) -> FitChange:
        """Let a fit count for the prior."""
        return await self._bandit.call(FitChange, "POST", "fits", fit, "promote", once=True)

    async def withdraw(self, fit: int) -> FitChange:
        """Stop counting a fit."""
        return await self._bandit.call(FitChange, "POST", "fits", fit, "withdraw", once=True)

    async def delete(self, fit: int) -> None:
        """Delete a fit that is not promoted."""
        await self._bandit.call(NoneType, "DELETE", "fits", fit, once=True)
