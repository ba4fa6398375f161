"""A diagnosis does not depend on the order of learners, nor on a learner that it has no use for."""

import random
from collections.abc import Sequence

import pytest
import xarray as xr
from tests.diagnosis.small import ENVIRONMENT, HORIZON, learners

import headstart as hs
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.diagnosis import Diagnosis, answers, page, record
from headstart.interfaces import Memory
from headstart.plotting.document import Table

pytestmark = pytest.mark.slow

OFUL = hs.policies.OFUL(failure_probability=0.1)
MEAN = ENVIRONMENT.mean_parameter


def many() -> list[hs.Learner]:
    """The four, and learners that have been taken for the baseline or for the Oracle."""
    zero = hs.priors.Fixed.zero(regularization=2.0)
    return [
        hs.Learner("uniform", hs.policies.Uniform(), zero),
        hs.Learner("Thompson", hs.policies.Thompson(), zero),
        *learners(MEAN, OFUL),
        hs.Learner("second Oracle", hs.policies.Thompson(), hs.priors.Fixed(bias=MEAN)),
        hs.Learner("ours", hs.policies.BayesUCB(), hs.priors.Hierarchical()),
        hs.Learner("ours with OFUL", OFUL, hs.priors.Hierarchical()),
    ]


def recorded_in(order: Sequence[hs.Learner]) -> xr.Dataset:
    return record(
        ENVIRONMENT,
        order,
        n_tasks=4,
        horizon=HORIZON,
        noise_scale=1.0,
        replications=8,
        regularizations=(0.5, 5.0),
    )


@pytest.fixture(scope="module")
def found() -> Diagnosis:
    return Diagnosis(recorded_in(many()))


@pytest.mark.parametrize("seed", [1, 2])
def test_the_verdict_does_not_depend_on_the_order(found: Diagnosis, seed: int) -> None:
    order = many()
    random.Random(seed).shuffle(order)
    other = Diagnosis(recorded_in(order))
    assert answers.warm_start(other) == answers.warm_start(found)
    assert answers.choice(other) == answers.choice(found)
    now, then = (sorted(answers.reasons(each), key=repr) for each in (other, found))
    assert now == then
    assert other.regularization_choices == found.regularization_choices
    assert other.trivial_bound == found.trivial_bound
    xr.testing.assert_equal(other.dataset["oracle_regret"], found.dataset["oracle_regret"])


def test_every_learner_has_its_role(found: Diagnosis) -> None:
    roles = found
    assert set(roles.from_zero) == {"Thompson", "ITL"}
    assert set(roles.oracles) == {"Oracle", "second Oracle"}
    assert set(roles.learned) == {"AVG-OFUL", "RR-OFUL", "ours", "ours with OFUL"}
    # One that starts from zero with the same policy, and no other.
    assert roles.baseline("RR-OFUL") == "ITL"
    assert roles.baseline("second Oracle") == "Thompson"
    assert roles.baseline("ours") is None
    assert roles.baseline("ours with OFUL") == "ITL"


def test_a_learner_that_ignores_its_prior_changes_no_figure(found: Diagnosis) -> None:
    without = Diagnosis(recorded_in([one for one in many() if one.name != "uniform"]))
    assert answers.warm_start(without) == answers.warm_start(found)
    assert answers.choice(without) == answers.choice(found)
    assert without.regularization_choices == found.regularization_choices
    alone = Diagnosis(recorded_in([many()[0], *learners(MEAN, OFUL)[1:2]]))
    assert answers.warm_start(alone) is None


def test_the_oracle_is_never_the_best_estimator(found: Diagnosis) -> None:
    with_two = [one for one in many() if one.name in {"Thompson", "ITL", "Oracle", "RR-OFUL"}]
    small = Diagnosis(recorded_in(with_two))
    assert answers.choice(small) is None
    best = answers.warm_start(small)
    assert isinstance(best, answers.WarmStart)
    assert (best.learner, best.baseline) == ("RR-OFUL", "ITL")


def test_the_sweep_plays_the_oracles_policy(found: Diagnosis) -> None:
    assert found.dataset.attrs["oracle_policy"] == repr(OFUL)
    only = [hs.Learner("Uniform", hs.policies.Uniform(), hs.priors.Fixed.zero()), *many()[1:2]]
    assert recorded_in(only).attrs["oracle_policy"] == repr(hs.policies.Thompson())


def test_lemma_2_bounds_oful_with_a_number_for_lambda_and_nothing_else(found: Diagnosis) -> None:
    bounded = {name for name in found.learners if found.bound(name) is not None}
    assert bounded == {"Oracle", "AVG-OFUL", "RR-OFUL", "ITL"}
    (table,) = (
        block
        for block in page.blocks(found)
        if isinstance(block, Table) and block.header[-1] == "bound / regret"
    )
    rows = {str(row[0]): row[-2:] for row in table.rows}
    assert rows["Thompson"] == rows["ours"] == ["–", "–"]
    assert "–" not in rows["ITL"]


class Counted(hs.priors.Hierarchical):
    """Counts how often its prior is computed."""

    calls: list[int] = []  # noqa: RUF012

    def prior(self, memory: Memory, about: Floats | None = None) -> Prior:
        self.calls.append(1)
        return super().prior(memory, about)


def test_the_prior_of_a_task_is_computed_once_to_play_and_once_to_rebuild() -> None:
    Counted.calls.clear()
    recorded_in([hs.Learner("ours", hs.policies.BayesUCB(), Counted())])
    assert len(Counted.calls) == 2 * 4


def test_progress_goes_from_task_to_task_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    record(
        ENVIRONMENT,
        many()[:3],
        n_tasks=3,
        horizon=HORIZON,
        noise_scale=1.0,
        replications=2,
        regularizations=(0.5, 5.0),
        progress=lambda *at: told.append(at),
    )
    assert told == [(n, 24) for n in range(1, 25)]
