"""Rewards in parts and corrections: what is learned is what a replay of the final values learns."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from tests.service.engine.setting import (
    Clock,
    D,
    content,
    decided,
    items,
    largest_error,
    paid,
    shop,
)
from tests.waiting import until

from headstart.arrays import Floats
from headstart.live.stored import items_of, statistics_of
from headstart.service.engine import maintenance
from headstart.service.engine.service import Service
from headstart.service.messages import (
    BanditConfiguration,
    DecisionAnswer,
    DecisionRequest,
    Guardrail,
    ObservationAnswer,
    ObservationRequest,
    RewardAnswer,
    RewardRequest,
    ServiceError,
)
from headstart.service.store import schema

pytestmark = pytest.mark.slow

DEADLINE = 100.0
RANGE = (-3.0, 5.0)
TASKS = ("ann", "bob")


@dataclass
class Decided:
    """A decision of the slow model: all that came for it, and what it counts."""

    id: str
    task: str
    made: float
    observed: bool = False
    parts: dict[str, tuple[float, float, int]] = field(default_factory=dict)  # value, time, number
    metrics: dict[str, float] = field(default_factory=dict)  # of "refund", by key
    value: float | None = None
    weight: float = 1.0
    round: int = 0  # 0: it does not count
    told: bool = False


class Model:
    """The rules of rewards once more, in the plainest way: a list of decisions."""

    def __init__(self, rule: str, default: float | None) -> None:
        self.rule, self.default = rule, default
        self.decisions: list[Decided] = []

    def count(self, decision: Decided, value: float) -> None:
        decision.value = value
        if not decision.round:
            counted = [d for d in self.decisions if d.task == decision.task and d.round]
            decision.round = len(counted) + 1

    def total(self, parts: dict[str, tuple[float, float, int]]) -> float:
        values = [value for value, *_ in sorted(parts.values(), key=lambda p: p[1:])]
        rules = {"sum": sum(values), "max": max(values), "first": values[0], "last": values[-1]}
        return float(rules[self.rule])

    def decide(self, decision: Decided) -> None:
        self.decisions.append(decision)
        if self.default is not None:
            self.count(decision, self.default)

    def observe(self, decision: Decided, value: float) -> None:
        decision.parts[""] = (value, decision.made, 0)
        decision.observed = decision.told = True
        self.decisions.append(decision)
        self.count(decision, value)

    def reward(self, decision: Decided, request: RewardRequest, now: float) -> str:
        key, value = request.key or "", request.value
        happened = now if request.time is None else min(max(request.time, decision.made), now)
        late = happened - decision.made >= DEADLINE
        weight = decision.weight if key or request.weight is None else request.weight
        before = decision.parts.get(key)
        refund = request.metrics.get("refund", decision.metrics.get(key))
        if before is not None:
            same = before[0] == value
            changes = not same or weight != decision.weight
            changes = changes or refund != decision.metrics.get(key)
            if request.correction and changes:
                pass
            elif same:
                return "duplicate"
            elif late or key or decision.observed or before[0] != self.default:
                return "conflict"
        if late:
            return "expired"
        place = (happened, len(decision.parts)) if before is None else before[1:]
        parts = decision.parts | {key: (value, *place)}
        if not RANGE[0] <= self.total(parts) <= RANGE[1]:
            return "out_of_range"
        decision.parts, decision.weight, decision.told = parts, weight, True
        if refund is not None:
            decision.metrics[key] = refund
        self.count(decision, self.total(parts))
        return "paid"


@dataclass(frozen=True)
class World:
    """A service whose clock a test moves, and a number for the next bandit."""

    service: Service
    clock: Clock
    numbers: Iterator[int]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maintenance, "_PAUSE_SECONDS", 0.01)
        store = tmp_path_factory.mktemp("parts") / "store.sqlite"
        with Service.open(store, clock=clock) as service:
            yield World(service, clock, itertools.count())


REWARD = st.tuples(
    st.integers(0, 7),  # which of the decisions, modulo their number
    st.sampled_from([None, None, "click", "buy"]),
    st.sampled_from([-2.0, 0.0, 0.5, 1.0, 3.0]),
    st.booleans(),  # a correction
    st.sampled_from([None, 1.0, 2.5]),
    st.sampled_from([None, None, 0.0, 1.0]),  # the metric
    st.sampled_from([None, 20.0, 70.0]),  # when, after the decision
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("decide"), st.sampled_from(TASKS)),
        st.tuples(st.just("observe"), st.sampled_from(TASKS)),
        st.tuples(st.just("rewards"), st.lists(REWARD, min_size=1, max_size=4)),
        st.tuples(st.just("rewards"), st.lists(REWARD, min_size=1, max_size=4)),
        st.tuples(st.just("wait"), st.sampled_from([30.0, 60.0])),
    ),
    min_size=4,
    max_size=16,
)


@settings(max_examples=40, deadline=None, derandomize=True, phases=[Phase.generate])
@given(
    steps=STEPS,
    rule=st.sampled_from(["sum", "last", "first", "max"]),
    default=st.sampled_from([None, 0.0, 1.0]),
    discount=st.sampled_from([1.0, 1.0, 0.8]),
)
def test_what_is_learned_is_what_a_replay_of_the_final_values_learns(
    world: World, steps: list[Any], rule: Any, default: float | None, discount: float
) -> None:
    service, clock = world.service, world.clock
    name = f"shop{next(world.numbers)}"
    configuration = BanditConfiguration(
        dimension=D,
        scales=None,
        reward_range=RANGE,
        deadline_seconds=DEADLINE,
        default_reward=default,
        discount=discount,
        parts=rule,
        control_share=0.5,
        guardrails=[Guardrail(name="refund", worse="higher")],
    )
    service.put_bandit(name, configuration)
    service.put_items(name, items())
    service.refresh(name)  # so that there is a prior, and tasks are compared
    model = Model(rule, default)
    for step, given_ in [("decide", "ann"), *steps]:
        if step == "wait":
            clock.now += given_
            expired(service, name, [d for d in model.decisions if not d.told], clock.now)
        elif step == "decide":
            (made,) = service.decide(name, [DecisionRequest(task=given_)]).result(60)
            assert isinstance(made, DecisionAnswer)
            model.decide(Decided(made.id, given_, clock.now))
        elif step == "observe":
            request = ObservationRequest(task=given_, arm="item1", value=1.0)
            (seen,) = service.observe(name, [request]).result(60)
            assert isinstance(seen, ObservationAnswer)
            model.observe(Decided(seen.id, given_, clock.now), 1.0)
        else:
            rewards(service, name, model, given_, clock.now)
    check_decisions(service, name, model)
    check_sums(service, name, model)
    check_statistics(service, name, model, discount)


def rewards(service: Service, name: str, model: Model, rows: Sequence[Any], now: float) -> None:
    """Send rewards in one batch; their outcomes are those of the model."""
    requests, expected = [], []
    for which, key, value, correction, weight, metric, when in rows:
        decision = model.decisions[which % len(model.decisions)]
        request = RewardRequest(
            decision=decision.id,
            value=value,
            key=key,
            correction=correction,
            weight=1.0 if key else weight,
            metrics={} if metric is None else {"refund": metric},
            time=None if when is None else decision.made + when,
        )
        requests.append(request)
        expected.append(model.reward(decision, request, now))
    answers = service.reward(name, requests).result(60)
    assert [answer.outcome for answer in answers if isinstance(answer, RewardAnswer)] == expected


def expired(service: Service, name: str, waiting: Sequence[Decided], now: float) -> None:
    """Wait until decisions whose deadline has passed have expired."""
    for decision in waiting:
        if now - decision.made >= DEADLINE:
            until(lambda: service.decision(name, decision.id).status != "pending")  # noqa: B023


def check_decisions(service: Service, name: str, model: Model) -> None:
    for decision in model.decisions:
        record = service.decision(name, decision.id)
        assert (record.round or 0) == decision.round
        if decision.told:
            assert (record.status, record.value) == ("paid", decision.value)
            assert record.weight == decision.weight
        if len(decision.parts) > 1 or decision.metrics or set(decision.parts) - {""}:
            found = {part.key or "": (part.value, part.time) for part in record.parts}
            assert found == {key: part[:2] for key, part in decision.parts.items()}
        else:
            assert record.parts == []


def check_statistics(service: Service, name: str, model: Model, discount: float) -> None:
    """The replay: V, b, T and q of each task, and of each of its items, from final values."""
    number = service_number(service, name)
    with service.database.reading() as connection:
        table, tasks = schema.decisions, schema.tasks
        query = select(table.c.id, table.c.features, table.c.arm).where(table.c.bandit == number)
        rows = {row.id: row for row in connection.execute(query)}
        query = select(tasks.c.name, tasks.c.state).where(tasks.c.bandit == number)
        states = {row.name: row.state for row in connection.execute(query)}
    for task, state in states.items():
        own = sorted(
            (d for d in model.decisions if d.task == task and d.round), key=lambda d: d.round
        )
        x = np.array([np.frombuffer(rows[d.id].features) for d in own]).reshape(-1, D)
        y = np.array([d.value for d in own], dtype=np.float64)
        w = np.array([d.weight for d in own]) * discount ** np.arange(len(own))[::-1]
        found = statistics_of(state, D)
        pairs: list[tuple[Floats, Floats]] = [
            (found.gram, (w[:, None] * x).T @ x),
            (found.moment, (w * y) @ x),
            (found.count, w.sum()),
            (found.sum_of_squares, (w * y * y).sum()),
        ]
        of_items = items_of(found)
        arms = [rows[d.id].arm for d in own]
        assert set(of_items) == set(arms)
        for arm in of_items:
            here = np.array([each == arm for each in arms])
            z = np.column_stack([np.ones(len(own)), y, x])
            pairs.append((of_items[arm], (w * here) @ z))
        for got, expected in pairs:
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)
        check_memory(service, name, task)


def check_memory(service: Service, name: str, task: str) -> None:
    """What the process has in memory of a task is what it has stored."""
    record = service.task(name, task)
    if record.control:  # others may move to a newer prior meanwhile
        arm = [1.0, -0.5, 2.0]
        request = DecisionRequest(task=task, arms={"new": arm})
        (answer,) = service.decide(name, [request]).result(60)
        assert isinstance(answer, DecisionAnswer)
        mean = float(np.dot(arm, record.parameter))
        np.testing.assert_allclose(answer.arms[0].mean, mean, rtol=1e-6, atol=1e-8)


def check_sums(service: Service, name: str, model: Model) -> None:
    """The mean rewards of tasks, and their metrics, over the first rounds."""
    gain = service.gain(name)
    (guardrail,) = gain.guardrails
    controls = {
        task: service.task(name, task).control for task in {d.task for d in model.decisions}
    }
    for control, mean, refund in (
        (False, gain.warm_mean, guardrail.warm_mean),
        (True, gain.control_mean, guardrail.control_mean),
    ):
        own = [task for task, is_control in controls.items() if is_control == control]
        counted = [[d for d in model.decisions if d.task == task and d.round] for task in own]
        means = [
            np.mean([d.value for d in each if d.value is not None]) for each in counted if each
        ]
        assert mean == (pytest.approx(np.mean(means)) if means else None)
        metrics = [[sum(d.metrics.values()) for d in each if d.metrics] for each in counted]
        refunds = [np.mean(each) for each in metrics if each]
        assert refund == (pytest.approx(np.mean(refunds)) if refunds else None)


def service_number(service: Service, name: str) -> int:
    with service.database.reading() as connection:
        query = select(schema.bandits.c.id).where(schema.bandits.c.name == name)
        return int(connection.execute(query).scalar_one())


def test_parts_add_up_and_each_counts_once(store: str) -> None:
    with shop(store, default_reward=0.0, deadline_seconds=60.0) as service:
        (one,) = (each.id for each in decided(service, "ann"))
        assert paid(service, [one, one], 1.0, key="click") == ["paid", "duplicate"]
        assert paid(service, [one], 2.0, key="click") == ["conflict"]
        assert paid(service, [one], 5.0, key="purchase") == ["paid"]
        assert paid(service, [one], -2.0, key="return") == ["paid"]
        assert (service.decision("shop", one).value, service.bandit("shop").rewards) == (4.0, 1)
        assert paid(service, [one, one], -5.0, key="return", correction=True) == [
            "paid",
            "duplicate",
        ]
        record = service.decision("shop", one)
        assert [(part.key, part.value) for part in record.parts] == [
            ("click", 1.0),
            ("purchase", 5.0),
            ("return", -5.0),
        ]
        assert (record.status, record.value, record.round) == ("paid", 1.0, 1)
        # A reward without a key is one more part.
        assert paid(service, [one, one], 0.5) == ["paid", "duplicate"]
        assert paid(service, [one], 0.25) == ["conflict"]
        assert paid(service, [one], 0.25, correction=True) == ["paid"]
        assert service.task("shop", "ann").reward_sum == 1.25
        assert largest_error(service) < 1e-12


def test_a_reward_that_came_whole_may_be_corrected_or_become_a_part(store: str) -> None:
    with shop(store) as service:
        one, two = (each.id for each in decided(service, "ann", "ann"))
        assert paid(service, [one, two], 1.0, weight=2.0) == ["paid", "paid"]
        assert paid(service, [one], 3.0, correction=True, weight=0.5) == ["paid"]
        assert service.decision("shop", one).parts == []
        assert paid(service, [two], 5.0, key="purchase") == ["paid"]
        record = service.decision("shop", two)
        assert (record.value, record.weight) == (6.0, 2.0)
        assert [(part.key, part.value) for part in record.parts] == [(None, 1.0), ("purchase", 5.0)]
        assert largest_error(service) < 1e-12
        answers = paid(service, [two], 1.0, key="click", weight=2.0)
        assert answers[0].startswith("give weight with the reward without a key")


@pytest.mark.parametrize("key", [None, "click"])
def test_a_corrected_reward_keeps_its_time(store: str, key: str | None) -> None:
    clock = Clock()
    with shop(store, clock, parts="last") as service:
        (one,) = (each.id for each in decided(service, "ann"))
        assert paid(service, [one], 1.0, key=key) == ["paid"]
        clock.now += 100.0
        assert paid(service, [one], 2.0, key=key, correction=True) == ["paid"]
        assert paid(service, [one], 5.0, key="late", time=clock.now - 50.0) == ["paid"]
        assert service.decision("shop", one).value == 5.0
        assert largest_error(service) < 1e-12


def without_priors(service: Service) -> dict[str, list[Any]]:
    """What is stored, but for what a refresh of the prior changes meanwhile."""
    changing = ("bandits", "tasks", "contributions", "priors")
    return {name: rows for name, rows in content(service).items() if name not in changing}


def test_a_wrong_part_changes_nothing(store: str) -> None:
    guardrails = [Guardrail(name="refund", worse="higher")]
    with shop(store, control_share=0.5, guardrails=guardrails, reward_range=(0.0, 2.0)) as service:
        (one,) = (each.id for each in decided(service, "ann"))
        assert paid(service, [one], 1.0, key="click") == ["paid"]
        before = without_priors(service)
        assert paid(service, [one], 1.5, key="buy") == ["out_of_range"]  # 2.5 in all
        assert paid(service, [one], 1e60, key="buy") == ["out_of_range"]
        (answer,) = paid(service, [one], 0.5, key="buy", metrics={"refnd": 1.0})
        assert answer == "metrics must be those of guardrails ('refund'), got 'refnd'"
        (answer,) = paid(service, [one], 0.5, key="buy\nnow")
        assert answer == r"key must have no control characters, got 'buy\nnow'"
        assert without_priors(service) == before
        assert largest_error(service) < 1e-12
        assert paid(service, [one], -0.5, key="buy") == ["paid"]
        many = [RewardRequest(decision=one, value=0.0, key=f"k{i}") for i in range(110)]
        answers = service.reward("shop", many).result(120)
        assert sum(isinstance(each, ServiceError) for each in answers) == 110 - 98


def test_parts_go_with_their_decisions(store: str) -> None:
    """When a task is erased, and when decisions are past their retention."""
    clock = Clock()
    with shop(store, clock, retention_seconds=1_000.0) as service:
        ids = [each.id for each in decided(service, "ann", "bob", "bob")]
        paid(service, ids, 1.0, key="click")
        paid(service, ids, 2.0, key="buy")
        service.erase("shop", "ann")
        assert {row[1] for row in content(service)["reward_parts"]} == {*ids[1:]}
        clock.now += 500.0
        (late,) = (each.id for each in decided(service, "bob"))
        paid(service, [late], 1.0, key="click")
    clock.now += 600.0
    with shop(store, clock) as service:  # what is past its retention is deleted at the start
        until(lambda: len(content(service)["decisions"]) == 1)
        assert {row[1] for row in content(service)["reward_parts"]} == {late}


def test_two_processes_count_each_part_once(postgresql: str) -> None:
    settings_: dict[str, Any] = {"deadline_seconds": 3_600.0, "default_reward": 0.25}
    with shop(postgresql, **settings_) as one, shop(postgresql) as two:
        ids = [each.id for each in decided(one, *(f"u{i % 3}" for i in range(12)))]
        keys = ("click", "buy", "return", None)
        sent = [
            service.reward(
                "shop", [RewardRequest(decision=each, value=i + 1.0, key=key) for each in ids]
            )
            for i, key in enumerate(keys)
            for service in (one, two)
        ]
        outcomes = Counter(
            answer.outcome
            for each in sent
            for answer in each.result(120)
            if isinstance(answer, RewardAnswer)
        )
        assert outcomes == {"paid": 48, "duplicate": 48}
        correcting = [
            service.reward(
                "shop",
                [RewardRequest(decision=d, value=v, key="buy", correction=True) for d in ids],
            )
            for service, v in ((one, -1.0), (two, -2.0))
        ]
        for each in correcting:
            each.result(120)
        for decision in ids:
            record = one.decision("shop", decision)
            values = {part.key: part.value for part in record.parts}
            assert values.pop("buy") in (-1.0, -2.0)
            assert values == {"click": 1.0, "return": 3.0, None: 4.0}
            assert record.value == sum(part.value for part in record.parts)
        assert largest_error(one) < 1e-12
