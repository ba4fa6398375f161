"""Kinds of tasks in live use: what is found of them, in whose names, and what it survives."""

import copy
import io
from pathlib import Path

import numpy as np
import pytest

import headstart as hs
from headstart.arrays import Floats
from headstart.live import TaskKinds

FEATURES = hs.Features(
    item=[hs.Category("brand", levels=["acme", "zeta"]), hs.Number("price", mean=10.0, scale=5.0)]
)


def _taught(bandit: hs.MetaBandit, *, n_tasks: int = 24, kinds: int = 3) -> hs.MetaBandit:
    """Users who like one brand, the other, or what is dear: in turn, with nine rewards each."""
    rng = np.random.default_rng(0)
    for user in range(n_tasks):
        for _ in range(9):
            brand, price = str(rng.choice(["acme", "zeta"])), float(rng.normal(10, 5))
            likes = (brand == "acme", brand == "zeta", (price - 10.0) / 5.0)
            value = 3.0 * float(likes[user % kinds]) + rng.normal(0, 0.2)
            bandit.observe(user, {"brand": brand, "price": price}, value)
    return bandit


@pytest.fixture(scope="module")
def bandit() -> hs.MetaBandit:
    return _taught(hs.MetaBandit(features=FEATURES, seed=0))


def test_kinds_have_shares_means_and_tasks_in_the_words_of_attributes(
    bandit: hs.MetaBandit,
) -> None:
    found = bandit.kinds()
    assert len(found) == 3
    assert sum(kind.share for kind in found) == pytest.approx(1.0)
    np.testing.assert_allclose([kind.share for kind in found], 1 / 3, atol=0.01)
    assert 0.0 < found.unseen < 0.1
    members = {min(kind.tasks): sorted(kind.tasks) for kind in found}
    assert members == {k: list(range(k, 24, 3)) for k in range(3)}
    assert min(min(kind.tasks.values()) for kind in found) > 0.9
    largest = {min(kind.tasks): parts for kind, parts in zip(found, found.distinctive, strict=True)}
    name, gap = largest[2][0]
    assert name == "price"
    assert gap == pytest.approx(2.0, abs=0.3)
    names = {name for name, gap in largest[0] if gap > 0.5}
    assert names == {"brand=acme"}
    for name in ("brand=acme", "price"):
        assert name in str(found)


def test_some_tasks_can_be_asked_for(bandit: hs.MetaBandit) -> None:
    found = bandit.kinds([4, 5])
    assert sorted(task for kind in found for task in kind.tasks) == [4, 5]
    with pytest.raises(ValueError, match="task must be the name of an open or a finished task"):
        bandit.kinds(["nobody"])


def test_a_new_task_finds_its_kind_by_few_rewards(bandit: hs.MetaBandit) -> None:
    another = copy.deepcopy(bandit)
    another.observe("new", {"brand": "zeta", "price": 10.0}, 3.0)
    item = {"brand": "acme", "price": 10.0}
    low, high = another.task("new").interval(item)
    assert -1.5 < low < high < 1.5  # who likes zeta does not like acme
    found = another.kinds(["new"])
    (likely,) = (kind for kind in found if kind.tasks)
    assert found.feature_names[int(likely.mean.argmax())] == "brand=zeta"


def _means(found: TaskKinds) -> Floats:
    return np.array([kind.mean for kind in found])


def test_a_file_keeps_kinds_and_an_earlier_one_has_none(
    bandit: hs.MetaBandit, tmp_path: Path
) -> None:
    path = tmp_path / "bandit.npz"
    bandit.save(path)
    same = hs.MetaBandit.load(path)
    np.testing.assert_array_equal(_means(same.kinds()), _means(bandit.kinds()))
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if "kind_" not in name}
    old = io.BytesIO()
    np.savez(old, allow_pickle=False, **arrays)
    path.write_bytes(old.getvalue())
    earlier = hs.MetaBandit.load(path)
    assert len(earlier.kinds()) == 1
    for user in range(100, 108):  # the next fit finds them again
        earlier.observe(user, {"brand": "acme", "price": 0.0}, 3.0)
    assert len(earlier.kinds()) > 1


def test_tasks_that_are_alike_are_of_one_kind() -> None:
    alike = _taught(hs.MetaBandit(features=FEATURES, seed=0), n_tasks=12, kinds=1)
    found = alike.kinds()
    assert len(found) == 1
    assert found.unseen == 0.0
    assert found[0].share == 1.0
    np.testing.assert_array_equal(found[0].mean, alike.next_prior().bias)
    assert found[0].tasks == dict.fromkeys(range(12), 1.0)
    plain = hs.MetaBandit(dimension=2, prior=hs.priors.Fixed.zero())
    assert str(plain.kinds()) == "one kind of tasks: 0 are known"
