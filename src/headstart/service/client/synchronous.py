"""The client without asyncio."""

import time
from collections.abc import Sequence
from typing import Any, Self, TypeVar, Unpack

import httpx

from headstart.service.client import calls, requests
from headstart.service.client.calls import HttpCall
from headstart.service.client.requests import (
    Arms,
    DecisionFields,
    ObservationFields,
    RewardFields,
    Task,
)
from headstart.service.client.synchronous_parts import Fits, Items, Jobs
from headstart.service.client.transport import Retries, Settings, exchange
from headstart.service.messages import (
    BanditConfiguration,
    BanditView,
    DecisionAnswer,
    DecisionRecord,
    DecisionRequest,
    ObservationAnswer,
    ObservationRequest,
    PriorView,
    Problem,
    RewardAnswer,
    RewardRequest,
    TaskRecord,
)

T = TypeVar("T")


class Client:
    """Calls of a decision service at an address, over connections that are kept open.

    key: `hs_…`, where the service needs one. timeout: seconds that one attempt may take. A call
    that fails in transit, or with 502, 503 or 504, is sent again: decisions and observations have
    a key by which they are done once, and rewards are counted once. What the service refuses is a
    `ServiceError`, whose `problem` says why; a service that cannot be reached is a
    `ConnectionFailedError`.
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000",
        *,
        key: str | None = None,
        timeout: float = 10.0,
        retries: Retries | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._retries = Retries() if retries is None else retries
        settings = Settings(address=address, key=key, timeout=timeout)
        self._http = httpx.Client(transport=transport, **settings.options())

    def send(self, call: HttpCall[T]) -> Any:
        """Send a call, again where that helps; its answer."""
        steps = exchange(call, self._retries)
        step = next(steps)
        try:
            while True:
                if isinstance(step, float):
                    time.sleep(step)
                    step = steps.send(None)
                    continue
                try:
                    came: httpx.Response | httpx.TransportError = self._http.request(
                        step.method,
                        step.path,
                        content=step.body,
                        params=step.query,
                        headers={"content-type": step.content_type},
                    )
                except httpx.TransportError as error:
                    came = error
                step = steps.send(came)
        except StopIteration as end:
            return end.value

    def bandits(self) -> list[BanditView]:
        """All bandits."""
        found: list[BanditView] = self.send(calls.bandits())
        return found

    def bandit(self, name: str) -> "Bandit":
        """A bandit by its name, whether there is one yet or not; nothing is sent."""
        return Bandit(self, name)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Bandit:
    """One bandit of a service.

    Its catalogue is `items` (put, patch, delete, and iteration); `jobs` fit a log or evaluate a
    policy on one (fit, evaluate, wait), and `fits` are priors from logs (promote, withdraw).
    """

    def __init__(self, client: Client, name: str) -> None:
        self.name = name
        self._send = client.send
        self.items = Items(client.send, name)
        self.jobs = Jobs(client.send, name)
        self.fits = Fits(client.send, name)

    def put(self, configuration: BanditConfiguration) -> BanditView:
        """Create the bandit, or change it."""
        found: BanditView = self._send(calls.put(self.name, configuration))
        return found

    def view(self) -> BanditView:
        """The bandit as it is."""
        found: BanditView = self._send(calls.view(self.name))
        return found

    def delete(self) -> None:
        """Delete the bandit with all its tasks and decisions."""
        self._send(calls.delete(self.name))

    def decide(
        self, task: Task, arms: Arms = None, **more: Unpack[DecisionFields]
    ) -> DecisionAnswer:
        """Choose an arm for a task; arms as features by id, as ids, or None for the catalogue."""
        call = calls.decide(self.name, requests.decision(task, arms, more))
        found: DecisionAnswer = self._send(call)
        return found

    def decide_many(self, given: Sequence[DecisionRequest]) -> list[DecisionAnswer | Problem]:
        """Many decisions in one call: in each place an answer, or a problem."""
        found: list[DecisionAnswer | Problem] = self._send(calls.decide_many(self.name, given))
        return found

    def reward(self, decision: str, value: float, **more: Unpack[RewardFields]) -> RewardAnswer:
        """Give the reward of a decision; it counts once."""
        call = calls.reward(self.name, requests.reward(decision, value, **more))
        found: RewardAnswer = self._send(call)
        return found

    def reward_many(self, given: Sequence[RewardRequest]) -> list[RewardAnswer | Problem]:
        """Many rewards in one call: in each place an answer, or a problem."""
        found: list[RewardAnswer | Problem] = self._send(calls.reward_many(self.name, given))
        return found

    def observe(
        self, task: Task, value: float, **more: Unpack[ObservationFields]
    ) -> ObservationAnswer:
        """Give the reward of a choice that was made elsewhere: its `arm`, or its `features`."""
        call = calls.observe(self.name, requests.observation(task, value, more))
        found: ObservationAnswer = self._send(call)
        return found

    def observe_many(
        self, given: Sequence[ObservationRequest]
    ) -> list[ObservationAnswer | Problem]:
        """Many observations in one call: in each place an answer, or a problem."""
        call = calls.observe_many(self.name, given)
        found: list[ObservationAnswer | Problem] = self._send(call)
        return found

    def decision(self, identity: str) -> DecisionRecord:
        """A decision as it was made: why this arm, and what became of it."""
        found: DecisionRecord = self._send(calls.decision(self.name, identity))
        return found

    def task(self, name: Task) -> TaskRecord:
        """What is known of a task."""
        found: TaskRecord = self._send(calls.task(self.name, name))
        return found

    def finish(self, task: Task) -> None:
        """Finish a task; rarely needed."""
        self._send(calls.finish(self.name, task))

    def erase(self, task: Task) -> int:
        """Erase a task, from the prior too; the version of the prior without it."""
        found = self._send(calls.erase(self.name, task))
        return int(found.prior_version)

    def prior(self, *, history: int = 100) -> PriorView:
        """What the tasks so far say about the next."""
        found: PriorView = self._send(calls.prior(self.name, history))
        return found
