"""BLAS has one thread while a large product of live use lasts, and then as many as before."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

import headstart as hs
from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates
from headstart.live._blas import OneBlasThread, is_shared, one_blas_thread


def n_threads() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """Set, and not held: a limit that another thread holds is not changed."""
    with one_blas_thread:  # its libraries are loaded now, so that they have the number, too
        pass
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    before = [library.get_num_threads() for library in libraries]
    for numbers in ([2] * len(before), before):
        for library, number in zip(libraries, numbers, strict=True):
            library.set_num_threads(number)
            library.clear_controlling_thread()
        if numbers is not before:
            assert n_threads() == {2}
            yield


def test_a_limit_of_another_thread_stays() -> None:
    with threadpool_limits(3, "blas"), ThreadPoolExecutor(1) as pool:

        def enter() -> None:
            with one_blas_thread:
                pass

        pool.submit(enter).result()
        assert n_threads() == {3}
    assert n_threads() == {2}


def test_contexts_of_many_threads_overlap() -> None:
    barrier = Barrier(4, timeout=60)

    def work(_: int) -> set[int]:
        barrier.wait()
        seen: set[int] = set()
        for _ in range(50):
            with one_blas_thread, one_blas_thread:
                seen |= n_threads()
        return seen

    with ThreadPoolExecutor(4) as pool:
        assert set.union(*pool.map(work, range(4))) == {1}
    assert n_threads() == {2}
    with pytest.raises(RuntimeError), one_blas_thread:
        raise RuntimeError
    assert n_threads() == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_inside_does_not_last_in_the_child() -> None:
    with one_blas_thread:
        child = os.fork()
        if child == 0:
            try:
                outside = n_threads()
                with one_blas_thread:
                    inside = n_threads()
                os._exit(0 if (outside, inside, n_threads()) == ({2}, {1}, {2}) else 1)
            except BaseException:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0


class Looking:
    """A policy that notes how many threads it could use."""

    def __init__(self) -> None:
        self.seen: list[set[int]] = []

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        return 1

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        self.seen.append(n_threads())
        return estimates.predictions


def test_policies_are_called_with_one_thread() -> None:
    policy = Looking()
    bandit = hs.MetaBandit(dimension=3, policy=policy, seed=0)
    bandit.decide("user", np.eye(3))
    bandit.decide_many(["user", "other"], np.eye(3))
    bandit.propensities("user", np.eye(3))
    assert len(policy.seen) == 4
    assert all(seen == {1} for seen in policy.seen)
    assert n_threads() == {2}


@pytest.mark.parametrize(("dimension", "n_arms"), [(100, 30), (128, 1)])
def test_large_products_are_limited(
    dimension: int, n_arms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[int] = []
    before = OneBlasThread.__enter__

    def noted(self: Any) -> None:
        entered.append(1)
        before(self)

    arms = np.random.default_rng(0).standard_normal((n_arms, dimension))
    small = hs.MetaBandit(dimension=8, seed=0)
    small.decide("user", np.ones((2, 8)))
    large = hs.MetaBandit(dimension=dimension, prior=hs.priors.Fixed.zero(), seed=0)
    large.decide("user", arms)
    monkeypatch.setattr(OneBlasThread, "__enter__", noted)
    small.decide("user", np.ones((2, 8)))
    assert not entered
    large.decide("user", arms)
    assert len(entered) == 1
    large.decide_many(["user"], arms)
    assert len(entered) == 2
    large.decide("user", hs.Catalogue(arms))
    assert len(entered) == 3
    assert is_shared(n_arms, dimension)
    assert n_threads() == {2}
