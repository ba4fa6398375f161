"""Demo: simulated customers of a coffee shop, so that a newcomer sees the service at work.

Customers differ, around what most of them like. Each is a task with a hidden parameter w; what they
think of a drink with features x is xᵀw plus noise.
"""

import heapq
import threading
from dataclasses import dataclass, field

import numpy as np

from headstart.arrays import Floats
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
FEATURES = ["bitter", "milky", "sweet", "iced", "large", "fruity", "seasonal", "expensive"]
# What most customers like, and how far one customer is from it.
_MEAN = np.array([0.65, 1.1, 0.9, -0.8, 0.45, -0.55, 0.35, -1.0])
_SPREAD = np.array([0.2, 0.2, 0.25, 0.25, 0.1, 0.2, 0.1, 0.15])
_NOISE = 0.8
_DRINKS = {
    "Espresso": (1.0, 0.0, 0.0, 0.0, 0.0, 0.2, 0.0, 0.1),
    "Double espresso": (1.0, 0.0, 0.0, 0.0, 0.4, 0.2, 0.0, 0.3),
    "Americano": (0.7, 0.0, 0.0, 0.0, 0.8, 0.2, 0.0, 0.2),
    "Filter, Kenya": (0.4, 0.0, 0.0, 0.0, 0.7, 1.0, 0.0, 0.5),
    "Filter, Brazil": (0.5, 0.0, 0.2, 0.0, 0.7, 0.1, 0.0, 0.3),
    "Macchiato": (0.8, 0.3, 0.0, 0.0, 0.0, 0.1, 0.0, 0.2),
    "Cortado": (0.6, 0.5, 0.1, 0.0, 0.1, 0.1, 0.0, 0.3),
    "Flat white": (0.5, 0.8, 0.2, 0.0, 0.4, 0.0, 0.0, 0.5),
    "Cappuccino": (0.4, 0.8, 0.2, 0.0, 0.5, 0.0, 0.0, 0.4),
    "Latte": (0.2, 1.0, 0.3, 0.0, 0.8, 0.0, 0.0, 0.5),
    "Vanilla latte": (0.1, 1.0, 0.9, 0.0, 0.8, 0.0, 0.0, 0.7),
    "Pumpkin latte": (0.1, 0.9, 1.0, 0.0, 0.9, 0.1, 1.0, 0.8),
    "Mocha": (0.3, 0.8, 1.0, 0.0, 0.7, 0.0, 0.0, 0.7),
    "Iced latte": (0.2, 0.9, 0.3, 1.0, 0.8, 0.0, 0.3, 0.6),
    "Cold brew": (0.6, 0.0, 0.0, 1.0, 0.8, 0.3, 0.3, 0.5),
    "Espresso tonic": (0.8, 0.0, 0.4, 1.0, 0.6, 0.8, 0.5, 0.7),
    "Affogato": (0.6, 0.5, 1.0, 0.6, 0.2, 0.0, 0.5, 0.8),
    "Chai latte": (0.0, 0.9, 0.8, 0.0, 0.8, 0.1, 0.2, 0.6),
    "Hot chocolate": (0.0, 0.9, 1.0, 0.0, 0.7, 0.0, 0.4, 0.5),
    "Matcha latte": (0.5, 0.8, 0.2, 0.0, 0.7, 0.2, 0.1, 0.9),
    "Earl Grey": (0.3, 0.1, 0.0, 0.0, 0.8, 0.5, 0.0, 0.2),
    "Iced peach tea": (0.0, 0.0, 0.9, 1.0, 0.9, 1.0, 0.8, 0.4),
    "Ginger shot": (0.4, 0.0, 0.1, 0.3, 0.0, 0.9, 0.2, 0.8),
    "Steamed milk": (0.0, 1.0, 0.2, 0.0, 0.5, 0.0, 0.0, 0.1),
}
_OFFERED = 8  # drinks on the board at a time
_ROUNDS = 30  # visits of one customer
_CUSTOMERS = 50  # at a time
_STEP_SECONDS = 0.2
_DECISIONS_PER_STEP = 10
_QUICK_STEPS = 120  # without a pause, at first
_STEPS_PER_REFRESH = 10  # of those
_LATE, _NEVER, _TWICE, _OTHER = 0.1, 0.02, 0.02, 0.003  # shares of rewards
_LATE_SECONDS = 65.0
_DEADLINE_SECONDS = 60.0


@dataclass
class Customer:
    """A task: its hidden parameter, and the visits that are left."""

    name: str
    parameter: Floats
    visits: int = _ROUNDS


@dataclass
class Shop:
    """The customers, and the rewards that are on their way."""

    rng: np.random.Generator
    prefix: str  # what names of customers begin with
    customers: list[Customer] = field(default_factory=list)
    opened: int = 0
    late: list[tuple[float, int, RewardRequest]] = field(default_factory=list)

    def visits(self, n: int) -> list[tuple[Customer, list[str]]]:
        """The next n customers, each once, and what is on the board for them."""
        while len(self.customers) < _CUSTOMERS:
            parameter = _MEAN + _SPREAD * self.rng.standard_normal(len(FEATURES))
            # The first ones have been here before, so that they do not all end together.
            earlier = self.rng.integers(_ROUNDS) if self.opened < _CUSTOMERS else 0
            name = f"{self.prefix}{self.opened:04d}"
            self.customers.append(Customer(name, parameter, _ROUNDS - int(earlier)))
            self.opened += 1
        chosen = self.rng.choice(len(self.customers), n, replace=False)
        drinks = list(_DRINKS)
        return [
            (
                self.customers[i],
                [drinks[k] for k in self.rng.choice(len(drinks), _OFFERED, replace=False)],
            )
            for i in chosen
        ]

    def rewards(
        self, served: list[tuple[Customer, DecisionAnswer]], now: float
    ) -> list[RewardRequest]:
        """What customers say at once, and the late rewards that are due."""
        sent = []
        for customer, answer in served:
            customer.visits -= 1
            features = np.array(_DRINKS[answer.arms[0].arm])
            value = float(features @ customer.parameter + _NOISE * self.rng.standard_normal())
            reward = RewardRequest(decision=answer.id, value=round(value, 3))
            fate = self.rng.random()
            if fate < _NEVER:
                continue
            if fate < _NEVER + _LATE:
                due = now + _LATE_SECONDS * self.rng.random()
                heapq.heappush(self.late, (due, len(self.late), reward))
                continue
            sent.append(reward)
            if fate > 1 - _TWICE:
                sent.append(reward)
            elif fate > 1 - _TWICE - _OTHER:
                sent.append(RewardRequest(decision=answer.id, value=round(value + 1.0, 3)))
        self.customers = [customer for customer in self.customers if customer.visits > 0]
        while self.late and self.late[0][0] <= now:
            sent.append(heapq.heappop(self.late)[2])
        return sent


def run_demo(service: Service, stop: threading.Event, seed: int = 0) -> None:
    """Create the bandit "demo" and serve simulated customers, 50 per second, until `stop` is set.

    It begins without pauses, so that the gain of the warm start shows within seconds. A run that
    ends goes on with new customers when it is started again.
    """
    service.put_bandit(
        BANDIT,
        BanditConfiguration(
            feature_names=FEATURES,
            control_share=0.2,
            exploration=0.04,
            reward_range=(-10.0, 10.0),
            deadline_seconds=_DEADLINE_SECONDS,
        ),
    )
    service.put_items(
        BANDIT,
        [Item(id=name, features=list(features)) for name, features in _DRINKS.items()],
    )
    started = service.clock()
    shop = Shop(rng=np.random.default_rng(seed), prefix=f"guest-{int(started / 60) % 4096:03x}-")
    step = 0
    while not stop.is_set():
        quick = step < _QUICK_STEPS
        try:
            _serve(service, shop, _CUSTOMERS if quick else _DECISIONS_PER_STEP)
            if quick and step % _STEPS_PER_REFRESH == 0:
                service.refresh(BANDIT)
        except ServiceError:  # the store is away, or the service ends
            stop.wait(1.0)
        step += 1
        if not quick:
            stop.wait(_STEP_SECONDS)


def _serve(service: Service, shop: Shop, n: int) -> None:
    """One step: n decisions, and the rewards that are due."""
    visits = shop.visits(n)
    requests = [DecisionRequest(task=who.name, arms=board) for who, board in visits]
    answers = service.decide(BANDIT, requests).result()
    served = [
        (who, answer)
        for (who, _), answer in zip(visits, answers, strict=True)
        if isinstance(answer, DecisionAnswer)
    ]
    rewards = shop.rewards(served, service.clock())
    if rewards:
        service.reward(BANDIT, rewards).result()
