"""Interpretations are found by key, and sections keep their settings."""

import pytest

from headstart.paper.interpretations import ReportSection
from headstart.paper.sections import SECTIONS


@pytest.fixture(params=SECTIONS)
def section(request: pytest.FixtureRequest) -> ReportSection:
    return SECTIONS[request.param]()


def test_keys_and_labels_are_unique_and_begin_with_main(section: ReportSection) -> None:
    for names in (
        [one.key for one in section.interpretations],
        [one.label for one in section.interpretations],
    ):
        assert names[0] == "main"
        assert len(names) == len(set(names)) <= 26
    for one in section.interpretations:
        assert section.interpretation(one.key) is one
    assert list(section.letters().values())[:2] == ["A", "B"]
    assert len(section.letters()) == len(section.interpretations)


def test_each_study_has_one_name(section: ReportSection) -> None:
    studies = {id(one.study): one.study for one in section.interpretations}
    names = [study.name for study in studies.values()]
    assert len(names) == len(set(names))


def test_replications_and_seed_reach_every_study(section: ReportSection) -> None:
    changed = section.with_settings(replications=5, seed=7)
    assert {study.replications for study in changed.studies().values()} == {5}
    assert {study.seed for study in changed.studies().values()} == {7}
    assert changed.studies().keys() == section.studies().keys()
