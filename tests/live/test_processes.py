"""Ids and draws across processes, forks, restarts and copies: no reward reaches another task."""

import copy
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.live.state import all_names, fingerprint, memory_state

import headstart as hs
from headstart.live import _fork
from headstart.live.outcomes import Outcome

pytestmark = pytest.mark.slow

ARMS = np.random.default_rng(0).standard_normal((4, 3))
SECONDS = 60.0


def used(**settings: Any) -> hs.MetaBandit:
    bandit = hs.MetaBandit(dimension=3, policy=hs.policies.Thompson(), seed=0, **settings)
    for user in ("ann", "bob"):
        bandit.reward(bandit.decide(user, ARMS).id, 1.0)
    return bandit


def in_child(work: Callable[[], object]) -> Any:
    """What a forked child returns, as JSON through a pipe; a child that hangs is an error."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(into, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(into)
    killer = threading.Timer(SECONDS, os.kill, (child, 9))
    killer.start()
    with os.fdopen(out, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    killer.cancel()
    assert status == 0, "the child did not end by itself"
    return json.loads(answer)


def decided(bandit: hs.MetaBandit, n: int = 5) -> list[tuple[str, float]]:
    decisions = [bandit.decide("ann", ARMS) for _ in range(n)]
    return [(each.id, float(each.scores[0])) for each in decisions]


def test_forked_children_give_ids_and_draws_of_their_own() -> None:
    bandit = used()
    found = [in_child(lambda: decided(bandit)) for _ in range(4)]
    found.append([list(each) for each in decided(bandit)])
    ids = [each for part in found for each, _ in part]
    draws = [draw for part in found for _, draw in part]
    assert len(set(ids)) == len(ids) == 25
    assert len(set(draws)) == len(draws)
    # What a child decided, the parent refuses, and the other way round.
    before = fingerprint(bandit)
    for each in ids[:20]:
        assert bandit.reward(each, 1.0) is Outcome.UNKNOWN
    assert fingerprint(bandit) == before
    later = decided(bandit)[0][0]
    assert in_child(lambda: bandit.reward(found[0][0][0], 1.0)) == "unknown"
    # What was decided before the fork, both may pay: to the task that decided it.
    assert in_child(lambda: [bandit.reward(later, 1.0), bandit.task("ann").n_rewards])[0] == "paid"
    assert bandit.reward(later, 1.0) is Outcome.PAID


def test_children_of_multiprocessing_do_too() -> None:
    bandit = used()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    workers = [context.Process(target=lambda: queue.put(decided(bandit))) for _ in range(3)]
    for worker in workers:
        worker.start()
    found = [each for _ in workers for each in queue.get(timeout=SECONDS)] + decided(bandit)
    for worker in workers:
        worker.join(SECONDS)
        assert worker.exitcode == 0
    assert len({each for each, _ in found}) == 20
    assert len({draw for _, draw in found}) == 20


@contextmanager
def busy(bandit: hs.MetaBandit) -> Iterator[None]:
    """A thread that is inside of the bandit nearly all of the time."""
    stop = threading.Event()

    def work() -> None:
        rng, i = np.random.default_rng(5), 0
        while not stop.is_set():
            name = f"user-{i % 50}"
            decision = bandit.decide(name, rng.standard_normal((20, 3)))
            bandit.reward(decision.id, 1.0)
            if i % 7 == 0:
                bandit.finish(name)
            i += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(SECONDS)


@pytest.mark.parametrize("refresh", ["inline", "background"])
def test_children_forked_while_a_thread_is_inside_do_not_hang(refresh: str) -> None:
    bandit = used(refresh=refresh)

    def work() -> list[object]:
        first, *_ = decided(bandit, 1)
        outcome = bandit.reward(first[0], 1.0)
        bandit.decide("new in the child", ARMS)
        bandit.next_prior()
        return [first[0], outcome, _counted(bandit)]

    with busy(bandit):
        found = [in_child(work) for _ in range(30)]
    assert len({each for each, *_ in found}) == 30
    assert all(outcome == "paid" and counted for _, outcome, counted in found)


def _counted(bandit: hs.MetaBandit) -> bool:
    """Whether the memory has every reward, once."""
    rewards = sum(bandit.task(name).n_rewards for name in all_names(bandit))
    return abs(memory_state(bandit).rounds - rewards) < 1e-6 * rewards


def test_threads_that_fork_at_the_same_time() -> None:
    bandit = used()
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(in_child(lambda: decided(bandit))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert len({each for part in found for each, _ in part}) == 20
    assert not _fork._held
    assert bandit.reward(bandit.decide("ann", ARMS).id, 1.0) is Outcome.PAID


def test_two_fresh_bandits_never_accept_each_others_ids() -> None:
    one, two = (hs.MetaBandit(dimension=3, seed=0) for _ in range(2))
    ids = [[bandit.decide(f"user-{i}", ARMS).id for i in range(50)] for bandit in (one, two)]
    assert not set(ids[0]) & set(ids[1])
    before = fingerprint(two)
    assert two.reward_many(ids[0], np.ones(50)) == [Outcome.UNKNOWN] * 50
    assert not any(map(two.cancel, ids[0]))
    assert fingerprint(two) == before


@pytest.mark.parametrize("copied", ["pickle", "deepcopy"])
def test_copies_give_ids_of_their_own_and_know_the_same(copied: str) -> None:
    bandit = used()
    waiting = bandit.decide("ann", ARMS)
    twin = pickle.loads(pickle.dumps(bandit)) if copied == "pickle" else copy.deepcopy(bandit)
    assert fingerprint(twin)[:-1] == fingerprint(bandit)[:-1]
    ids = [{each for each, _ in decided(one)} for one in (bandit, twin)]
    assert not ids[0] & ids[1]
    for one in (bandit, twin):
        assert one.reward(waiting.id, 1.0) is Outcome.PAID
        assert one.task("ann").n_rewards == 2


def test_an_id_from_before_a_crash_pays_its_own_decision_or_none(tmp_path: Path) -> None:
    """What was decided after the last save is unknown after the restart, whatever came since."""
    path = tmp_path / "bandit.npz"
    bandit = hs.MetaBandit(dimension=3, seed=0)
    kept = bandit.decide("ann", ARMS)
    bandit.save(path)
    lost = [bandit.decide("bob", ARMS) for _ in range(20)]
    restarted = hs.MetaBandit.load(path, resume=True)
    fresh = [restarted.decide("cid", ARMS) for _ in range(40)]
    assert not {each.id for each in fresh} & {each.id for each in [kept, *lost]}
    before = fingerprint(restarted)
    assert {restarted.reward(each.id, 5.0) for each in lost} == {Outcome.UNKNOWN}
    assert fingerprint(restarted) == before
    assert restarted.reward(kept.id, 5.0) is Outcome.PAID
    assert restarted.task("ann").n_rewards == 1
    assert restarted.task("cid").n_rewards == 0
    # Once more: an id that was paid before the next save is a duplicate after it.
    restarted.save(path)
    again = hs.MetaBandit.load(path, resume=True)
    assert again.reward(kept.id, 5.0) is Outcome.DUPLICATE
    assert again.reward(fresh[0].id, 1.0) is Outcome.PAID
    assert again.task("cid").n_rewards == 1


def test_processes_of_the_same_file_give_different_ids(tmp_path: Path) -> None:
    path = tmp_path / "bandit.npz"
    used().save(path)
    code = (
        "import sys, numpy as np, headstart as hs\n"
        "bandit = hs.MetaBandit.load(sys.argv[1], resume=True)\n"
        "print(*[bandit.decide('ann', np.eye(3)).id for _ in range(10)])\n"
    )
    ids: list[str] = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
        )
        ids += done.stdout.split()
    assert len(set(ids)) == 20


def test_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "bandit.npz"
    used().save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["bandit.npz"]


@pytest.mark.parametrize(
    "array", ["rows", "finished", "pending_features", "memory.gram", "memory.moment"]
)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_file_with_numbers_that_are_not_finite_is_refused(
    array: str, bad: float, tmp_path: Path
) -> None:
    bandit = hs.MetaBandit(dimension=3, prior=hs.priors.Pooled(within_task=False), seed=0)
    for user in ("ann", "bob"):
        bandit.reward(bandit.decide(user, ARMS).id, 1.0)
    bandit.decide("ann", ARMS)
    bandit.finish("bob")
    path = tmp_path / "bandit.npz"
    bandit.save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays[array].flat[0] = bad
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=f"{array} must be finite"):
        hs.MetaBandit.load(path)


def test_a_file_whose_weights_are_not_finite_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bandit.npz"
    used().save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays["header"].tobytes())
    header["state"]["weight"] = float("nan")
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="the state must be finite"):
        hs.MetaBandit.load(path)
