"""Demo: a simulated shop, so that a newcomer sees the service at work.

Users of `hs.environments.Shop` are shown items that have a price, a category, a brand and a
popularity, as they are, and click or do not. A click is told at once, late or never; what is not
clicked is told by nobody, and counts as 0.
"""

import heapq
import threading

import numpy as np

from headstart.environments import Shop
from headstart.service.engine.service import Service
from headstart.service.messages import (
    BanditConfiguration,
    DecisionAnswer,
    DecisionRequest,
    Item,
    RewardRequest,
    ServiceError,
)

BANDIT = "demo"
DEADLINE_SECONDS = 60.0
SHOP = Shop(
    n_items=60,
    n_categories=5,
    n_brands=6,
    click_rate=0.15,
    strength=1.5,
    season=30_000,
    late_seconds=20.0,
)
_USERS = 10_000
_STEP_SECONDS = 0.2
_VISITS_PER_STEP = 10
_QUICK_VISITS = 50  # per step, at first
_QUICK_STEPS = 120  # without a pause, at first
_STEPS_PER_REFRESH = 10  # of those
_TWICE, _OTHER = 0.03, 0.005  # shares of clicks that are told twice, or once more otherwise


class Visits:
    """The visits of a shop one after the other, and the clicks that are on their way.

    prefix: what names of users begin with. Once all users have come, others come who are like them.
    """

    def __init__(self, seed: int, prefix: str) -> None:
        self._world = SHOP.world(seed, _USERS)
        self._rng = np.random.default_rng(seed)
        self._prefix = prefix
        self._next = 0
        self._late: list[tuple[float, int, RewardRequest]] = []

    @property
    def season(self) -> int:
        """The season of the next visit, in which other items are on sale."""
        return self._world.season(self._next % self._world.n_visits)

    def items(self) -> list[Item]:
        """What is on sale."""
        on_sale = self._world.on_sale(self._next % self._world.n_visits).tolist()
        return [Item(id=self._item(i), attributes=self._world.items[i]) for i in on_sale]

    def _item(self, i: int) -> str:
        return f"{self._world.items[i]['category']}-{i:03d}"

    def come(self, n: int) -> list[tuple[int, DecisionRequest]]:
        """The next n visits by their numbers, and what they ask for."""
        visits = range(self._next, self._next + n)
        self._next += n
        return [(visit, self._request(visit)) for visit in visits]

    def _request(self, visit: int) -> DecisionRequest:
        again, place = divmod(visit, self._world.n_visits)
        user = int(self._world.visitors[place])
        name = f"{self._prefix}{again * _USERS + user:05d}"
        return DecisionRequest(task=name, about=self._world.user(user))

    def clicks(self, shown: list[tuple[int, DecisionAnswer]], now: float) -> list[RewardRequest]:
        """The clicks that are told now: of these visits, and late ones of others."""
        told = []
        for visit, answer in shown:
            place = visit % self._world.n_visits
            item = int(answer.arms[0].arm.rsplit("-", 1)[1])
            if not self._world.click(place, item):
                continue
            delay = float(self._world.reported[place] - self._world.times[place])
            click = RewardRequest(decision=answer.id, value=1.0)
            if delay > 0.0:
                if delay < np.inf:
                    heapq.heappush(self._late, (now + delay, visit, click))
                continue
            told.append(click)
            fate = self._rng.random()
            if fate < _TWICE:
                told.append(click)
            elif fate < _TWICE + _OTHER:
                told.append(RewardRequest(decision=answer.id, value=0.5))
        while self._late and self._late[0][0] <= now:
            told.append(heapq.heappop(self._late)[2])
        return told


def run_demo(service: Service, stop: threading.Event, seed: int = 0) -> None:
    """Create the bandit "demo" and have users come to a shop, 50 per second, until `stop` is set.

    It begins without pauses, so that the gain of the warm start shows within seconds. A run that
    ends goes on with new users when it is started again.
    """
    visits = Visits(seed, prefix=f"user-{int(service.clock() / 60) % 4096:03x}-")
    service.put_bandit(
        BANDIT,
        BanditConfiguration(
            features=SHOP.features.plain(),
            control_share=0.2,
            exploration=0.04,
            reward_range=(0.0, 1.0),
            deadline_seconds=DEADLINE_SECONDS,
            default_reward=0.0,
        ),
    )
    step, season = 0, -1
    while not stop.is_set():
        quick = step < _QUICK_STEPS
        try:
            if visits.season != season:
                service.put_items(BANDIT, visits.items())
                season = visits.season
            _serve(service, visits, _QUICK_VISITS if quick else _VISITS_PER_STEP)
            if quick and step % _STEPS_PER_REFRESH == 0:
                service.refresh(BANDIT)
        except ServiceError:  # the store is away, or the service ends
            stop.wait(1.0)
        step += 1
        if not quick:
            stop.wait(_STEP_SECONDS)


def _serve(service: Service, visits: Visits, n: int) -> None:
    """One step: n visits, and the clicks that are told."""
    came = visits.come(n)
    answers = service.decide(BANDIT, [request for _, request in came]).result()
    shown = [
        (visit, answer)
        for (visit, _), answer in zip(came, answers, strict=True)
        if isinstance(answer, DecisionAnswer)
    ]
    clicks = visits.clicks(shown, service.clock())
    if clicks:
        service.reward(BANDIT, clicks).result()
