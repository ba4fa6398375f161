"""Demo: simulated visitors of a shop, so that a newcomer sees the service at work.

The shop is `headstart.environments.Shop`: items with raw attributes, some of them missing, users of
three segments, and clicks that come late, twice or never.
"""

import heapq
import threading
from dataclasses import dataclass, field

import numpy as np

from headstart.environments import Shop, ShopWorld
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
SHOP = Shop(
    n_items=40,
    n_categories=4,
    n_brands=5,
    click_rate=0.15,
    mean_visits=25.0,
    replaced=0.0,
    late=0.1,
    late_seconds=20.0,
    lost=0.02,
)
_USERS = 4000  # then the next ones come, who visit as the first did
_STEP_SECONDS = 0.2
_DECISIONS_PER_STEP = 10
_QUICK_DECISIONS = 50  # per step, at first
_QUICK_STEPS = 120  # without a pause
_STEPS_PER_REFRESH = 10  # of those
_TWICE, _WRONG = 0.02, 0.01  # shares of clicks that are sent twice, or with a value out of range
_DEADLINE_SECONDS = 60.0


@dataclass
class Visitors:
    """The visits of a world, in order, and the clicks that are still to come."""

    world: ShopWorld
    rng: np.random.Generator
    prefix: str  # what names of users begin with
    n_visits: int = 0  # until now
    late: list[tuple[float, int, RewardRequest]] = field(default_factory=list)

    def next(self, n: int) -> list[tuple[int, DecisionRequest]]:
        """The next n visits by number, and what each asks for."""
        found = []
        for number in range(self.n_visits, self.n_visits + n):
            again, visit = divmod(number, self.world.n_visits)
            user = int(self.world.visitors[visit])
            name = f"{self.prefix}{user + again * self.world.n_users:04d}"
            found.append((visit, DecisionRequest(task=name, about=self.world.user(user))))
        self.n_visits += n
        return found

    def clicks(self, shown: list[tuple[int, DecisionAnswer]], now: float) -> list[RewardRequest]:
        """What is clicked at once, and the late clicks that are due."""
        sent = []
        for visit, answer in shown:
            if not self.world.click(visit, _number(answer.arms[0].arm)):
                continue
            click = RewardRequest(decision=answer.id, value=1.0)
            delay = float(self.world.reported[visit] - self.world.times[visit])
            fate = self.rng.random()
            if 0.0 < delay < np.inf:
                heapq.heappush(self.late, (now + delay, len(self.late), click))
            elif delay == 0.0 and fate < _WRONG:
                sent.append(RewardRequest(decision=answer.id, value=100.0))
            elif delay == 0.0:
                sent += [click, click] if fate < _WRONG + _TWICE else [click]
        while self.late and self.late[0][0] <= now:
            sent.append(heapq.heappop(self.late)[2])
        return sent


def items(world: ShopWorld) -> list[Item]:
    """The catalogue of a world."""
    return [Item(id=f"item-{i:02d}", attributes=raw) for i, raw in enumerate(world.items)]


def _number(item: str) -> int:
    return int(item.removeprefix("item-"))


def run_demo(service: Service, stop: threading.Event, seed: int = 0) -> None:
    """Create the bandit "demo" and serve simulated visitors, 50 per second, until `stop` is set.

    It begins without pauses, so that the gain of the warm start shows within seconds. A stopped run
    continues with new visitors when it is started again.
    """
    world = SHOP.world(seed, _USERS)
    service.put_bandit(
        BANDIT,
        BanditConfiguration(
            features=SHOP.features.settled(items=world.items).plain(),
            control_share=0.2,
            exploration=0.04,
            reward_range=(0.0, 1.0),
            deadline_seconds=_DEADLINE_SECONDS,
            default_reward=0.0,
        ),
    )
    service.put_items(BANDIT, items(world))
    started = service.clock()
    visitors = Visitors(
        world=world,
        rng=np.random.default_rng(seed),
        prefix=f"guest-{int(started / 60) % 4096:03x}-",
    )
    step = 0
    while not stop.is_set():
        quick = step < _QUICK_STEPS
        try:
            _serve(service, visitors, _QUICK_DECISIONS if quick else _DECISIONS_PER_STEP)
            if quick and step % _STEPS_PER_REFRESH == 0:
                service.refresh(BANDIT)
        except ServiceError:  # the store is away, or the service ends
            stop.wait(1.0)
        step += 1
        if not quick:
            stop.wait(_STEP_SECONDS)


def _serve(service: Service, visitors: Visitors, n: int) -> None:
    """One step: n decisions, and the clicks that are due."""
    visits = visitors.next(n)
    answers = service.decide(BANDIT, [request for _, request in visits]).result()
    shown = [
        (visit, answer)
        for (visit, _), answer in zip(visits, answers, strict=True)
        if isinstance(answer, DecisionAnswer)
    ]
    clicks = visitors.clicks(shown, service.clock())
    if clicks:
        service.reward(BANDIT, clicks).result()
