"""Other settings, evaluated on the bandit's own decisions."""

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, update
from tests.service.engine.setting import Clock, D, K, items, shop
from tests.service.jobs.setting import InThread, ended

import headstart as hs
from headstart.live.off_policy import LogTime
from headstart.service.engine.service import Service
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import (
    Alternative,
    BanditConfiguration,
    DecisionAnswer,
    DecisionRequest,
    Estimate,
    EvaluateRequest,
    FitRequest,
    Item,
    JobView,
    ObservationRequest,
    OwnLogReport,
    RewardRequest,
    ServiceError,
)
from headstart.service.store import schema

COLD = Alternative(prior={"class": "Fixed", "bias": 0.0, "regularization": 1.0})
NIGHTLY = {"cold": COLD, "slim": Alternative(without=["x1", "x3"])}
SETTINGS = {"exploration": 0.6, "item_effects": False, "evaluate_nightly": NIGHTLY}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    with shop(str(tmp_path / "store.sqlite"), clock, **SETTINGS) as service:
        yield service


@pytest.fixture
def jobs(service: Service, tmp_path: Path) -> Jobs:
    """Jobs that are not being done yet."""
    return Jobs(service, uploads=tmp_path / "uploads", begin=InThread)


def visit(service: Service, clock: Clock, n: int = 300) -> None:
    """Decisions for 20 users, with rewards that the first feature tells."""
    rng = np.random.default_rng(0)
    for i in range(n // 20):
        clock.now += 60.0
        exclude = ["item1"] if i % 3 == 0 else []
        requests = [DecisionRequest(task=f"user{u}", exclude=exclude) for u in range(20)]
        answers = service.decide("shop", requests).result(120)
        rewards = []
        for each in answers:
            assert isinstance(each, DecisionAnswer)
            x = items()[int(each.arms[0].arm[4:])].features
            assert x is not None
            value = x[0] + 0.3 * rng.standard_normal()
            rewards.append(RewardRequest(decision=each.id, value=value))
        service.reward("shop", rewards).result(120)


def done(jobs: Jobs, job: JobView) -> JobView:
    runner = Jobs(jobs._service, uploads=jobs.folders.uploads, begin=InThread)
    runner.start()
    try:
        return ended(runner, job, seconds=120.0)
    finally:
        runner.stop()


def by_hand(service: Service) -> hs.LoggedDecisions:
    """The log, from the rows of the table."""
    with service.database.reading() as connection:
        rows = connection.execute(select(schema.decisions).order_by(schema.decisions.c.id)).all()
        tasks = {row.id: row.name for row in connection.execute(select(schema.tasks))}
    arms = np.array([item.features for item in items()])
    bits = [bytes([0xFF]) if row.offered is None else row.offered for row in rows]
    return hs.LoggedDecisions(
        tasks=[tasks[row.task] for row in rows],
        arms=np.array([arms] * len(rows)),
        choices=[int(row.arm[4:]) for row in rows],
        rewards=[row.value for row in rows],
        propensities=[row.propensity for row in rows],
        allowed=[[bool(b[0] >> (7 - k) & 1) for k in range(K)] for b in bits],
        times=[row.time for row in rows],
    )


def test_settings_are_evaluated_on_the_own_decisions(
    service: Service, jobs: Jobs, clock: Clock
) -> None:
    visit(service, clock)
    job = done(jobs, jobs.start_own_evaluation("shop"))
    assert job.error is None
    report = job.report
    assert isinstance(report, OwnLogReport)
    log = by_hand(service)
    assert (report.rounds, report.tasks, report.left_out) == (300, 20, {})
    assert report.logged.mean == pytest.approx(log.rewards.mean())
    assert [each.name for each in report.settings] == ["current", "cold", "slim"]
    bandits = {
        "current": (hs.MetaBandit(dimension=D, exploration=0.6, seed=0), np.ones(D)),
        "cold": (
            hs.MetaBandit(dimension=D, exploration=0.6, prior=hs.priors.Fixed.zero(), seed=0),
            np.ones(D),
        ),
        "slim": (hs.MetaBandit(dimension=D, exploration=0.6, seed=0), np.array([0.0, 1.0, 0.0])),
    }
    for each in report.settings:
        assert each.cannot is None
        bandit, kept = bandits[each.name]
        columns = {**vars(log), "arms": log.arms * kept}
        found = hs.evaluate_logged(bandit, hs.LoggedDecisions(**columns), learn="all")
        assert each.effective_sample_size == pytest.approx(found.effective_sample_size)
        for name in ("inverse_propensity", "self_normalised", "doubly_robust"):
            estimate, expected = getattr(each, name), getattr(found, name)
            assert isinstance(estimate, Estimate)
            assert (estimate.mean, estimate.low) == pytest.approx((expected.mean, expected.low))
    assert len({str(each.doubly_robust) for each in report.settings}) == 3


def test_decisions_that_cannot_be_used_are_counted(
    service: Service, jobs: Jobs, clock: Clock
) -> None:
    with pytest.raises(ServiceError, match="name files of the data folder"):
        jobs.start_fit("shop", FitRequest())  # which has no log of its own
    none = done(jobs, jobs.start_evaluate("shop", EvaluateRequest()))
    assert (none.status, none.error is not None and "none yet" in none.error) == ("failed", True)
    visit(service, clock, 60)
    other = [DecisionRequest(task="ann", n=2), DecisionRequest(task="ann")]
    other += [DecisionRequest(task="ann", arms={"a": [1.0, 0.0, 0.0], "b": [0.0, 1.0, 0.0]})]
    service.decide("shop", other).result(60)
    service.observe("shop", [ObservationRequest(task="ann", arm="item1", value=1.0)]).result(60)
    job = done(jobs, jobs.start_evaluate("shop", EvaluateRequest()))
    assert isinstance(job.report, OwnLogReport)
    assert job.report.rounds == 60
    assert sorted(job.report.left_out.values()) == [1, 1, 1, 2]
    service.put_items("shop", [*items(), Item(id="new", features=[0.0] * D)])
    job = done(jobs, jobs.start_evaluate("shop", EvaluateRequest()))
    assert job.error is not None
    assert "another catalogue" in job.error


def test_a_log_without_chance_cannot_tell(service: Service, jobs: Jobs, clock: Clock) -> None:
    visit(service, clock, 200)
    with service.database.writing() as connection:
        connection.execute(update(schema.decisions).values(propensity=1.0))
    job = done(jobs, jobs.start_own_evaluation("shop"))
    assert isinstance(job.report, OwnLogReport)
    assert all(each.cannot and each.doubly_robust is None for each in job.report.settings)


def test_the_nightly_evaluation_is_done_once_a_day(
    service: Service, clock: Clock, tmp_path: Path
) -> None:
    for hours, n in ((0, 1), (20, 1), (25, 2)):
        clock.now = Clock().now + 3_600.0 * hours
        jobs = Jobs(service, uploads=tmp_path / "uploads", begin=InThread)
        jobs.start()
        try:
            while jobs.runner._next_look < clock.now:  # it looks for what is due
                time.sleep(0.01)
            while len(jobs.jobs("shop")) < n:
                time.sleep(0.01)
            for job in jobs.jobs("shop"):
                assert ended(jobs, job).kind == "evaluate"
        finally:
            jobs.stop()
        assert len(jobs.jobs("shop")) == n


def test_a_name_with_braces_and_a_bandit_without_a_catalogue(
    service: Service, jobs: Jobs, clock: Clock
) -> None:
    visit(service, clock)
    request = EvaluateRequest(alternatives={"z={2}": Alternative(exploration=0.5)})
    job = done(jobs, jobs.start_evaluate("shop", request))
    assert isinstance(job.report, OwnLogReport)
    assert [each.name for each in job.report.settings] == ["current", "z={2}"]
    service.delete_items("shop", None)
    job = done(jobs, jobs.start_own_evaluation("shop"))
    assert job.error is not None
    assert "300 of another catalogue" in job.error


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"alternatives": {"slim": Alternative(without=["price"])}}, "'price'"),
        ({"alternatives": {"current": Alternative()}}, "'current'"),
        ({"alternatives": {"a": Alternative(policy={"class": "Nothing"})}}, "Nothing"),
        ({"alternatives": {"a": COLD}, "files": ["x.csv"]}, "alternatives"),
        ({"policy": {"class": "Greedy"}}, "alternative"),
    ],
)
def test_wrong_alternatives_are_named(
    service: Service, jobs: Jobs, given: dict[str, Any], named: str
) -> None:
    with pytest.raises(ServiceError, match=named):
        jobs.start_evaluate("shop", EvaluateRequest(**given))
    if set(given) == {"alternatives"} and "current" not in str(given):
        nightly = {"evaluate_nightly": given["alternatives"]}
        with pytest.raises(ServiceError, match=f"evaluate_nightly.*{named}"):
            service.put_bandit("shop", BanditConfiguration(dimension=D, **nightly))


def test_items_in_a_context_are_those_that_were_shown(tmp_path: Path) -> None:
    features = hs.Features(
        item=[hs.Number("price", mean=2.0, scale=1.0)],
        context=[hs.Category("device", levels=["phone", "desktop"])],
        about=[hs.Category("country", levels=["NL", "DE"])],
        cross=[("device", "price"), ("country", "price")],
    )
    service = Service.open(tmp_path / "store.sqlite")
    configuration = BanditConfiguration(
        features=features.plain(),
        exploration=0.9,
        evaluate_nightly={"slim": Alternative(without=["device"])},
    )
    rng = np.random.default_rng(0)
    with service:
        service.put_bandit("shop", configuration)
        prices = {"tea": 1.0, "mug": 3.0, "pot": 4.0}
        wanted = [Item(id=name, attributes={"price": p}) for name, p in prices.items()]
        service.put_items("shop", wanted)
        for _ in range(8):
            requests = [
                DecisionRequest(
                    task=f"user{u}",
                    context={"device": str(rng.choice(["phone", "desktop"]))},
                    about={"country": "NL" if u % 2 else "DE"},
                )
                for u in range(15)
            ]
            answers = service.decide("shop", requests).result(120)
            ids = [each.id for each in answers if isinstance(each, DecisionAnswer)]
            rewards = [RewardRequest(decision=each, value=float(rng.random())) for each in ids]
            service.reward("shop", rewards).result(120)
        late = [DecisionRequest(task="late"), DecisionRequest(task="late", about={"country": "NL"})]
        for request in late:
            (answer,) = service.decide("shop", [request]).result(60)
            assert isinstance(answer, DecisionAnswer)
            service.reward("shop", [RewardRequest(decision=answer.id, value=1.0)]).result(60)
        jobs = Jobs(service, uploads=tmp_path / "uploads", begin=InThread)
        job = done(jobs, jobs.start_own_evaluation("shop"))
        assert isinstance(job.report, OwnLogReport)
        assert job.report.rounds == 121
        assert list(job.report.left_out.values()) == [1]  # it was shown without the country
        assert [each.cannot for each in job.report.settings] == [None, None]


def test_a_half_life_in_seconds_goes_by_the_times_of_the_log() -> None:
    rng = np.random.default_rng(0)
    n, arms = 400, rng.normal(size=(400, 3, 2))
    choices = rng.integers(3, size=n)
    columns = {
        "tasks": [f"user{i // 5}" for i in range(n)],
        "arms": arms,
        "choices": choices,
        "rewards": arms[np.arange(n), choices, 0] * np.where(np.arange(n) < 200, 1.0, -1.0),
        "propensities": np.full(n, 1 / 3),
    }

    def value(gap: float) -> float:
        times = np.arange(n) * 1.0 + np.where(np.arange(n) < 200, 0.0, gap)
        log = hs.LoggedDecisions(**columns, times=times)
        bandit = hs.MetaBandit(dimension=2, half_life_seconds=600.0, clock=LogTime(), seed=0)
        found = hs.evaluate_logged(bandit, log, learn="all")
        late = np.arange(n) >= 200
        return float((found.weights * log.rewards)[late].mean())

    assert value(gap=1e6) > value(gap=0.0) + 0.1  # a bandit that has forgotten learns anew
    log = hs.LoggedDecisions(**columns)
    bandit = hs.MetaBandit(dimension=2, half_life_seconds=600.0, seed=0)
    with pytest.raises(ValueError, match="times"):
        hs.evaluate_logged(bandit, log)
    with pytest.raises(ValueError, match="allowed"):
        hs.LoggedDecisions(**columns, allowed=np.zeros((n, 3), dtype=bool))
    assert math.isfinite(value(gap=1.0))
