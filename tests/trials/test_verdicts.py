"""The answer on logs whose truth is known, and on logs of real people."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from benchmarks.people_data import PeopleMissing
from benchmarks.trial_logs import MADE, REAL
from tests.needs import missing

import headstart as hs
from headstart.trials import Earnings
from headstart.trials.shares import ATTRIBUTES, ITEMS, LEVEL, NOISE, TASTES


@cache
def _trial(name: str) -> hs.Trial:
    case = MADE[name]()
    return hs.trial(case.log, **case.columns)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("no differences", "one model"),
        ("only item effects", "one model"),
        ("two directions", "yes"),
        ("a leak", "cannot tell"),
        # The mean of earlier tasks points elsewhere.
        ("drift", "alone"),
        ("1 % clicks", "one model"),
    ],
)
def test_the_answer_is_the_truth(name: str, answer: str) -> None:
    assert _trial(name).answer == answer


def test_a_leak_is_named_and_can_be_left_out() -> None:
    found = _trial("a leak")
    assert "'paid' explains 100%" in found.verdict
    assert found.curves is None
    assert found.code == ""
    case = MADE["a leak"]()
    assert hs.trial(case.log, **case.columns, leave_out=["paid"]).answer == "yes"


def test_tasks_that_do_not_differ_have_no_share() -> None:
    for name in ("no differences", "only item effects", "1 % clicks"):
        found = _trial(name).shares
        assert found is not None
        assert all(found.of[share].low < 0.0 < found.of[share].high for share in (LEVEL, TASTES))


def test_shares_are_those_of_the_world() -> None:
    """Two directions: Var(x·own) = 0.49 Σ of both directions' variances over items, noise 1."""
    case = MADE["two directions"]()
    items = case.log.drop_duplicates("sku")
    numbers = items[["price", "size"]].to_numpy(float)
    numbers = (numbers - numbers.mean(0)) / numbers.std(0)
    brands = np.stack([items["brand"] == brand for brand in ("acme", "birch", "clay")], 1)
    x = np.concatenate([numbers, brands - 1.0 / 3.0], 1)
    directions = np.array([[1.0, 0.0, 0.6, 0.0, -0.6], [0.0, 1.0, 0.0, 0.8, -0.8]])
    tastes = 0.49 * float(((x @ directions.T) ** 2).sum(1).mean())
    shared = float((x @ [0.4, -0.2, 0.3, 0.0, -0.3]).var())
    whole = tastes + shared + 1.0
    found = _trial("two directions").shares
    assert found is not None
    for name, truth in ((TASTES, tastes), (ATTRIBUTES, shared), (NOISE, 1.0), (ITEMS, 0.0)):
        # 95 % intervals; a half more on either side, since four must hold at once.
        one = found.of[name]
        assert abs(one.mean - truth / whole) < 1.5 * (one.high - one.low) / 2
    assert set(found.along) == {"price", "size", "brand"}
    assert sum(one.mean for one in found.along.values()) == pytest.approx(1.0)


def test_what_tasks_share_is_predicted_at_once_and_what_differs_with_their_own_rewards() -> None:
    found = _trial("two directions").curves
    assert found is not None
    assert list(found.after)[:4] == [0, 1, 2, 3]
    at = dict(zip(found.after, range(len(found.after)), strict=True))
    ours, one, alone = (
        found.of[name] for name in ("headstart", "one model for all", "each task alone")
    )
    assert alone[0].mean == pytest.approx(0.0, abs=1e-12)
    assert ours[at[10]].low > one[at[10]].high
    assert ours[at[2]].low > alone[at[2]].mean
    assert [one.mean for one in found.of["the mean"]] == [0.0] * len(found.after)


def test_earnings_are_those_of_the_world() -> None:
    """Random choices earn the mean; one model for all earns the worth of the best item.

    Both are known: the log's items are all on offer.
    """
    case = MADE["no differences"]()
    found = _trial("no differences").earnings
    assert isinstance(found, Earnings)
    assert case.worth is not None
    worth = case.worth[0]
    assert found.logged.low < worth.mean() < found.logged.high
    assert found.values["the mean"].low < worth.mean() < found.values["the mean"].high
    best = found.values["one model for all"]
    assert best.low < worth.max() < best.high
    assert found.values["headstart"].low < worth.max()
    assert set(found.refused) == set()


def test_wrong_propensities_earn_nothing() -> None:
    case = MADE["no differences"]()
    log = case.log[:2400].assign(propensity=0.5)
    found = hs.trial(log, **case.columns).earnings
    assert isinstance(found, Earnings)
    assert set(found.values) == set()
    assert "should be 1" in found.refused["headstart"]
    found = hs.trial(log.assign(propensity=0.0), **case.columns).earnings
    assert found == "Propensities must be above 0 and at most 1, but one is 0."


def test_shares_do_not_depend_on_the_unit_of_rewards() -> None:
    case = MADE["two directions"]()
    moved = hs.trial(case.log.assign(reward=10.0 + 2.0 * case.log["reward"]), **case.columns)
    found, expected = moved.shares, _trial("two directions").shares
    assert found is not None
    assert expected is not None
    for name, one in expected.of.items():
        assert found.of[name].mean == pytest.approx(one.mean, abs=1e-3)
    assert (moved.answer, moved.verdict) == ("yes", _trial("two directions").verdict)


def _log(n_tasks: int = 40, n_rewards: int = 10) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = n_tasks * n_rewards
    return pd.DataFrame({
        "task": np.repeat(np.arange(n_tasks), n_rewards),
        "price": rng.normal(size=n),
        "reward": rng.normal(size=n),
    })  # fmt: skip


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (_log(3, 10), "it has 30 rewards, and at least 100 are needed"),
        (_log().assign(reward=1.0), "every reward is 1"),
        (_log().assign(task=np.arange(400)), "0 of its 400 tasks have two rewards or more"),
        (_log().assign(task="one"), "1 of its 1 tasks"),
        (_log().assign(reward=np.nan), "it has 0 rewards"),
        (_log().assign(task=None), "it has no rows with a task"),
        (_log().drop(columns="price"), "it does not say what was chosen"),
        (_log().assign(at=1.0), "too few tasks have rewards before"),
        (_log(), "nothing in it predicts which choice is better"),
        (_log().assign(twice=lambda log: 2.0 * log["reward"]), "column 'twice' explains 100%"),
        (
            _log().assign(reward=lambda log: (log["reward"] > 1.0) * 1.0,
                          paid=lambda log: np.where(log["reward"] > 0, log["price"], np.nan)),
            "column 'paid' explains 100%",
        ),
    ],
)  # fmt: skip
def test_a_hopeless_log_gets_a_sentence_and_no_number(log: pd.DataFrame, reason: str) -> None:
    found = hs.trial(log, time="at" if "at" in log else None)
    assert found.answer == "cannot tell"
    assert reason in found.verdict
    assert (found.shares, found.curves, found.earnings, found.code) == (None, None, None, "")


def test_what_an_item_fixes_is_no_leak() -> None:
    """An item that is always clicked explains the click, but it is known before."""
    log = _log().assign(item=lambda log: np.arange(400) % 4)
    log["kind"] = np.where(log["item"] == 0, "good", "bad")
    log["reward"] = (log["item"] == 0) * 1.0
    found = hs.trial(log, item="item")
    assert found.answer == "one model"


def test_a_task_that_is_only_happier_needs_no_prior() -> None:
    """Levels of tasks are predicted, and no choice can change them."""
    rng = np.random.default_rng(1)
    log = _log(200)
    log["reward"] += 0.5 * log["price"] + np.repeat(rng.normal(0.0, 1.0, 200), 10)
    found = hs.trial(log)
    assert found.answer == "one model"
    assert found.shares is not None
    assert found.shares.of[LEVEL].low > 0.3
    assert found.curves is not None
    assert found.curves.of["headstart"][4].low > found.curves.of["one model for all"][4].high


def test_an_item_without_attributes_is_one_itself() -> None:
    rng = np.random.default_rng(2)
    log = _log(300).drop(columns="price")
    log["item"] = rng.integers(4, size=len(log))
    log["reward"] += rng.normal(0.0, 1.5, (300, 4))[log["task"], log["item"]]
    found = hs.trial(log, item="item")
    assert found.answer == "yes"
    assert found.features is not None
    assert [one.name for one in found.features.item] == ["item"]


@pytest.mark.parametrize(
    ("name", "answer"),
    [("electricity", "yes"), ("camera", "yes"), ("mmlu-pro", "one model")],
)
def test_people_differ_where_playing_says_so(name: str, answer: str) -> None:
    try:
        case = REAL[name]()
    except PeopleMissing as error:
        missing("data", str(error))
    assert hs.trial(case.log, **case.columns).answer == answer
