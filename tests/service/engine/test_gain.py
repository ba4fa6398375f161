"""The gain: which tasks it compares, which it leaves out, and how it was known day by day."""

import pytest
from tests.service.engine.setting import Clock, decided, paid, shop

from headstart.service.engine.service import Service
from headstart.service.messages import BanditConfiguration, LeftOut

pytestmark = pytest.mark.slow

DAY = 86_400.0


def reward_new_tasks(service: Service, name: str, n: int, **given: object) -> None:
    """Open tasks; pay 1 to warm tasks and 0 to the control, but for every third of each."""
    answers = decided(service, *(f"{name}{i}" for i in range(n)), **given)
    seen = {True: 0, False: 0}
    for answer in answers:
        seen[answer.control] += 1
        reward = float(answer.control == (seen[answer.control] % 3 == 0))
        assert paid(service, [answer.id], reward) == ["paid"]


def configure(service: Service, **settings: object) -> None:
    now = service.bandit("shop").configuration
    service.put_bandit("shop", BanditConfiguration(dimension=now.dimension, **settings))  # type: ignore[arg-type]


def test_every_rewarded_task_is_compared_or_left_out_for_a_reason(store: str) -> None:
    with shop(store, control_share=0.5) as service:
        reward_new_tasks(service, "early", 4)
        service.refresh("shop")
        configure(service)
        reward_new_tasks(service, "all", 5)
        configure(service, control_share=0.5, shadow=True)
        reward_new_tasks(service, "shadow", 6, own="item0")
        configure(service, control_share=0.5, control="own")
        reward_new_tasks(service, "own", 7, own="item1")
        configure(service, control_share=0.5)
        reward_new_tasks(service, "cold", 40)
        decided(service, "waits")
        gain = service.gain("shop")
    assert gain.warm_tasks + gain.control_tasks == 40
    assert gain.left_out == LeftOut(no_prior=4, no_control=5, shadow=6, other_control=7)


def test_the_gain_is_kept_as_it_was_known_on_each_day(store: str) -> None:
    clock = Clock()
    known = []
    with shop(store, clock, control_share=0.5) as service:
        service.refresh("shop")
        for day in range(3):
            reward_new_tasks(service, f"{day}-", 60)
            gain = service.gain("shop")
            known.append((gain.difference, gain.low, gain.high))
            clock.now += DAY
        gain = service.gain("shop")
    assert [(each.difference, each.low, each.high) for each in gain.days] == known
    assert [each.day for each in gain.days] == sorted({each.day for each in gain.days})
    assert gain.difference == known[-1][0]


def test_an_open_gain_says_when_it_is_decided(store: str) -> None:
    with shop(store, control_share=0.5) as service:
        service.refresh("shop")
        reward_new_tasks(service, "a", 20)
        gain = service.gain("shop")
        assert gain.low is not None
        assert gain.low < 0.0
        assert gain.tasks_to_go is not None
        reward_new_tasks(service, "b", gain.tasks_to_go + 60)
        gain = service.gain("shop")
        assert gain.low is not None
        assert gain.low > 0.0
        assert gain.tasks_to_go is gain.days_to_go is None
