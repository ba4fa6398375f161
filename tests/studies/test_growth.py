"""A study that grows plays only what is new, and has the bits of a fresh run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from tests.studies import tiny
from tests.studies.test_runner import same_bits
from tests.studies.tiny import OFUL, SWEPT

from headstart.specs import Spec
from headstart.studies import runner
from headstart.studies.results import at_training, totals
from headstart.studies.shards import play_agents
from headstart.studies.study import LearnerSpec, Study

pytestmark = pytest.mark.slow

# Two shards, the last of them incomplete.
SEQUENCE = replace(tiny.SEQUENCE, replications=3)
TESTED = replace(tiny.TESTED, replications=3)
NEW = LearnerSpec(name="new", policy=Spec(kind="Thompson"), prior=Spec(kind="Pooled"))


class Played:
    """Plays as the runner does, and notes what."""

    def __init__(self) -> None:
        self.agents: list[tuple[int, str]] = []

    def __call__(
        self, study: Study, number: int, names: Sequence[str], *more: Any
    ) -> dict[str, Any]:
        self.agents += [(number, name) for name in names]
        return play_agents(study, number, names, *more)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Played:
    noted = Played()
    monkeypatch.setattr(runner, "play_agents", noted)
    return noted


def _both(study: Study, grown: Study, tmp_path: Path, played: Played) -> list[str]:
    """Grow a study, compare with a fresh run, and return what growing played and said."""
    runner.run(study, tmp_path / "grown", workers=1)
    played.agents.clear()
    told: list[str] = []
    found = runner.run(grown, tmp_path / "grown", workers=1, notify=told.append)
    new = list(played.agents)
    fresh = runner.run(grown, tmp_path / "fresh", workers=1)
    assert same_bits(found, fresh)
    again = runner.run(grown, tmp_path / "grown", workers=1)
    assert same_bits(again, fresh)
    played.agents[:] = new
    return told


@pytest.mark.parametrize("study", [SEQUENCE, TESTED], ids=lambda study: study.protocol)
def test_more_learners(study: Study, tmp_path: Path, played: Played) -> None:
    swept = replace(NEW, name="swept", prior=Spec(kind="Pooled", settings=SWEPT))
    grown = replace(study, learners=(*study.learners[:2], NEW, *study.learners[2:], swept))
    told = _both(study, grown, tmp_path, played)
    new = ["new @ 0.5", "swept @ 0.5", "swept @ 2.0"]
    assert sorted(played.agents) == [(number, name) for number in (0, 1) for name in new]
    assert told == ["new: 2 of 2 parts are played.", "swept: 4 of 4 parts are played."]


@pytest.mark.parametrize("study", [SEQUENCE, TESTED], ids=lambda study: study.protocol)
def test_another_regularization(study: Study, tmp_path: Path, played: Played) -> None:
    told = _both(study, replace(study, regularization=(0.5, 1.0, 2.0)), tmp_path, played)
    assert {name for _, name in played.agents} == {
        f"{name} @ 1.0" for name in ("Oracle", "AVG-OFUL", "RR-OFUL", "ITL")
    }
    assert len(played.agents) == 8
    assert told[0] == "Oracle: 2 of 6 parts are played."


def test_another_first_regularization_moves_learners_without_one(
    tmp_path: Path, played: Played
) -> None:
    study = replace(SEQUENCE, learners=(*SEQUENCE.learners[1:3], NEW))
    _both(study, replace(study, regularization=(0.1, 0.5, 2.0)), tmp_path, played)
    assert {name for _, name in played.agents} == {"Oracle @ 0.1", "AVG-OFUL @ 0.1", "new @ 0.1"}


@pytest.mark.parametrize("study", [SEQUENCE, TESTED], ids=lambda study: study.protocol)
def test_more_replications(study: Study, tmp_path: Path, played: Played) -> None:
    _both(study, replace(study, replications=5), tmp_path, played)
    # The last shard of 3 in twos has one replication; it is played again as one of two.
    assert {number for number, _ in played.agents} == {1, 2}


def test_everything_at_once_and_only_what_changed(tmp_path: Path, played: Played) -> None:
    changed = replace(SEQUENCE.learners[-1], policy=replace(OFUL, settings={"noise_scale": 0.7}))
    grown = replace(
        SEQUENCE,
        name="renamed",
        learners=(NEW, *SEQUENCE.learners[:-1], changed),
        regularization=(0.5, 2.0, 4.0),
        replications=4,
    )
    _both(SEQUENCE, grown, tmp_path, played)
    first = {name for number, name in played.agents if number == 0}
    assert first == {
        "new @ 0.5",
        "ITL @ 0.5",
        "ITL @ 2.0",
        *(f"{name} @ 4.0" for name in ("Oracle", "AVG-OFUL", "RR-OFUL", "ITL")),
    }


def test_what_is_left_out_comes_back_without_being_played(tmp_path: Path, played: Played) -> None:
    whole = replace(SEQUENCE, replications=5)
    before = runner.run(whole, tmp_path / "one", workers=1)
    small = replace(whole, learners=whole.learners[:3], regularization=(2.0,), replications=3)
    played.agents.clear()
    found = runner.run(small, tmp_path / "one", workers=1)
    assert {name for _, name in played.agents} == {
        "OPT @ 2.0",
        *(f"{name} @ 2.0" for name in ("Oracle", "AVG-OFUL")),
    }
    assert {number for number, name in played.agents if name != "OPT @ 2.0"} == {1}
    assert same_bits(found, runner.run(small, tmp_path / "fresh", workers=1))
    played.agents.clear()
    assert same_bits(runner.run(whole, tmp_path / "one", workers=1), before)
    assert not played.agents


def test_growth_that_is_interrupted_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = runner.run(SEQUENCE, tmp_path / "one", workers=1)
    grown = replace(SEQUENCE, learners=(*SEQUENCE.learners, NEW))
    done: list[int] = []

    def stop(study: Study, number: int, names: Sequence[str], *more: Any) -> dict[str, Any]:
        if done:
            raise KeyboardInterrupt
        done.append(number)
        return play_agents(study, number, names, *more)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "play_agents", stop)
        with pytest.raises(KeyboardInterrupt):
            runner.run(grown, tmp_path / "one", workers=1)
    with xr.open_dataset(tmp_path / "one" / "results.nc") as kept:
        assert same_bits(kept.load(), before)
    found = runner.run(grown, tmp_path / "one", workers=1)
    assert same_bits(found, runner.run(grown, tmp_path / "fresh", workers=1))


@pytest.mark.parametrize(("horizon", "test_tasks"), [(1, 17), (3, 9)])
def test_the_mean_over_test_tasks_does_not_depend_on_who_plays(
    horizon: int, test_tasks: int, tmp_path: Path, played: Played
) -> None:
    study = replace(TESTED, horizon=horizon, test_tasks=test_tasks, learners=TESTED.learners[2:3])
    _both(study, replace(study, learners=TESTED.learners), tmp_path, played)
    assert "AVG-OFUL @ 2.0" not in {name for _, name in played.agents}


def test_test_tasks_are_kept_on_demand(tmp_path: Path, played: Played) -> None:
    kept = replace(TESTED, keep_test_tasks=True)
    _both(TESTED, kept, tmp_path, played)
    assert {name for _, name in played.agents} == set(kept.agents())
    one = runner.run(TESTED, tmp_path / "mean", workers=1)
    two = runner.run(kept, tmp_path / "grown", workers=1)
    assert "test_regret" not in one
    assert two["test_regret"].dims == (
        "learner",
        "regularization",
        "trained",
        "replication",
        "test_task",
        "round",
    )
    assert two["test_regret"].sizes["test_task"] == 2
    for name in ("reward", "regret"):
        xr.testing.assert_identical(one[name], two[name])
        mean = two[f"test_{name}"].mean("test_task")
        xr.testing.assert_allclose(mean, two[name].isel(task=0, drop=True))
    assert totals(two).dims == ("learner", "regularization", "replication")
    assert "trained" not in at_training(two).dims
