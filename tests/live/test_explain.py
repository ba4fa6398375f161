"""Explanations: sums of what they show, against closed forms; and reprs worth reading."""

import doctest
import importlib
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headstart as hs


def test_by_hand() -> None:
    """Λ = I, h = (1, 0), one reward of 3 for x = (1, 1): ŵ = h + x(3 − xᵀh)/(1 + ‖x‖²)."""
    bandit = hs.MetaBandit(
        dimension=2,
        policy=hs.policies.Greedy(),
        prior=hs.priors.Fixed(bias=np.array([1.0, 0.0]), regularization=1.0),
        feature_names=["price", "age"],
        seed=0,
    )
    bandit.observe("ann", [1.0, 1.0], 3.0)
    decision = bandit.decide("ann", {"tea": [2.0, 3.0]})
    found = bandit.explain(decision)
    np.testing.assert_allclose(found.contributions, [2 * 5 / 3, 3 * 2 / 3])
    np.testing.assert_allclose(found.from_prior, [2.0, 0.0])
    np.testing.assert_allclose(found.from_rewards, [2 * 2 / 3, 3 * 2 / 3])
    np.testing.assert_allclose(found.mean, 16 / 3)
    # (I + xxᵀ)⁻¹ = I − xxᵀ/3, so ‖(2, 3)‖² = 13 − 25/3.
    np.testing.assert_allclose(found.width, np.sqrt(13 - 25 / 3))
    np.testing.assert_allclose(np.mean(found.interval), found.mean)
    np.testing.assert_allclose(np.diff(found.interval), 2 * 1.959964 * found.width, rtol=1e-6)
    assert (found.task, found.arm, found.names) == ("ann", "tea", ("price", "age"))
    assert str(found) == (
        "arm 'tea' for task 'ann': mean 5.333, 95 % interval [1.099, 9.567], width 2.16\n"
        "feature  value  contribution  from prior  from rewards\n"
        "price        2        +3.333          +2        +1.333\n"
        "age          3            +2          +0            +2\n"
        "sum                   +5.333          +2        +3.333"
    )
    assert bandit.explain(decision.id).arm is None
    assert bandit.explain(decision.id).mean == found.mean
    view = bandit.task("ann").explain([2.0, 3.0], arm="tea")
    assert str(view) == str(found)


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_contributions_add_up_to_the_mean(dimension: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bandit = hs.MetaBandit(dimension=dimension, seed=0)
    for user in range(3):
        for x in rng.standard_normal((5, dimension)):
            bandit.observe(user, x, float(rng.standard_normal()))
        if user < 2:
            bandit.finish(user)
    view, x = bandit.task(2), rng.standard_normal(dimension)
    found = view.explain(x)
    np.testing.assert_allclose(found.contributions.sum(), found.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.from_prior + found.from_rewards, found.contributions)
    np.testing.assert_allclose(found.from_prior.sum(), x @ view.estimate.prior.bias, atol=1e-12)
    np.testing.assert_allclose(found.interval, view.interval(x), rtol=1e-12)
    assert found.names == tuple(f"x{i + 1}" for i in range(dimension))


def test_the_names_are_those_of_the_columns() -> None:
    frame = pd.DataFrame({"price": [1.0, 2.0], "age": [0.0, 1.0]}, index=[501, 502])
    for arms in (frame, hs.Catalogue(frame)):
        bandit = hs.MetaBandit(dimension=2, seed=0)
        decision = bandit.decide("ann", arms)
        assert bandit.explain(decision).names == ("price", "age")
        assert bandit.task("ann").explain([1.0, 2.0]).names == ("price", "age")
    many = hs.MetaBandit(dimension=2, seed=0)
    decided = many.decide_many(["ann", "bob"], frame)
    assert many.explain(str(decided.ids[1])).task == "bob"
    assert many.explain(str(decided.ids[1])).names == ("price", "age")


def test_an_explanation_is_of_what_is_known_now() -> None:
    bandit = hs.MetaBandit(dimension=1, prior=hs.priors.Fixed.zero(), seed=0)
    decision = bandit.decide("ann", [[2.0]])
    assert bandit.explain(decision).mean == 0.0
    bandit.observe("ann", [1.0], 1.0)
    assert bandit.explain(decision).mean == 1.0
    bandit.reward(decision.id, 1.0)
    with pytest.raises(ValueError, match="must be pending"):
        bandit.explain(decision)
    with pytest.raises(ValueError, match=r"features must have shape \(d,\) = \(1,\)"):
        bandit.task("ann").explain([1.0, 2.0])


def test_a_table_shows_the_largest_contributions() -> None:
    bandit = hs.MetaBandit(
        dimension=30, prior=hs.priors.Fixed(bias=np.arange(30.0), regularization=1.0), seed=0
    )
    bandit.observe("ann", np.zeros(30), 0.0)
    text = str(bandit.task("ann").explain(np.ones(30)))
    lines = text.splitlines()
    assert lines[2].split()[:3] == ["x30", "1", "+29"]
    assert lines[-2].split()[:3] == ["10", "others", f"+{sum(range(10))}"]
    assert lines[-1].split()[:2] == ["sum", f"+{sum(range(30))}"]
    assert len({len(line) for line in lines[1:]}) == 1


def test_reprs_are_short_and_say_what_matters() -> None:
    bandit = hs.MetaBandit(dimension=3, policy=hs.policies.Uniform(), seed=0)
    arms = np.random.default_rng(0).standard_normal((1000, 3))
    decision = bandit.decide("ann", arms)
    many = bandit.decide_many([f"user-{i}" for i in range(100)], arms)
    for made, parts in (
        (decision, ["Decision(id=", "task='ann'", "propensity=0.001", "…"]),
        (many, ["Decisions(n=100", "'user-0'", "scores of shape (100, 1000)"]),
        (bandit.task("ann"), ["TaskView(task='ann'", "n_pending=1", "d=3"]),
        (hs.Catalogue(arms), ["Catalogue(1,000 items, d=3: 0, 1, 2, …)"]),
        (bandit.explain(decision), ["Explanation(task='ann'", "d=3"]),
    ):
        assert len(repr(made)) < 300
        for part in parts:
            assert part in repr(made)


@pytest.mark.parametrize("module", ["decision", "catalogue"])
def test_examples_in_docstrings_run(module: str) -> None:
    found: Any = doctest.testmod(importlib.import_module(f"headstart.live.{module}"))
    assert found.attempted > 0
    assert found.failed == 0


def test_parts_far_below_the_mean_are_shown_as_zero() -> None:
    prior = hs.priors.Fixed(bias=np.array([0.1, 1e-17]), regularization=1.0)
    bandit = hs.MetaBandit(dimension=2, prior=prior, seed=0)
    bandit.observe("ann", [0.0, 0.0], 0.0)
    text = str(bandit.task("ann").explain([1.0, 1.0]))
    assert [line.split()[2] for line in text.splitlines()[2:4]] == ["+0.1", "+0"]
