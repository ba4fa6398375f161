import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.studies.tiny import SEQUENCE, TESTED

from headstart.diagnosis import Diagnosis, page
from headstart.diagnosis.replay import _noise_scale, replay
from headstart.specs import Spec
from headstart.studies import runner
from headstart.studies.comparisons import playing
from headstart.studies.results import at_best, totals

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    return runner.run(SEQUENCE, tmp_path_factory.mktemp("study") / "tiny", workers=1)


def test_a_study_is_replayed_number_for_number(results: xr.Dataset) -> None:
    replayed = replay(results, regularization=2.0)
    assert list(replayed["learner"]) == ["Oracle", "AVG-OFUL", "RR-OFUL", "ITL"]
    then = results["regret"].sel(regularization=2.0, learner=replayed["learner"], trained=0)
    np.testing.assert_array_equal(replayed["regret"], then.transpose(*replayed["regret"].dims))
    np.testing.assert_array_equal(replayed["largest_eigenvalue"], 2.0)


def test_each_learner_plays_at_its_own_best_regularization_unless_given(
    results: xr.Dataset, tmp_path: Path
) -> None:
    tested = runner.run(replace(TESTED, replications=2), tmp_path / "study", workers=1)
    for name, value in (("RR-OFUL", 0.5), ("ITL", 2.0)):
        tested["regret"].loc[{"learner": name, "regularization": value, "trained": 2}] = 0.0
    played = replay(tested)["prior_regularization"]
    assert (float(played.sel(learner="RR-OFUL")), float(played.sel(learner="ITL"))) == (0.5, 2.0)
    # Number for number, also where learners have different λ.
    best = at_best(totals(results))
    replayed = replay(results)
    for name in playing(SEQUENCE):
        now = replayed["regret"].sel(learner=name)
        at = best["regularization"].sel(learner=name)
        then = results["regret"].sel(learner=name, regularization=at, trained=0)
        then = then.sel(replication=now["replication"])
        np.testing.assert_array_equal(now, then.transpose(*now.dims))
    # Replications 0 and 4 chose.
    assert replayed["replication"].to_numpy().tolist() == [1, 2, 3, 5, 6]


def test_a_regularization_that_is_not_of_the_grid_is_refused(results: xr.Dataset) -> None:
    with pytest.raises(ValueError, match=re.escape("must be one of (0.5, 2.0), got 3.0")):
        replay(results, regularization=3.0)


def test_tests_from_a_memory_are_replayed_as_their_training(tmp_path: Path) -> None:
    results = runner.run(TESTED, tmp_path / "tested", workers=1)
    replayed = replay(results)
    assert replayed.sizes["task"] == 2
    written = page.write(Diagnosis(replayed), tmp_path / "page")
    assert "tested, each learner at its λ of least regret" in written.read_text(encoding="utf-8")


def test_results_of_other_code_are_noticed(results: xr.Dataset) -> None:
    changed = results.copy(deep=True)
    changed["regret"].loc[{"learner": "ITL"}] = 5.0 + changed["regret"].sel(learner="ITL")
    with pytest.raises(ValueError, match=r"ITL had a regret of .* other code made the results"):
        replay(changed, regularization=2.0)


def test_results_without_a_study_are_refused(results: xr.Dataset) -> None:
    bare = results.copy()
    bare.attrs = {}
    with pytest.raises(ValueError, match="do not say which study made them"):
        replay(bare)


def test_a_study_of_one_regularization_has_no_other_oracles(tmp_path: Path) -> None:
    one = replace(SEQUENCE, regularization=(1.0,), replications=2)
    replayed = replay(runner.run(one, tmp_path / "one", workers=1))
    assert "oracle_regret" not in replayed
    choices = Diagnosis(replayed).regularization_choices
    assert [(each.rule, each.regret) for each in choices] == [
        ("Corollary 2", None),
        ("Bayes", None),
    ]


def test_own_code_that_changed_is_named_before_anything_is_replayed(tmp_path: Path) -> None:
    (tmp_path / "own_prior.py").write_text(
        "from dataclasses import dataclass\n"
        "from headstart.priors import Pooled\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Mine(Pooled):\n"
        "    pass\n"
    )
    mine = replace(SEQUENCE.learners[3], name="mine", prior=Spec(kind="own_prior:Mine"))
    study = replace(
        SEQUENCE, learners=(mine, SEQUENCE.learners[-1]), replications=2, folder=str(tmp_path)
    )
    results = runner.run(study, tmp_path / "out", workers=1)
    assert replay(results)["learner"].to_numpy().tolist() == ["mine", "ITL"]
    with (tmp_path / "own_prior.py").open("a") as opened:
        opened.write("# edited\n")
    with pytest.raises(ValueError, match=r"own_prior\.py changed since the results were made"):
        replay(results)
    sys.modules.pop("own_prior", None)


def test_the_scale_of_the_noise_does_not_depend_on_the_order(results: xr.Dataset) -> None:
    # 0.5 of two policies, and OFUL's own 1 where none is given.
    assert replay(results).attrs["noise_scale"] == 0.5
    first = replace(SEQUENCE.learners[-1], policy=Spec(kind="OFUL", settings={"noise_scale": 2.0}))
    for order in ((first, SEQUENCE.learners[1]), (SEQUENCE.learners[1], first)):
        environment = SEQUENCE.environment_built()
        assert _noise_scale(replace(SEQUENCE, learners=order), environment) == 2.0
