"""Off-policy evaluation of a bandit on a log of decisions."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.service.jobs.setting import ON_SQLITE, D, W, ended, in_folder

import headstart as hs
from headstart.service.engine.service import Service
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import (
    DecisionLogColumns,
    EvaluateReport,
    EvaluateRequest,
    Item,
    ServiceError,
)

ITEMS = {"milk": [0.0, 1.0, 0.0], "rum": [0.0, 0.0, 1.0], "tea": [1.0, 0.0, 0.0]}


def decisions(n: int = 200, n_arms: int = 3) -> pd.DataFrame:
    """Arms that are chosen uniformly, 10 rounds per task."""
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((n, n_arms, D))
    choices = rng.integers(n_arms, size=n)
    rewards = (arms[np.arange(n), choices] @ W) + 0.5 * rng.standard_normal(n)
    return pd.DataFrame(
        {
            "task": [f"u{i // 10}" for i in range(n)],
            "arms": [each.tolist() for each in arms],
            "choice": choices,
            "reward": rewards,
            "propensity": 1.0 / n_arms,
        }
    )


def evaluated(jobs: Jobs, **request: Any) -> Any:
    return ended(jobs, jobs.start_evaluate("shop", EvaluateRequest(**request)))


def test_the_report_is_that_of_evaluate_logged(jobs: Jobs, data: Path) -> None:
    frame = decisions()
    name = in_folder(data, "log.parquet", frame)
    report = evaluated(jobs, files=[name], policy={"class": "Greedy"}, seed=3).report
    assert isinstance(report, EvaluateReport)
    bandit = hs.MetaBandit(dimension=D, policy=hs.policies.Greedy(), seed=3)
    logged = hs.LoggedDecisions(
        tasks=list(frame["task"]),
        arms=np.array(frame["arms"].tolist()),
        choices=frame["choice"].to_numpy(),
        rewards=frame["reward"].to_numpy(),
        propensities=frame["propensity"].to_numpy(),
    )
    expected = hs.evaluate_logged(bandit, logged, seed=3)
    for kind in ("replay", "inverse_propensity", "self_normalised", "doubly_robust"):
        found, wanted = getattr(report, kind), getattr(expected, kind)
        assert (found.mean, found.low, found.high) == (wanted.mean, wanted.low, wanted.high)
    assert report.effective_sample_size == expected.effective_sample_size
    assert (report.rounds, report.tasks) == (200, 20)
    assert report.accepted == int(expected.accepted.sum())
    assert report.overlap is None
    assert report.start == "cold"
    assert report.policy == {"class": "Greedy"}
    np.testing.assert_allclose(report.logged.mean or 0.0, frame["reward"].mean())


@ON_SQLITE
def test_arms_of_the_catalogue(jobs: Jobs, service: Service, data: Path) -> None:
    service.put_items("shop", [Item(id=name, features=x) for name, x in ITEMS.items()])
    items = ["tea", "milk", "rum"] * 20
    frame = decisions(n=60).assign(item=items).drop(columns=["arms", "choice"])
    name = in_folder(data, "log.csv", frame)
    columns = DecisionLogColumns(arm="item")
    report = evaluated(jobs, files=[name], columns=columns, policy={"class": "Uniform"}).report
    assert isinstance(report, EvaluateReport)
    # The log's own policy: every weight is 1, and the estimate is the log's mean.
    assert report.effective_sample_size == pytest.approx(60)
    assert report.inverse_propensity.mean == pytest.approx(frame["reward"].mean())


@ON_SQLITE
def test_a_log_without_overlap_is_refused(jobs: Jobs, data: Path) -> None:
    frame = decisions()
    frame["choice"], frame["propensity"] = 0, 1.0
    name = in_folder(data, "log.parquet", frame)
    job = evaluated(jobs, files=[name])
    assert job.status == "failed"
    assert job.report is None
    assert job.error.startswith("the log cannot tell the bandit's value: the mean weight")


@ON_SQLITE
def test_what_is_wrong_is_said_before_the_job(jobs: Jobs, data: Path) -> None:
    name = in_folder(data, "log.parquet", decisions(n=20))
    for policy, words in (("Nothing", "policy.class must be"), ("os:system", "class")):
        request = EvaluateRequest(files=[name], policy={"class": policy})
        with pytest.raises(ServiceError, match=words) as error:
            jobs.start_evaluate("shop", request)
        assert error.value.problem.status == 422
    assert jobs.jobs("shop") == []
