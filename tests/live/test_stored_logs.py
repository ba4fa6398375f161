"""The memory of a log apart: that of `MetaBandit.fit`, and how it counts beside stored tasks."""

import time
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.live.settings import Settings
from headstart.live.stored import (
    FeatureNames,
    Model,
    StoredMemory,
    StoredTask,
    StoredTasks,
    memory_of_log,
    recount,
)
from headstart.logs import Columns, LogReading

NAMES = ["a", "b"]


def log(tasks: int = 40, rows: int = 5, seed: int = 0, scale: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = tasks * rows
    x = rng.standard_normal((n, 2))
    frame = pd.DataFrame(x * [1.0, scale], columns=NAMES)
    frame["task"] = [f"t{i // rows}" for i in range(n)]
    frame["reward"] = x @ [1.0, 2.0] + 0.3 * rng.standard_normal(n)
    frame["time"] = np.arange(n, dtype=float)
    frame["about"] = [float(i // rows) for i in range(n)]
    return frame


def model(prior: Any = None, **options: Any) -> Model:
    clock = options.pop("clock", time.time)
    return Model(
        dimension=2,
        policy=hs.policies.Greedy(),
        prior=hs.priors.Hierarchical() if prior is None else prior,
        settings=Settings.from_options(clock, **options),
        feature_names=FeatureNames(2),
    )


def read(frame: pd.DataFrame, **columns: Any) -> LogReading:
    return LogReading(frame, Columns(features=NAMES, **columns), 2)


@pytest.mark.parametrize(
    ("prior", "options", "columns"),
    [
        (hs.priors.Hierarchical(), {}, {}),
        (hs.priors.Hierarchical(), {"scales": None}, {}),
        (
            hs.priors.Hierarchical(),
            {"half_life_seconds": 50.0, "clock": lambda: 300.0},
            {"time": "time"},
        ),
        (hs.priors.Hierarchical(n_about=1), {}, {"about": ["about"]}),
        (hs.priors.Pooled(), {}, {}),
    ],
)
def test_the_memory_is_that_of_metabandit_fit(
    prior: Any, options: dict[str, Any], columns: dict[str, Any]
) -> None:
    frame = log(scale=1e3)
    of = model(prior, **options)
    own = recount(of, StoredMemory.empty(of), []).memory
    found = own.merged([memory_of_log(of, read(frame, **columns), beside=own)], of).learned(of)
    bandit = hs.MetaBandit(dimension=2, prior=prior, seed=0, **options)
    expected = bandit.fit(frame, features=NAMES, **columns).learned()
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(found.spread, expected.spread, rtol=1e-12)
    assert found.n_tasks == expected.n_tasks == 40
    np.testing.assert_allclose(found.effective_tasks, expected.effective_tasks, rtol=1e-12)


def test_a_log_knows_its_scales_however_short() -> None:
    of = model()
    assert memory_of_log(of, read(log(tasks=1, rows=3))).scales_known
    far = memory_of_log(of, read(log(scale=1e3)))
    assert far.scales is not None
    assert far.scales[1] / far.scales[0] == 512.0  # of √1 and √1e6, relative to their median
    beside = memory_of_log(of, read(log(seed=1)), beside=far)
    assert beside.scales is not None
    np.testing.assert_array_equal(beside.scales, far.scales)


def stored(of: Model, frame: pd.DataFrame) -> list[StoredTask]:
    """The tasks of a log as a store has them, before they are counted."""
    tasks = StoredTasks(of)
    for number, (_, rows) in enumerate(frame.groupby("task", sort=False), start=1):
        tasks.open(number)
        for x, y in zip(rows[NAMES].to_numpy(), rows["reward"], strict=True):
            tasks.learn(number, x, float(y), 1.0)
    return [
        StoredTask(task=i + 1, state=tasks.state(i + 1), contribution=None)
        for i in range(frame["task"].nunique())
    ]


def test_few_tasks_take_the_scales_of_a_log() -> None:
    """They were counted without scales, which the log knows; then all is in the log's."""
    of, few = model(), log(tasks=4, seed=1, scale=1e3)
    tasks = stored(of, few)
    alone = recount(of, StoredMemory.empty(of), tasks)
    assert not alone.memory.scales_known
    far = memory_of_log(of, read(log(scale=1e3)))
    counted = [
        StoredTask(
            task=each.task,
            state=each.state,
            contribution=alone.contributions[each.task],
            changed=False,
        )
        for each in tasks
    ]
    found = recount(of, alone.memory, counted, others=[far])
    assert found.memory.state.n_tasks == 4
    assert found.memory.scales is not None
    assert far.scales is not None
    np.testing.assert_array_equal(found.memory.scales, far.scales)
    expected = memory_of_log(of, read(few), beside=far)
    np.testing.assert_allclose(found.memory.learned(of).mean, expected.learned(of).mean, rtol=1e-9)


def test_without_tasks_a_store_stays_without_scales() -> None:
    of = model()
    far = memory_of_log(of, read(log(scale=1e3)))
    found = recount(of, StoredMemory.empty(of), [], others=[far])
    assert not found.memory.scales_known
    assert found.memory.scales is None
