"""Catalogue: the same scores as reading all items, whatever items and rewards came."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headstart as hs

DIMENSION = 4
MOVES = st.lists(
    st.sampled_from(["reward", "late", "add", "remove", "change", "other"]), max_size=25
)


@settings(max_examples=60)
@given(MOVES, st.integers(0, 2**32 - 1))
def test_a_catalogue_scores_like_an_array(moves: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    items = {f"item-{i}": rng.standard_normal(DIMENSION) for i in range(6)}
    catalogue = hs.Catalogue(items)
    bandit = hs.MetaBandit(dimension=DIMENSION, policy=hs.policies.OFUL(), seed=0)
    late = []
    for step, move in enumerate(moves):
        if move == "add":
            items[f"new-{step}"] = rng.standard_normal(DIMENSION)
            assert catalogue.add({f"new-{step}": items[f"new-{step}"]}) == [f"new-{step}"]
        elif move == "remove" and len(items) > 1:
            name = list(items)[int(rng.integers(len(items)))]
            del items[name]
            catalogue.remove(name)
        elif move == "change":
            name = list(items)[int(rng.integers(len(items)))]
            items[name] = rng.standard_normal(DIMENSION)
            catalogue.change(name, items[name])
        elif move == "other":
            bandit.reward(bandit.decide("other", catalogue).id, 1.0)
        decision = bandit.decide("user", catalogue)
        dense = bandit.decide("user", items)
        expected = dict(zip(items, dense.scores, strict=True))
        found = dict(zip(catalogue.ids, decision.scores, strict=True))
        assert found.keys() == expected.keys()
        for item, score in found.items():
            np.testing.assert_allclose(score, expected[str(item)], rtol=1e-9, atol=1e-10)
        assert decision.arm in items
        late.append(decision.id)
        if move == "reward":
            bandit.reward(late.pop(), float(rng.standard_normal()))
        elif move == "late":
            bandit.reward(late.pop(0), float(rng.standard_normal()))
    assert len(catalogue) == len(items)


@pytest.mark.parametrize(
    ("policy", "prior", "discount"),
    [
        (hs.policies.Thompson(), hs.priors.Hierarchical(), 1.0),
        (hs.policies.OFUL(), hs.priors.Pooled(), 1.0),
        (hs.policies.BayesUCB(), hs.priors.Hierarchical(), 0.9),
    ],
)
def test_where_nothing_can_be_kept_all_items_are_read(
    policy: hs.policies.OFUL, prior: hs.priors.Pooled, discount: float
) -> None:
    items = np.random.default_rng(0).standard_normal((5, DIMENSION))
    ours, theirs = (
        hs.MetaBandit(dimension=DIMENSION, policy=policy, prior=prior, discount=discount, seed=0)
        for _ in range(2)
    )
    catalogue = hs.Catalogue(items)
    for _ in range(5):
        a, b = ours.decide("user", catalogue), theirs.decide("user", items)
        np.testing.assert_array_equal(a.scores, b.scores)
        ours.reward(a.id, 1.0)
        theirs.reward(b.id, 1.0)


def test_widths_stay_right_over_many_rewards() -> None:
    """3,000 rewards along two directions: what is left of their widths is small, and right."""
    rng = np.random.default_rng(0)
    items = rng.standard_normal((20, DIMENSION))
    catalogue = hs.Catalogue(items)
    bandit = hs.MetaBandit(dimension=DIMENSION, prior=hs.priors.Fixed.zero(), seed=0)
    bandit.decide("user", catalogue)
    for i in range(3000):
        bandit.observe("user", items[i % 2], float(rng.standard_normal()))
        if i % 100 == 0:
            bandit.decide("user", catalogue)
    scores = bandit.decide("user", catalogue).scores
    np.testing.assert_allclose(scores, bandit.decide("user", items).scores, rtol=1e-9)


def test_a_catalogue_whose_items_are_replaced_does_not_grow() -> None:
    catalogue = hs.Catalogue({"first": [1.0, 0.0]})
    bandit = hs.MetaBandit(dimension=2, seed=0)
    for i in range(50):
        catalogue.add({i: [0.0, 1.0]})
        catalogue.remove(i)
    assert bandit.decide("user", catalogue).scores.shape == (1,)
    assert catalogue.ids == ("first",)


def test_items_without_ids_never_share_one() -> None:
    catalogue = hs.Catalogue(np.eye(2))
    catalogue.remove(1)
    assert catalogue.add(np.eye(2)) == [2, 3]
    assert catalogue.ids == (0, 2, 3)


def test_items_replaced_before_the_schema_is_settled_are_encoded_by_it() -> None:
    features = hs.Features(item=[hs.Number("price")])
    catalogue = hs.Catalogue({"tea": {"price": 3.0}, "rum": {"price": 20.0}}, features=features)
    catalogue.add({"gin": {"price": 30.0}, "ale": {"price": 5.0}})
    catalogue.change("rum", {"price": 40.0})
    catalogue.remove("gin")
    catalogue.add({"gin": {"price": 10.0}})
    settled = features.settled(items=[{"price": 1.0}, {"price": 2.0}])
    bandit = hs.MetaBandit(features=settled, policy=hs.policies.Greedy(), seed=0)
    bandit.observe("user", {"price": 1.0}, 1.0)
    prices = {"tea": 3.0, "rum": 40.0, "ale": 5.0, "gin": 10.0}
    items = {name: {"price": price} for name, price in prices.items()}
    expected = dict(zip(items, bandit.decide("user", items).scores, strict=True))
    found = dict(zip(catalogue.ids, bandit.decide("user", catalogue).scores, strict=True))
    assert found == pytest.approx(expected)


def test_items_may_change_while_others_decide() -> None:
    """Every decision is among the items of one moment: their ids, features and scores belong."""
    catalogue = hs.Catalogue({i: [float(i), 1.0] for i in range(5)})
    bandit = hs.MetaBandit(dimension=2, policy=hs.policies.Greedy(), seed=0)
    bandit.observe("user", [1.0, 0.0], 1.0)
    done = threading.Event()

    def change() -> None:
        for i in range(5, 400):
            catalogue.add({i: [float(i), 1.0]})
            catalogue.remove(i - 3)
        done.set()

    thread = threading.Thread(target=change)
    thread.start()
    while not done.is_set():
        decision = bandit.decide("user", catalogue)
        # The mean grows with the number, so the newest item is the best.
        assert decision.arm_index == len(decision.scores) - 1
        assert isinstance(decision.arm, int)
        slope = bandit.task("user").estimate.predict(np.array([[float(decision.arm), 1.0]]))
        np.testing.assert_allclose(decision.scores[-1], slope[0])
    thread.join()


def test_what_is_not_there_is_named() -> None:
    catalogue = hs.Catalogue(np.eye(DIMENSION))
    with pytest.raises(ValueError, match="in the catalogue: 9"):
        catalogue.remove(9)
    with pytest.raises(ValueError, match="shape"):
        catalogue.change(0, [1.0])
    with pytest.raises(ValueError, match=r"new items, .*'a'"):
        hs.Catalogue({"a": [1.0]}).add({"a": [2.0]})
    bandit = hs.MetaBandit(dimension=DIMENSION + 1)
    with pytest.raises(ValueError, match="the catalogue must have shape"):
        bandit.decide("user", catalogue)
    assert bandit.tasks() == []
