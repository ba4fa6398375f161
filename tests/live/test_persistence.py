"""Files: exact, atomic, versioned, free of code; and threads that share a bandit."""

import copy
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.live.state import fingerprint

import headstart as hs
from headstart.live.outcomes import Outcome

pytestmark = pytest.mark.slow


def used(policy: Any = None, prior: Any = None, **settings: Any) -> hs.MetaBandit:
    """A bandit with finished tasks, open ones, and pending decisions."""
    bandit = hs.MetaBandit(dimension=4, policy=policy, prior=prior, seed=3, **settings)
    rng = np.random.default_rng(1)
    for user in range(6):
        for _ in range(5):
            decision = bandit.decide(f"user-{user}", rng.standard_normal((3, 4)))
            bandit.reward(decision.id, float(rng.standard_normal()))
        bandit.decide(f"user-{user}", rng.standard_normal((3, 4)))
        if user < 4:
            bandit.finish(f"user-{user}")
    return bandit


@pytest.mark.parametrize(
    "policy",
    [
        hs.policies.OFUL(bias_error=hs.policies.NormBound(parameter_bound=2.0)),
        hs.policies.Thompson(),
        hs.policies.BayesUCB(z=2.0),
    ],
    ids=lambda policy: type(policy).__name__,
)
@pytest.mark.parametrize(
    "prior",
    [
        hs.priors.Hierarchical(),
        hs.priors.Hierarchical(covariance="isotropic"),
        hs.priors.Average(regularization=np.diag([1.0, 2.0, 3.0, 4.0])),
        hs.priors.Fixed(bias=[1.0, 0.5, 0.25, 0.1]),
    ],
    ids=range(4),
)
def test_a_loaded_bandit_does_the_same(policy: Any, prior: Any, tmp_path: Path) -> None:
    bandit = used(policy, prior)
    bandit.save(tmp_path / "bandit.npz")
    loaded = hs.MetaBandit.load(tmp_path / "bandit.npz", resume=True)
    assert fingerprint(loaded) == fingerprint(bandit)
    rng = np.random.default_rng(9)
    for name in ("user-5", "new"):
        arms = rng.standard_normal((4, 4))
        ours, theirs = bandit.decide(name, arms), loaded.decide(name, arms)
        np.testing.assert_array_equal(ours.scores, theirs.scores)
        assert ours[1:4] == theirs[1:4]
        assert ours.id != theirs.id
        bandit.reward(ours.id, 1.0)
        loaded.reward(theirs.id, 1.0)
    assert fingerprint(loaded, ids=False) == fingerprint(bandit, ids=False)


def test_two_copies_do_not_explore_in_lock_step(tmp_path: Path) -> None:
    used(hs.policies.Thompson()).save(tmp_path / "bandit.npz")
    first, second = (hs.MetaBandit.load(tmp_path / "bandit.npz") for _ in range(2))
    arms = np.random.default_rng(0).standard_normal((5, 4))
    scores = [[b.decide("user-5", arms).scores[0] for _ in range(20)] for b in (first, second)]
    assert not np.isin(scores[0], scores[1]).any()
    # What one copy decided, the other does not know.
    before = fingerprint(second)
    assert second.reward(first.decide("user-4", arms).id, 1.0) is Outcome.UNKNOWN
    assert fingerprint(second) == before


def test_settings_come_back(tmp_path: Path) -> None:
    bandit = used(
        idle_seconds=1e9,
        discount=0.9,
        deadline_seconds=60.0,
        default_reward=0.5,
        reward_range=(-9.0, 9.0),
        half_life_seconds=40.0,
        exploration=0.1,
        scales=None,
        refresh="background",
    )
    bandit.save(tmp_path / "bandit.npz")
    loaded = hs.MetaBandit.load(tmp_path / "bandit.npz")
    assert loaded.settings == bandit.settings


def test_load_refreshes_by_its_own_seed_unless_refresh_was_set(tmp_path: Path) -> None:
    path = tmp_path / "bandit.npz"
    for seed in (None, 0):
        hs.MetaBandit(dimension=2, seed=seed).save(path)
        assert hs.MetaBandit.load(path).settings.refresh == "background"
        assert hs.MetaBandit.load(path, seed=1).settings.refresh == "inline"
        assert hs.MetaBandit.load(path, seed=1, refresh="background").settings.refresh == (
            "background"
        )
        goes_on = hs.MetaBandit.load(path, resume=True).settings
        assert goes_on.refresh == ("background" if seed is None else "inline")
        assert goes_on.refresh_by_seed
        hs.MetaBandit.load(path, seed=1).save(path)  # and so on
        assert hs.MetaBandit.load(path).settings.refresh == "background"
    for refresh in ("background", "inline"):
        hs.MetaBandit(dimension=2, seed=0, refresh=refresh).save(path)
        for given in (None, 1):
            assert hs.MetaBandit.load(path, seed=given).settings.refresh == refresh
        assert hs.MetaBandit.load(path, seed=1, refresh=None).settings.refresh == "inline"
    assert copy.deepcopy(hs.MetaBandit(dimension=2, seed=0)).settings.refresh == "inline"


def test_load_changes_what_may_be_changed(tmp_path: Path) -> None:
    used().save(tmp_path / "bandit.npz")
    changes: dict[str, Any] = {
        "idle_seconds": 9.0,
        "reward_range": (0.0, 1.0),
        "refresh": "background",
    }
    settings = hs.MetaBandit.load(tmp_path / "bandit.npz", **changes).settings
    assert {name: getattr(settings, name) for name in changes} == changes
    with pytest.raises(ValueError, match="discount"):
        hs.MetaBandit.load(tmp_path / "bandit.npz", discount=0.5)


@dataclass(frozen=True)
class Mine:
    """A policy of one's own."""

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        return 0

    def scores(self, estimates: Any, uniforms: Any) -> Any:
        return estimates.predictions


def test_a_policy_outside_of_headstart_must_be_given(tmp_path: Path) -> None:
    bandit = used(Mine())
    bandit.save(tmp_path / "bandit.npz")
    with pytest.raises(ValueError, match="not part of headstart"):
        hs.MetaBandit.load(tmp_path / "bandit.npz")
    loaded = hs.MetaBandit.load(tmp_path / "bandit.npz", policy=Mine(), resume=True)
    assert fingerprint(loaded) == fingerprint(bandit)


def test_what_is_not_ours_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bandit.npz"
    path.write_bytes(b"not a file of ours")
    with pytest.raises(ValueError, match="that save wrote"):
        hs.MetaBandit.load(path)
    np.savez(path, other=np.zeros(3))
    with pytest.raises(ValueError, match="without header"):
        hs.MetaBandit.load(path)
    for version in (99, 4, 0, None):
        header = np.frombuffer(json.dumps({"format": version}).encode(), dtype=np.uint8)
        np.savez(path, header=header)
        with pytest.raises(ValueError, match=f"format 1.*got {version}"):
            hs.MetaBandit.load(path)
    used().save(path)
    with pytest.raises(ValueError, match="does not fit the saved memory"):
        hs.MetaBandit.load(path, prior=hs.priors.Pooled())


def test_kill_in_the_middle_of_save(tmp_path: Path) -> None:
    """Killed 200 times while it saves two bandits in turn: the file is always one of them.

    The children are forked, so that their random numbers, which come last, are their own.
    """
    path = tmp_path / "bandit.npz"
    first, second = used(), used(hs.policies.OFUL())
    for x in np.random.default_rng(0).standard_normal((40, 4)):
        second.observe("more", x, 1.0)
    first.save(f"{path}.a")
    second.save(f"{path}.b")
    prints = (fingerprint(first)[:-1], fingerprint(second)[:-1])
    rng = np.random.default_rng(0)
    seen = set()
    kills = 0
    while kills < 200:
        # One process saves in forked children, each killed at a moment of its own.
        done = subprocess.run(
            [sys.executable, "-c", _SHOOTER, str(path), str(int(rng.integers(2**31))), "50"],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[2],
        )
        for line in done.stdout.split():
            kills += 1
            seen.add(line)
    assert seen == {"0", "1"}
    assert fingerprint(hs.MetaBandit.load(path, resume=True))[:-1] in prints


_SHOOTER = """
import os, random, signal, sys, time
import headstart as hs
from tests.live.state import fingerprint
path, seed, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(seed)
bandits = [hs.MetaBandit.load(path + ending, resume=True) for ending in (".a", ".b")]
prints = [fingerprint(bandit)[:-1] for bandit in bandits]
bandits[0].save(path)
start = time.perf_counter()
bandits[1].save(path)
taken = time.perf_counter() - start
for shot in range(rounds):
    child = os.fork()
    if child == 0:
        while True:
            for bandit in bandits:
                bandit.save(path)
    time.sleep(random.uniform(0.0, 4.0 * taken))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    # Raises unless the file is whole; must be one of the two.
    print(prints.index(fingerprint(hs.MetaBandit.load(path, resume=True))[:-1]), flush=True)
"""


def test_threads_share_a_bandit() -> None:
    """Eight threads, each with its own tasks, leave what one thread would have left."""

    def play(bandit: hs.MetaBandit, worker: int) -> None:
        rng = np.random.default_rng(worker)
        for user in range(5):
            name = f"{worker}-{user}"
            for _ in range(20):
                decision = bandit.decide(name, rng.standard_normal((3, 4)))
                bandit.reward(decision.id, float(rng.standard_normal()))
            if user % 2:
                bandit.finish(name)

    # Nothing learned across tasks, so that the order of the threads cannot matter.
    prior = hs.priors.Fixed.zero()
    shared = hs.MetaBandit(dimension=4, prior=prior, policy=hs.policies.OFUL(), seed=0)
    alone = hs.MetaBandit(dimension=4, prior=prior, policy=hs.policies.OFUL(), seed=0)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda worker: play(shared, worker), range(8)))
    finally:
        sys.setswitchinterval(interval)
    for worker in range(8):
        play(alone, worker)
    assert sorted(map(str, shared.tasks())) == sorted(map(str, alone.tasks()))
    assert shared.n_finished == alone.n_finished
    for name in alone.tasks():
        ours, theirs = shared.task(name).estimate, alone.task(name).estimate
        np.testing.assert_array_equal(ours.statistics.gram, theirs.statistics.gram)
        np.testing.assert_array_equal(ours.statistics.moment, theirs.statistics.moment)
