"""Everybody teaches the prior, once; control tasks start cold; an erased task is gone."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select
from tests.service.engine.setting import (
    D,
    answer_of,
    content,
    decided,
    items,
    largest_error,
    paid,
    shop,
)
from tests.waiting import until

import headstart as hs
from headstart.service.engine.maintenance import Maintenance
from headstart.service.engine.priors import NewPrior
from headstart.service.engine.service import Service
from headstart.service.messages import (
    BanditConfiguration,
    DecisionRequest,
    RewardRequest,
    ServiceError,
)
from headstart.service.store import schema

pytestmark = pytest.mark.slow

FEATURES = {item.id: np.array(item.features) for item in items()}


def play(service: Service, names: list[str], rounds: int, seed: int) -> None:
    """Rounds of tasks whose parameters are near (1, 1, 1)."""
    rng = np.random.default_rng(seed)
    parameters = {name: 1.0 + 0.3 * rng.normal(size=D) for name in names}
    for _ in range(rounds):
        for answer in decided(service, *names):
            x = FEATURES[answer.arms[0].arm]
            paid(service, [answer.id], float(x @ parameters[answer.task] + rng.normal()))


# A prior that is a function of sums over tasks, so that it is the same however often it was
# refreshed on the way. Hierarchical takes its grid of λ from the task that it counted first, and
# its search for directions begins where the last one ended.
EXACT: dict[str, object] = {"class": "Pooled", "within_task": False}


def taught(service: Service, without: str = "") -> hs.MetaBandit:
    """A bandit with that prior, which saw what the store's tasks have been paid."""
    bandit = hs.MetaBandit(dimension=D, prior=hs.priors.Pooled(within_task=False), seed=0)
    with service.database.reading() as connection:
        table, tasks = schema.decisions, schema.tasks
        query = (
            select(tasks.c.name, table.c.features, table.c.value)
            .join(tasks, tasks.c.id == table.c.task)
            .where(table.c.round.is_not(None))
            .order_by(tasks.c.id, table.c.round)
        )
        for row in connection.execute(query):
            if row.name != without:
                bandit.observe(row.name, np.frombuffer(row.features, dtype="<f8"), row.value)
    return bandit


def test_the_prior_is_that_of_a_bandit_that_saw_everything(store: str) -> None:
    names = [f"u{i}" for i in range(12)]
    with shop(store, prior=EXACT) as service:
        assert service.prior("shop").version == 0
        play(service, names, 3, seed=1)
        first = service.refresh("shop")
        play(service, names, 4, seed=2)
        assert service.refresh("shop") > first
        found, expected = service.prior("shop"), taught(service).learned()
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-8)
        np.testing.assert_allclose(found.spread, expected.spread, rtol=1e-8)
        assert found.n_tasks == expected.n_tasks == 12
        assert found.history[0].version == found.version > found.history[-1].version
        (answer,) = decided(service, "new")
        versions = {each.version: each for each in service.prior("shop").history}
        mean = versions[answer.prior_version].mean
        np.testing.assert_allclose(service.task("shop", "new").prior_mean, mean, rtol=1e-9)
        assert largest_error(service) < 1e-9
    with shop(store) as service:
        (answer,) = decided(service, "newer")
        assert answer.prior_version >= found.version
        assert service.task("shop", "newer").prior_mean != [0.0] * D


def test_an_erased_task_is_gone_from_the_prior_too(store: str) -> None:
    with shop(store, prior=EXACT) as service:
        play(service, [f"u{i}" for i in range(9)], 4, seed=3)
        service.refresh("shop")
        expected = taught(service, without="u4").learned()
        number = next(row[0] for row in content(service)["tasks"] if row[2] == "u4")
        version = service.erase("shop", "u4")
        prior = service.prior("shop")
        assert (prior.version, prior.n_tasks) == (version, 8)
        np.testing.assert_allclose(prior.mean, expected.mean, rtol=1e-8)
        left = content(service)
        assert all(row[0] != number for row in left["tasks"] + left["contributions"])
        assert all(row[2] != number for row in left["decisions"])
        with service.database.reading() as connection:
            old = select(schema.priors.c.memory).where(schema.priors.c.version < version)
            assert all(row.memory is None for row in connection.execute(old))
        for call in (service.task, service.erase):
            with pytest.raises(ServiceError, match="has no task 'u4'"):
                call("shop", "u4")
        (answer,) = decided(service, "u4")
        assert service.task("shop", "u4").n_rewards == 0
        assert paid(service, [answer.id]) == ["paid"]


def test_a_task_with_side_information_can_be_erased(store: str) -> None:
    """Before and after it has learned more than the prior has counted."""
    with shop(store, about_names=["age"]) as service:
        for i in range(12):
            for answer in decided(service, f"u{i}", about=[i / 12]):
                paid(service, [answer.id], float(i % 3))
        service.refresh("shop")
        for number, name in enumerate(("u4", "u5"), 1):
            (answer,) = decided(service, "u5", about=[5 / 12])
            paid(service, [answer.id], 1.0)
            service.erase("shop", name)
            assert service.prior("shop").n_tasks == 12 - number


def test_control_tasks_start_cold_and_teach(store: str) -> None:
    with shop(store, control_share=0.5) as service:
        names = [f"u{i}" for i in range(24)]
        play(service, names, 3, seed=4)
        service.refresh("shop")
        assert service.prior("shop").n_tasks == 24
        later = decided(service, *(f"v{i}" for i in range(24)))
        groups = {answer.control for answer in later}
        assert groups == {False, True}  # 24 fair coins fall alike once in 8 million
        for answer in later:
            cold = service.task("shop", answer.task).prior_mean == [0.0] * D
            assert cold == answer.control


def test_another_process_takes_over_the_prior(postgresql: str) -> None:
    with shop(postgresql) as one, shop(postgresql) as two:
        decided(two, "early")
        play(one, [f"u{i}" for i in range(8)], 3, seed=7)
        version = one.refresh("shop")
        for attempt in range(200):
            (answer,) = decided(two, f"new{attempt}")
            if answer.prior_version >= version:
                break
            time.sleep(0.02)
        assert answer.prior_version >= version
        both = [one.refresh("shop"), two.refresh("shop")]
        assert both[1] > both[0]
        assert one.prior("shop").n_tasks == two.prior("shop").n_tasks == 8


def test_a_first_prior_comes_next_and_one_that_fails_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(str(tmp_path / "store.sqlite")) as service:
        service.delete_bandit("shop")
        for name in "abc":
            _visited(service, name)
        until(lambda: all(service.prior(name).version > 0 for name in "abc"))
        order: list[str] = []
        refresh, goes_on = Maintenance.refresh, threading.Event()

        def noted(self: Maintenance, name: str, source: str) -> NewPrior | None:
            order.append(name)
            goes_on.wait(60)
            if name == "b":
                raise RuntimeError("a mistake in the program")
            return refresh(self, name, source)

        monkeypatch.setattr(Maintenance, "refresh", noted)
        for name in "abc":
            _visited(service, name)
        until(lambda: bool(order))
        _visited(service, "new")  # while another is refreshed
        assert min(each["prior_lag_seconds"] for each in service.measures().values()) > 0.0
        goes_on.set()
        until(lambda: {"a", "b", "c", "new"} <= set(order))
        assert order[1] == "new"


def _visited(service: Service, bandit: str) -> None:
    """A bandit with a reward that its prior has not counted."""
    service.put_bandit(bandit, BanditConfiguration(dimension=D))
    service.put_items(bandit, items())
    (answer,) = service.decide(bandit, [DecisionRequest(task="ann")]).result(120)
    service.reward(bandit, [RewardRequest(decision=answer_of(answer).id, value=1.0)]).result(120)
