"""Many decisions at once: the same as one by one, for any arms and masks; all of them or none."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.live.state import fingerprint
from tests.live.test_exploration import Softmax

import headstart as hs
from headstart.live import _chooser
from headstart.live.inputs import Name

DIMENSION = 3
NAMES: list[Name] = ["ann", "bob", 3]


def made(policy: Any = None, **options: Any) -> hs.MetaBandit:
    # A prior that learns nothing: one by one, a task would see what the one before it learned.
    prior = hs.priors.Fixed.zero()
    bandit = hs.MetaBandit(dimension=DIMENSION, policy=policy, prior=prior, seed=5, **options)
    rng = np.random.default_rng(0)
    for x in rng.standard_normal((4, DIMENSION)):
        bandit.observe("bob", x, float(rng.standard_normal()))
    return bandit


def draw(n_arms: int, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal((n_arms, DIMENSION))


def named(n_arms: int, seed: int) -> dict[str, Any]:
    return {f"item-{k}": x for k, x in enumerate(draw(n_arms, seed))}


def frame(n_arms: int, seed: int) -> pd.DataFrame:
    index = range(500, 500 - n_arms, -1)
    return pd.DataFrame(draw(n_arms, seed), index=list(index), columns=["a", "b", "c"])


CATALOGUE = hs.Catalogue(named(6, 9))
CATALOGUE.remove("item-2")
FRAME = frame(4, 3)

# Arms for all tasks, or one decision set each.
ARMS: dict[str, Any] = {
    "(n, K, d)": np.stack([draw(4, i) for i in range(3)]),
    "(n, K, d) in single precision": np.stack([draw(4, i) for i in range(3)]).astype(np.float32),
    "nested lists": [draw(4, i).tolist() for i in range(3)],
    "(K, d)": draw(4, 0),
    "mapping": named(4, 1),
    "frame": FRAME,
    "Polars": pl.DataFrame(draw(4, 0), schema=["a", "b", "c"], orient="row"),
    "catalogue": CATALOGUE,
    "ragged": [draw(2, 0), draw(5, 1), draw(1, 2)],
    "ragged lists": [draw(2, 0).tolist(), draw(5, 1).tolist(), draw(1, 2).tolist()],
    "mixed": [named(2, 0), frame(4, 1), CATALOGUE],
    "the same": [FRAME, frame(2, 2), FRAME],
    "tuple": (draw(2, 0), named(3, 1), draw(4, 1)),
}


@pytest.mark.parametrize("exploration", [0.0, 0.5])
@pytest.mark.parametrize(
    "policy",
    [None, hs.policies.Uniform(), hs.policies.Thompson(), Softmax()],
    ids=lambda p: type(p).__name__,
)
@pytest.mark.parametrize("arms", ARMS.values(), ids=list(ARMS))
def test_many_equal_one_by_one(
    arms: Any, policy: Any, exploration: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_chooser, "DRAWS", 4)
    at_once, one_by_one = (made(policy, exploration=exploration) for _ in range(2))
    for _ in range(3):
        decided = at_once.decide_many(NAMES, arms)
        assert decided.tasks == tuple(NAMES)
        each = isinstance(arms, list | tuple) or np.ndim(arms) == 3
        for i, name in enumerate(NAMES):
            decision = one_by_one.decide(name, arms[i] if each else arms)
            assert decision.arm == decided.arms[i]
            assert decision.arm_index == decided.arm_indices[i]
            n_arms = len(decision.scores)
            np.testing.assert_allclose(decision.scores, decided.scores[i, :n_arms], rtol=1e-12)
            assert (decided.scores[i, n_arms:] == -np.inf).all()
            np.testing.assert_allclose(decision.propensity, decided.propensities[i], rtol=1e-12)
            one_by_one.reward(decision.id, 0.5 * i)
        at_once.reward_many(decided.ids, 0.5 * np.arange(3))
    for name in NAMES:
        ours, theirs = (bandit.task(name).estimate for bandit in (at_once, one_by_one))
        np.testing.assert_allclose(ours.parameter, theirs.parameter, rtol=1e-9)


MASKS: dict[str, tuple[Any, list[Any]]] = {
    "booleans for all": ([True, False, True, False], [{0, 2}] * 3),
    "ids for all": ({1, 2}, [{1, 2}] * 3),
    "(n, K)": (np.array([[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]]), [{0}, {1, 2}, {3}]),
    "one each": ([None, {3}, [0, 0, 1, 1]], [{0, 1, 2, 3}, {3}, {2, 3}]),
    "mappings": ([{k: k > i for k in range(4)} for i in range(3)], [{1, 2, 3}, {2, 3}, {3}]),
}


@pytest.mark.parametrize("policy", [None, hs.policies.Thompson()], ids=lambda p: type(p).__name__)
@pytest.mark.parametrize(("mask", "allowed"), MASKS.values(), ids=list(MASKS))
@pytest.mark.parametrize("arms", ["(n, K, d)", "(K, d)", "Polars", "items"])
def test_masks_for_all_or_for_each(arms: str, mask: Any, allowed: Any, policy: Any) -> None:
    given = hs.Catalogue(draw(4, 0)) if arms == "items" else ARMS[arms]
    decided = made(policy).decide_many(NAMES, given, mask=mask)
    for i, eligible in enumerate(allowed):
        assert set(np.flatnonzero(decided.scores[i] > -np.inf)) == eligible
        assert decided.arm_indices[i] in eligible


@pytest.mark.parametrize("policy", [None, hs.policies.Thompson()], ids=lambda p: type(p).__name__)
def test_a_masked_decision_is_one_among_what_the_mask_leaves(policy: Any) -> None:
    """Other arms change nothing: not the scores, not how many arms are explored among."""
    arms, left = draw(9, 0), [2, 5, 8]
    one, other = made(policy), made(policy)
    masked, alone = one.decide(NAMES[0], arms, mask=set(left)), other.decide(NAMES[0], arms[left])
    np.testing.assert_array_equal(masked.scores[left], alone.scores)
    assert np.isneginf(np.delete(masked.scores, left)).all()
    assert masked.arm_index == masked.arm == left[alone.arm_index]
    assert masked.propensity == alone.propensity
    both = one.decide_many(NAMES, arms, mask=set(left)), other.decide_many(NAMES, arms[left])
    np.testing.assert_array_equal(both[0].scores[:, left], both[1].scores)
    assert both[0].arm_indices.tolist() == [left[i] for i in both[1].arm_indices]
    chances = one.propensities(NAMES[1], arms, mask=set(left))
    np.testing.assert_array_equal(chances[left], other.propensities(NAMES[1], arms[left]))
    assert chances.shape == (9,)


def test_masks_of_ragged_sets() -> None:
    arms = ARMS["mixed"]
    decided = made().decide_many(NAMES, arms, mask=[None, [500, 498], {"item-5"}])
    assert decided.arms[1] in (500, 498)
    assert decided.arms[2] == "item-5"
    # Tuples are ids, those of a MultiIndex.
    double = FRAME.set_axis(pd.MultiIndex.from_product([["x", "y"], [1, 2]]))
    decided = made().decide_many(NAMES, double, mask=[("x", 2), ("y", 1)])
    assert set(decided.arms) <= {("x", 2), ("y", 1)}


BAD: dict[str, tuple[Any, Any, Any, str]] = {
    "a name": (["ann", "bob", 1.0], draw(2, 0), None, "string or an integer, got 1.0"),
    "a name twice": (["ann", "bob", "ann"], draw(2, 0), None, "more than once"),
    "too few sets": (NAMES, [draw(2, 0), named(2, 0)], None, "n = 3 of them, got 2"),
    "a shape": (NAMES, np.zeros((2, 4, DIMENSION)), None, r"\(n, K, d\) = \(3, 1 or more, 3\)"),
    "no arms": (NAMES, np.zeros((3, 0, DIMENSION)), None, r"\(n, K, d\) = \(3, 1 or more, 3\)"),
    "a ragged set": (NAMES, [draw(2, 0), draw(3, 0), draw(3, 0)[:, :2]], None, r"arms\[2\] must"),
    "an empty set": (
        NAMES,
        [draw(2, 0), {}, draw(3, 0)],
        None,
        r"arms\[1\] must be 1 or more rows",
    ),
    "nan": (NAMES, [draw(2, 0), draw(1, 0) * np.nan, draw(3, 0)], None, r"arms\[1\] must be fin"),
    "nan in an array": (NAMES, ARMS["(n, K, d)"] * np.nan, None, r"arms\[0\] must be finite"),
    "too large": (NAMES, [draw(2, 0), draw(3, 0), draw(1, 0) * 1e30], None, r"arms\[2\] must not"),
    "a mask": (NAMES, draw(2, 0), [None, None, [False, False]], "at least one arm"),
    "masks": (NAMES, draw(2, 0), [None, None], "n = 3 of them, got 2"),
    "an id": (NAMES, ARMS["mixed"], [None, None, {"item-2"}], "ids of the arms, got 'item-2'"),
    "a column": (NAMES, [FRAME, FRAME, FRAME.assign(c="x")], None, "'c' of type"),
    "text": (NAMES, "arms", None, "array of numbers"),
}


@pytest.mark.parametrize(
    "policy",
    [None, hs.policies.Uniform(), hs.policies.Thompson()],
    ids=lambda p: type(p).__name__,
)
@pytest.mark.parametrize(("names", "arms", "mask", "message"), BAD.values(), ids=list(BAD))
def test_one_bad_entry_changes_nothing(
    names: Any, arms: Any, mask: Any, message: str, policy: Any
) -> None:
    bandit = made(policy)
    bandit.next_prior()  # opening a task brings the memory up to date, whatever becomes of the call
    before = fingerprint(bandit)
    with pytest.raises(ValueError, match=message):
        bandit.decide_many(names, arms, mask=mask)
    assert fingerprint(bandit) == before
    # No id was used up.
    ids = [one.decide_many(NAMES, draw(2, 0)).ids.tolist() for one in (bandit, made(policy))]
    # The first 16 digits are the origin, which every bandit has its own of.
    assert [each[16:] for each in ids[0]] == [each[16:] for each in ids[1]]


def test_no_tasks_are_fine() -> None:
    kinds: list[Any] = [np.zeros((0, 4, DIMENSION)), draw(4, 0), [], CATALOGUE]
    for arms in kinds:
        decided = made().decide_many([], arms)
        assert (decided.tasks, decided.arms, len(decided.ids)) == ((), (), 0)
    assert made().tasks() == ["bob"]


@settings(max_examples=40)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_ragged_sets_of_any_sizes(sizes: list[int], seed: int) -> None:
    arms = [draw(size, seed + i) for i, size in enumerate(sizes)]
    names: list[Name] = list(range(len(sizes)))
    decided = made().decide_many(names, arms)
    assert decided.scores.shape == (len(sizes), max(sizes))
    bandit = made()
    for i, name in enumerate(names):
        decision = bandit.decide(name, arms[i])
        np.testing.assert_array_equal(decided.scores[i, : sizes[i]], decision.scores)
        assert decision.arm_index == decided.arm_indices[i]


def test_many_draws_of_many_tasks_are_scored_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """More numbers than one block holds, and still those of one decision after the other."""
    monkeypatch.setattr(_chooser, "DRAWS", 6000)
    names: list[Name] = list(range(40))
    arms = draw(5, 0)
    at_once, one_by_one = (
        hs.MetaBandit(dimension=DIMENSION, policy=hs.policies.Thompson(), seed=0) for _ in range(2)
    )
    decided = at_once.decide_many(names, arms)
    for i in [0, 1, 2, 37, 38, 39]:
        if i == 37:  # skip to where the last three begin
            for j in range(3, 37):
                one_by_one.decide(j, arms)
        decision = one_by_one.decide(i, arms)
        assert (decision.arm, decision.propensity) == (decided.arms[i], decided.propensities[i])
