"""The same bits in one process, in two, on a cluster, and after an interruption."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.studies.tiny import SEQUENCE, TESTED, play_shard

import headstart as hs
from headstart.studies import runner, shards
from headstart.studies.digests import pieces, sources
from headstart.studies.folder import Pieces, StudyFolder
from headstart.studies.results import DIMENSIONS
from headstart.studies.shards import play_agents, shard_seed
from headstart.studies.study import Study
from headstart.studies.toml import from_toml

pytestmark = pytest.mark.slow


def same_bits(one: xr.Dataset, other: xr.Dataset) -> bool:
    return one.identical(other) and all(
        one[name].to_numpy().tobytes() == other[name].to_numpy().tobytes() for name in one.variables
    )


@pytest.fixture(scope="module", params=[SEQUENCE, TESTED], ids=lambda study: study.protocol)
def study(request: pytest.FixtureRequest) -> Study:
    found: Study = request.param
    return found


@pytest.fixture(scope="module")
def alone(study: Study, tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    return runner.run(study, tmp_path_factory.mktemp("alone"), workers=1)


def test_results_are_labelled(study: Study, alone: xr.Dataset) -> None:
    assert alone["regret"].dims == DIMENSIONS
    assert alone["trained"].to_numpy().tolist() == ([0] if study is SEQUENCE else [0, 2])
    assert alone["task"].to_numpy().tolist() == ([1, 2, 3] if study is SEQUENCE else [1])
    assert alone["learner"].to_numpy().tolist() == ["OPT", "Oracle", "AVG-OFUL", "RR-OFUL", "ITL"]
    assert alone["regularization"].to_numpy().tolist() == [0.5, 2.0]
    assert alone["replication"].to_numpy().tolist() == list(range(7))
    assert from_toml(alone.attrs["study"]) == study
    regret = alone["regret"]
    assert (regret.sel(learner="OPT") == 0).all()
    assert regret.sel(learner="ITL").sum() > 0


def test_two_processes_and_a_dask_cluster_give_the_same_bits(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    studies = (SEQUENCE, TESTED)
    alone = runner.play(studies, Pieces(tmp_path / "1"), workers=1)
    two = runner.play(studies, Pieces(tmp_path / "2"), workers=2)
    # Threads of this process; by night, tests/studies/test_stale.py has processes.
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        far = runner.play(studies, Pieces(tmp_path / "3"), scheduler=address)
    for one, other, third in zip(alone, two, far, strict=True):
        assert same_bits(one, other)
        assert same_bits(one, third)


def test_studies_share_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[str] = []

    def note(study: Study, number: int, names: Sequence[str], *more: Any) -> dict[str, Any]:
        played.extend(names)
        return play_agents(study, number, names, *more)

    monkeypatch.setattr(runner, "play_agents", note)
    small = replace(SEQUENCE, replications=2)
    fewer = replace(small, name="fewer", learners=small.learners[2:])
    together = runner.play([small, fewer], Pieces(tmp_path), workers=1)
    assert sorted(played) == sorted(small.agents())
    alone = runner.play([fewer], Pieces(tmp_path / "alone"), workers=1)
    assert same_bits(together[1], alone[0])


# Plays as long as it is let, in two workers.
RUNS_FOR_LONG = """
from dataclasses import replace
from pathlib import Path
from tests.studies.tiny import SEQUENCE
from headstart.studies import runner
if __name__ == "__main__":
    study = replace(SEQUENCE, tasks=10**7, replications=4)
    runner.run(study, Path("out"), workers=2)
"""


def test_progress_ends_with_all_rounds(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    runner.run(SEQUENCE, tmp_path, workers=1, progress=lambda *at: seen.append(at))
    n_agents = len(SEQUENCE.agents())
    total = SEQUENCE.replications * n_agents * SEQUENCE.tasks * SEQUENCE.horizon
    assert [one for one, _ in seen] == sorted(one for one, _ in seen)
    assert seen[0] == (0, total)
    assert seen[-1] == (total, total)
    assert len(seen) == 1 + SEQUENCE.n_shards


@pytest.mark.nightly  # tests/test_processes.py has the part that watches the parent
def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(RUNS_FOR_LONG)
    here = str(Path(__file__).parents[2])
    parent = subprocess.Popen(
        [sys.executable, str(script)], cwd=tmp_path, env={**os.environ, "PYTHONPATH": here}
    )
    try:
        assert _wait_until(lambda: len(_children(parent.pid)) > 2)
        workers = _children(parent.pid)
    finally:
        parent.kill()
        parent.wait(10)
    assert _wait_until(lambda: not any(map(_is_running, workers)))


def _children(pid: int) -> list[int]:
    """The processes that a process started, with Linux's list of them."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _wait_until(done: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60.0
    while not done() and time.monotonic() < end:
        time.sleep(0.05)
    return done()


def test_an_interrupted_run_goes_on_to_the_same_bits(
    study: Study, alone: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[int] = []

    def until_the_third(
        wanted: Study, number: int, agents: Sequence[str], *more: Any
    ) -> dict[str, Any]:
        if len(played) == 2:
            raise KeyboardInterrupt
        played.append(number)
        return play_agents(wanted, number, agents, *more)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "play_agents", until_the_third)
        with pytest.raises(KeyboardInterrupt):
            runner.run(study, tmp_path, workers=1)
    assert len(list(tmp_path.glob("pieces/*/*.npz"))) == 2 * len(study.agents())
    assert not (tmp_path / "results.nc").exists()

    def count(wanted: Study, number: int, agents: Sequence[str], *more: Any) -> dict[str, Any]:
        played.append(number)
        return play_agents(wanted, number, agents, *more)

    monkeypatch.setattr(runner, "play_agents", count)
    told: list[tuple[int, int]] = []
    found = runner.run(study, tmp_path, workers=1, progress=lambda *at: told.append(at))
    assert same_bits(found, alone)
    assert sorted(played) == [0, 1, 2, 3]
    assert told[-1][0] == told[-1][1]
    # A finished study is read, not played.
    assert same_bits(runner.run(study, tmp_path, workers=1), alone)
    assert len(played) == 4


def test_a_run_interrupted_before_joining_is_joined(
    alone: xr.Dataset, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, names = StudyFolder(tmp_path).pieces, pieces(study, sources(study))
    for number in range(study.n_shards):
        for agent, piece in play_agents(study, number, list(study.agents())).items():
            kept.save(names[agent, number], piece)
    monkeypatch.setattr(runner, "play_agents", None)
    assert same_bits(runner.run(study, tmp_path), alone)


def test_a_worker_that_fails_raises_and_nothing_is_left_running(tmp_path: Path) -> None:
    asked = replace(SEQUENCE.learners[1], prior=replace(SEQUENCE.learners[1].prior, settings={}))  # type: ignore[type-var]
    late = replace(asked.prior, settings={"bias": "@no_such"})  # type: ignore[type-var]
    broken = replace(SEQUENCE, learners=(replace(asked, prior=late),))
    with pytest.raises(ValueError, match="asks for @no_such, but the environment Synthetic"):
        runner.run(broken, tmp_path, workers=2)


def test_another_studys_folder_is_refused(tmp_path: Path) -> None:
    small = replace(SEQUENCE, replications=2)
    runner.run(small, tmp_path, workers=1)
    with pytest.raises(ValueError, match=r"holds a study that differs in seed;"):
        runner.run(replace(small, seed=8), tmp_path, workers=1)


def test_the_manifest_says_what_made_the_results(tmp_path: Path) -> None:
    small = replace(SEQUENCE, replications=2)
    runner.run(small, tmp_path, workers=1)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["study"]["name"] == "tiny"
    assert manifest["seed"] == 3
    assert manifest["versions"]["headstart"] == hs.__version__
    assert set(manifest["versions"]) >= {"python", "numpy", "numba", "xarray"}
    assert manifest["seconds"] > 0
    assert manifest["commit"] is None or len(manifest["commit"]) >= 40
    assert manifest["sources"]["versions"].keys() == {"numpy", "scipy", "numba"}


def test_a_shard_is_a_simulation_with_its_own_seed() -> None:
    played = play_shard(SEQUENCE, 1)
    direct = hs.simulate(
        hs.environments.Synthetic(dimension=3, n_arms=2),
        [
            hs.Learner(
                "ITL @ 2.0", hs.policies.OFUL(noise_scale=0.5), hs.priors.Fixed(regularization=2.0)
            )
        ],
        n_tasks=3,
        horizon=4,
        replications=2,
        seed=shard_seed(3, 1),
    )
    mine = played["regret"].sel(learner="ITL", regularization=2.0)
    np.testing.assert_array_equal(mine, direct["regret"].squeeze("learner").expand_dims("trained"))
    assert played["replication"].to_numpy().tolist() == [2, 3]


def test_shards_have_different_streams() -> None:
    seeds = {shard_seed(seed, number) for seed in range(20) for number in range(20)}
    assert len(seeds) == 400


def test_the_last_environment_is_kept_and_only_for_its_settings() -> None:
    first = shards.environment_of(SEQUENCE)
    assert shards.environment_of(TESTED) is first
    other = replace(SEQUENCE, environment=replace(SEQUENCE.environment, settings={"dimension": 4}))
    assert shards.environment_of(other) is not first


def test_a_scheduler_that_does_not_answer_is_named(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(ValueError, match=r"no Dask scheduler answers at 'nowhere'"):
        runner.run(SEQUENCE, tmp_path, scheduler="nowhere")


def test_a_damaged_piece_is_named(tmp_path: Path) -> None:
    small = replace(SEQUENCE, replications=2)
    runner.run(small, tmp_path, workers=1)
    (tmp_path / "results.nc").unlink()
    damaged = next(tmp_path.glob("pieces/*/*.npz"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    with pytest.raises(ValueError, match=f"{damaged.name} is damaged"):
        runner.run(small, tmp_path, workers=1)
