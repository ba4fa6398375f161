"""The client against an application: typed answers, problems, and calls sent again."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, cast

import httpx
import msgspec
import numpy as np
import pytest
from tests.service.http.fake import FakeService

from headstart.service.engine.service import Service
from headstart.service.http.app import Application
from headstart_client import AsyncClient, Bandit, Client, ConnectionFailedError, Retries
from headstart_client.messages import (
    BanditConfiguration,
    BanditView,
    DecisionAnswer,
    DecisionRequest,
    FitRequest,
    Item,
    Problem,
    RewardRequest,
    ServiceError,
)

AT_ONCE = Retries(number=3, first=0.0, longest=0.0)


class Bridge(httpx.BaseTransport):
    """Calls of an application from a client without asyncio; `before` may break them."""

    def __init__(self, app: Application) -> None:
        self._inner = httpx.ASGITransport(app)
        self.before: Callable[[httpx.Request], httpx.Response | None] = lambda _: None
        self.after: Callable[[httpx.Response], httpx.Response] = lambda answer: answer
        self.sent: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def call() -> httpx.Response:
            content = request.read()
            plain = httpx.Request(
                request.method, request.url, headers=request.headers, content=content
            )
            answer = await self._inner.handle_async_request(plain)
            return httpx.Response(
                answer.status_code, headers=answer.headers, content=await answer.aread()
            )

        self.sent.append(request)
        return self.before(request) or self.after(asyncio.run(call()))


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeService]:
    service = FakeService(tmp_path)
    yield service
    service.stop()


@pytest.fixture
def bridge(fake: FakeService) -> Bridge:
    return Bridge(Application(cast(Service, fake), log_requests=False))


@pytest.fixture
def client(bridge: Bridge) -> Iterator[Client]:
    with Client("http://localhost", retries=AT_ONCE, transport=bridge) as client:
        yield client


def test_every_method_has_a_typed_answer(client: Client, fake: FakeService) -> None:
    news = client.bandit("news")
    assert news.put(BanditConfiguration(dimension=2)).name == "news"
    assert [each.name for each in client.bandits()] == ["news"]
    assert isinstance(news.view(), BanditView)
    answer = news.decide("u", {"a": np.array([1.0, 0.0])}, exclude=["b"], about=np.zeros(2), n=1)
    assert (answer.task, answer.arms[0].arm) == ("u", "a")
    assert news.reward(answer.id, 1.0, weight=0.5).outcome == "paid"
    assert news.observe("u", 1.0, features=np.ones(2)).outcome == "paid"
    assert news.erase("a/b") == 7
    assert news.prior(history=5).version == 5
    assert ("erase", "a/b") in fake.seen
    news.delete()
    assert client.bandits() == []


def test_the_catalogue_is_read_in_pages(client: Client) -> None:
    items = client.bandit("news").items
    assert items.put({f"i{n:04}": [n, 1] for n in range(2_100)}) == 2_100
    assert [item.id for item in items] == [f"i{n:04}" for n in range(2_100)]
    assert items.patch([Item(id="new", features=[0.0, 0.0], tags=["t"])]) == 2_101
    assert items.delete(["new"]) == 2_100
    report = items.statistics(since=date(2026, 3, 5))
    assert (report.since, report.until) == (date(2026, 3, 5), date(2026, 3, 7))
    assert items.delete() == 0


def test_a_batch_has_problems_in_their_places(client: Client) -> None:
    news = client.bandit("news")
    found = news.decide_many([DecisionRequest(task="u"), DecisionRequest(task="v", tag="unknown")])
    assert isinstance(found[0], DecisionAnswer)
    assert isinstance(found[1], Problem)
    assert "'unknown'" in found[1].detail
    paid = news.reward_many([RewardRequest(decision="x", value=1.0)])
    assert not isinstance(paid[0], Problem)


def test_a_refusal_is_an_error_and_sent_once(client: Client, bridge: Bridge) -> None:
    with pytest.raises(ServiceError, match="got 'nope'") as caught:
        client.bandit("nope").decide("u")
    assert caught.value.problem.status == 404
    assert len(bridge.sent) == 1


@pytest.mark.parametrize("status", [502, 503, 504, None])
def test_what_fails_in_transit_is_sent_again_with_the_same_key(
    client: Client, bridge: Bridge, fake: FakeService, status: int | None
) -> None:
    def fail_twice(request: httpx.Request) -> httpx.Response | None:
        if len(bridge.sent) > 2:
            return None
        if status is None:
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(status, content=b"<html>")

    bridge.before = fail_twice
    assert client.bandit("news").decide("u").task == "u"
    keys = {msgspec.json.decode(request.read())["idempotency_key"] for request in bridge.sent}
    assert len(bridge.sent) == 3
    assert len(keys) == 1
    assert fake.seen[0][1].idempotency_key in keys


def test_a_service_that_is_away_is_an_error(client: Client, bridge: Bridge) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    bridge.before = refuse
    with pytest.raises(ConnectionFailedError, match="ConnectError"):
        client.bandits()
    assert len(bridge.sent) == 4
    bridge.before = lambda _: httpx.Response(503, content=b"")
    with pytest.raises(ServiceError, match="503"):
        client.bandits()


def test_retry_after_is_honoured() -> None:
    asked = httpx.Response(503, headers={"retry-after": "2"})
    assert Retries(number=1, first=0.001, longest=0.001).pause(0, asked, once=False) == 2.0
    dated = httpx.Response(503, headers={"retry-after": "Mon, 1 Jan 2035"})
    pause = Retries(number=1, first=0.5, longest=9.0).pause(0, dated, once=False)
    assert pause is not None
    assert 0.0 <= pause <= 0.5


def test_an_old_client_reads_the_answers_of_a_new_service(client: Client, bridge: Bridge) -> None:
    def with_new_fields(answer: httpx.Response) -> httpx.Response:
        def grown(value: Any) -> Any:
            if isinstance(value, dict):
                return {**{k: grown(v) for k, v in value.items()}, "later": [1]}
            return [grown(each) for each in value] if isinstance(value, list) else value

        return httpx.Response(answer.status_code, json=grown(answer.json()))

    bridge.after = with_new_fields
    news = client.bandit("news")
    assert news.view().configuration.dimension == 2
    assert news.decide("u").arms[0].arm == "a"
    assert list(news.items) == []
    found = news.decide_many([DecisionRequest(task="u"), DecisionRequest(task="v", tag="unknown")])
    assert isinstance(found[1], Problem)
    with pytest.raises(ServiceError, match="got 'nope'"):
        client.bandit("nope").view()


def test_a_missing_field_is_still_an_error() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json={"id": "x", "later": 1}))
    with (
        Client("http://x", transport=transport) as client,
        pytest.raises(msgspec.ValidationError, match="task"),
    ):
        client.bandit("news").decide("u")


def test_the_client_with_asyncio(fake: FakeService) -> None:
    async def use() -> None:
        transport = httpx.ASGITransport(Application(cast(Service, fake), log_requests=False))
        async with AsyncClient("http://localhost", transport=transport) as client:
            news = client.bandit("news")
            answers = await asyncio.gather(*(news.decide(f"u{n}") for n in range(20)))
            assert [answer.task for answer in answers] == [f"u{n}" for n in range(20)]
            assert await news.items.put({"a": [1, 2]}) == 1
            assert [item.id async for item in news.items] == ["a"]
            with pytest.raises(ServiceError):
                await client.bandit("nope").view()

    asyncio.run(use())


def test_the_key_is_sent() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["authorization"])
        return httpx.Response(200, json=[])

    with Client("http://x", key="hs_a_b", transport=httpx.MockTransport(answer)) as client:
        assert client.bandits() == []
    assert seen == ["Bearer hs_a_b"]


@pytest.mark.parametrize(
    "act",
    [
        lambda news: news.jobs.fit(FitRequest(files=["a.csv"])),
        lambda news: news.erase("ann"),
        lambda news: news.fits.promote(1),
        lambda news: news.delete(),
    ],
)
@pytest.mark.parametrize(
    ("first", "sent", "error"),
    [
        (httpx.ConnectError("refused"), 2, None),
        (httpx.Response(503), 2, None),
        (httpx.ReadTimeout("late"), 1, ConnectionFailedError),
        (httpx.Response(502), 1, ServiceError),
    ],
)
def test_what_may_be_done_twice_is_sent_again_only_if_it_did_not_arrive(
    first: httpx.Response | httpx.TransportError,
    sent: int,
    error: type[Exception] | None,
    act: Callable[[Bandit], object],
) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if len(seen) > 1:
            return httpx.Response(404, json={"title": "x", "status": 404, "detail": "arrived"})
        if isinstance(first, httpx.TransportError):
            raise first
        return first

    with (
        Client("http://x", retries=AT_ONCE, transport=httpx.MockTransport(answer)) as client,
        pytest.raises(error or ServiceError, match=None if error else "arrived"),
    ):
        act(client.bandit("news"))
    assert len(seen) == sent


def test_a_log_is_sent_as_it_is(tmp_path: Path) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(404, json={"title": "x", "status": 404, "detail": "none"})

    log = tmp_path / "log.csv"
    log.write_bytes(b"task,reward\n")
    with Client("http://x", transport=httpx.MockTransport(answer)) as client:
        jobs = client.bandit("news").jobs
        with pytest.raises(ServiceError, match="none"):
            jobs.fit(FitRequest(), log)
        with pytest.raises(ValueError, match=r"x\.txt"):
            jobs.fit(FitRequest(), "x.txt")
    assert seen[0].headers["content-type"] == "text/csv"
    assert seen[0].content == b"task,reward\n"
    assert msgspec.json.decode(seen[0].url.params["request"], type=FitRequest) == FitRequest()


def test_values_of_numpy_and_pandas_are_sent_as_what_they_are(
    client: Client, bridge: Bridge, fake: FakeService
) -> None:
    news = client.bandit("news")
    news.put(BanditConfiguration(dimension=2))
    items = news.items
    catalogue: dict[Any, Any] = {np.str_("a"): np.ones(2), np.int64(7): (np.float32(0.5), 1)}
    assert items.put(catalogue) == 2
    assert items.patch([Item(id="b", features=np.ones(2))]) == 3  # type: ignore[arg-type]
    assert items.patch({"b": np.zeros(2)}) == 3
    assert items.delete(np.array(["b"])) == 2
    assert sorted(item.id for item in items) == ["7", "a"]
    answer = news.decide(np.int64(17), n=int(np.int64(1)))  # type: ignore[arg-type]
    assert answer.task == "17"
    many = news.decide_many([DecisionRequest(task=np.int64(3), about=np.zeros(1))])  # type: ignore[arg-type]
    assert len(many) == 1
    numbers: dict[str, Any] = {"value": np.float32(0.5), "weight": np.int64(1)}
    (paid,) = news.reward_many([RewardRequest(decision=np.str_(answer.id), **numbers)])
    assert not isinstance(paid, Problem)
    sent = msgspec.json.decode(bridge.sent[-1].content)
    assert (sent[0]["decision"], sent[0]["value"], sent[0]["weight"]) == (answer.id, 0.5, 1)
    with pytest.raises(TypeError, match="values of JSON, NumPy or pandas, got"):
        news.decide("u", {"a": {"x": object()}})
