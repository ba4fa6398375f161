import numpy as np
import pytest
import xarray as xr
from tests.diagnosis.small import learners

import headstart as hs
from headstart.diagnosis import Diagnosis, record, sentences
from headstart.diagnosis.answers import (
    LargestTerm,
    Nonlinearity,
    VarianceRatio,
    choice,
    reasons,
    warm_start,
)
from headstart.intervals import Interval


def test_the_answer_follows_the_interval(recorded: xr.Dataset) -> None:
    better = recorded.copy(deep=True)
    better["regret"].loc[{"learner": "RR-OFUL"}] = 0.0
    reduces, best = warm_start(Diagnosis(better)), choice(Diagnosis(better))
    assert reduces is not None
    assert best is not None
    assert (reduces.kind, reduces.learner, reduces.baseline, reduces.share) == (
        "reduces",
        "RR-OFUL",
        "ITL",
        1.0,
    )
    assert (best.kind, best.best, best.second) == ("best", "RR-OFUL", "AVG-OFUL")
    worse = recorded.copy(deep=True)
    for name in ("RR-OFUL", "AVG-OFUL"):
        worse["regret"].loc[{"learner": name}] = 10 + worse["regret"].sel(learner=name)
    increases = warm_start(Diagnosis(worse))
    assert increases is not None
    assert increases.kind == "increases"
    same = recorded.copy(deep=True)
    for name in ("RR-OFUL", "AVG-OFUL"):
        same["regret"].loc[{"learner": name}] = same["regret"].sel(learner="ITL").to_numpy()
    undecided, either = warm_start(Diagnosis(same)), choice(Diagnosis(same))
    assert undecided is not None
    assert either is not None
    assert (undecided.kind, either.kind) == ("undecided", "undecided")
    alone = Diagnosis(recorded.sel(learner=["ITL"]))
    assert warm_start(alone) is None
    assert choice(alone) is None
    answers = (reduces, increases, undecided, None, best, either)
    assert len({sentences.headline(each) for each in answers}) == len(answers)
    assert "RR-OFUL saves" in sentences.detail(reduces)
    assert not any("**" in sentences.headline(each) + sentences.detail(each) for each in answers)


def test_reasons_name_the_ratio_and_the_largest_terms(recorded: xr.Dataset) -> None:
    diagnosis = Diagnosis(recorded)
    ratio, *largest = reasons(diagnosis)
    assert ratio == VarianceRatio(ratio=diagnosis.tasks.ratio)
    for name, reason in zip(("AVG-OFUL", "RR-OFUL"), largest, strict=True):
        assert isinstance(reason, LargestTerm)
        assert (reason.learner, reason.n_tasks) == (name, 5)
        terms = diagnosis.bias.terms(name)
        assert terms is not None
        squares = {term: float(square.mean()) for term, square in terms.squares().items()}
        assert squares[reason.term] == reason.square == max(squares.values())
        assert reason.error == pytest.approx(float(diagnosis.bias.of(name)[:, -1].mean()))


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [(0.1, 0.2, "small"), (0.2, 0.3, "moderate"), (0.7, 0.8, "moderate"), (0.8, 0.9, "large")],
)
def test_a_ratio_is_small_or_large_with_certainty(low: float, high: float, kind: str) -> None:
    assert VarianceRatio(ratio=Interval((low + high) / 2, 0.01, low, high, 10)).kind == kind


def test_rewards_that_are_not_linear_are_a_reason() -> None:
    environment = hs.environments.Synthetic(dimension=3, n_arms=3, reward="winner")
    recorded = record(
        environment,
        learners(environment.mean_parameter),
        n_tasks=3,
        horizon=8,
        noise_scale=0.5,
        replications=4,
    )
    found = Diagnosis(recorded)
    assert 0 < found.tasks.unexplained < 1
    *_, last = reasons(found)
    assert last == Nonlinearity(unexplained=found.tasks.unexplained)
    assert "not linear" in sentences.reason(last)
    # w̄ is then the mean of the fits, not the environment's.
    mean = recorded["parameter"].mean("task")
    np.testing.assert_allclose(recorded["mean_parameter"], mean.transpose("replication", "feature"))
