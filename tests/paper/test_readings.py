"""Readings are found by key, share studies, and keep their settings."""

from dataclasses import replace

import pytest
from tests.studies.tiny import play_shard

from headstart.learners.oful import AVG, ITL, RR
from headstart.paper import studies as paper
from headstart.paper.readings import SECTIONS, Section, synthetic
from headstart.paper.studies import Estimation
from headstart.studies.study import Study


@pytest.fixture(params=SECTIONS)
def section(request: pytest.FixtureRequest) -> Section:
    return SECTIONS[request.param]()


def test_keys_and_labels_are_unique_and_begin_with_main(section: Section) -> None:
    for names in (
        [one.key for one in section.readings],
        [one.label for one in section.readings],
    ):
        assert names[0] == "main"
        assert len(names) == len(set(names)) <= 26
    for one in (*section.readings, *section.curves):
        assert section.reading(one.key) is one
    assert list(section.letters().values())[:2] == ["A", "B"]
    assert len(section.letters()) == len(section.readings)


def test_each_study_has_one_name(section: Section) -> None:
    every = [one.study for one in (*section.readings, *section.curves)]
    assert all(section.studies()[study.name] == study for study in every)


def test_replications_and_seed_reach_every_study(section: Section) -> None:
    changed = section.with_settings(replications=5, seed=7)
    assert {study.replications for study in changed.studies().values()} == {5}
    assert {study.seed for study in changed.studies().values()} == {7}
    assert changed.studies().keys() == section.studies().keys()
    same = section.with_settings(replications=None, seed=None)
    assert same.studies() == section.studies()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "avg", "rr"),
    [("main", "same", "same"), ("avg-0.01", 0.01, "same"), ("estimator-1", 1.0, 1.0)],
)
def test_each_estimator_has_its_own_regularization(
    key: str, avg: Estimation, rr: Estimation
) -> None:
    def short(study: Study) -> Study:
        return replace(study, replications=2, horizon=10, training_tasks=(2,), test_tasks=2)

    reading = synthetic().map(short).reading(key)
    found = reading.played({reading.study.name: play_shard(reading.study, 0)})
    assert [learner.name for learner in found.study.learners][:5] == [
        "OPT",
        "Oracle",
        "AVG-OFUL",
        "RR-OFUL",
        "ITL",
    ]
    # The same as a study of this λ alone, in which the names are the paper's.
    for name, estimation in ((AVG, avg), (RR, rr), (ITL, "same")):
        alone = short(
            paper.synthetic(
                estimations=(estimation,),
                regularization=reading.study.regularization,
                seed=reading.study.seed,
            )
        )
        (index,) = [i for i, one in enumerate(alone.learners) if one.name.startswith(name)]
        regret = play_shard(alone, 0).regret.isel(learner=index)
        assert (found.results.regret.sel(learner=name).to_numpy() == regret.to_numpy()).all()
