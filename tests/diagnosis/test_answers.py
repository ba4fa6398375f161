from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr
from tests.diagnosis.small import learners

import headstart as hs
from headstart.diagnosis import Diagnosis, page, record
from headstart.diagnosis.answers import (
    Choice,
    LargestTerm,
    Nonlinearity,
    NothingToCompare,
    PoliciesDiffer,
    SharedDirections,
    VarianceRatio,
    WarmStart,
    answers,
    choice,
    plain,
    reasons,
    warm_start,
)
from headstart.intervals import Interval
from headstart.plotting.document import Table
from headstart.simulation import State
from headstart.theory import fit_means


def test_the_answer_follows_the_interval(recorded: xr.Dataset) -> None:
    better = recorded.copy(deep=True)
    better["regret"].loc[{"learner": "RR-OFUL"}] = 0.0
    reduces, best = warm_start(Diagnosis(better)), choice(Diagnosis(better))
    assert isinstance(reduces, WarmStart)
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
    assert isinstance(increases, WarmStart)
    assert increases.kind == "increases"
    same = recorded.copy(deep=True)
    for name in ("RR-OFUL", "AVG-OFUL"):
        same["regret"].loc[{"learner": name}] = same["regret"].sel(learner="ITL").to_numpy()
    undecided, either = warm_start(Diagnosis(same)), choice(Diagnosis(same))
    assert isinstance(undecided, WarmStart)
    assert either is not None
    assert (undecided.kind, either.kind) == ("undecided", "undecided")
    alone = Diagnosis(recorded.sel(learner=["ITL"]))
    assert warm_start(alone) is None
    assert choice(alone) is None
    (nothing,) = answers(alone)
    assert nothing == NothingToCompare()
    said = (reduces, increases, undecided, nothing, best, either)
    assert len({answer.headline for answer in said}) == len(said)
    assert "RR-OFUL at λ = 2 against ITL at λ = 2" in reduces.headline
    assert "RR-OFUL saves" in reduces.detail
    assert not any("**" in answer.headline + answer.detail for answer in said)


def test_the_best_of_many_learners_is_corrected_for_the_choice(recorded: xr.Dataset) -> None:
    """A difference with p = 3 % decides for one learner, and not for the better of two."""
    itl = recorded.copy(deep=True)
    itl["regret"].loc[{"learner": "ITL"}] = 10.0
    late = np.tile([1.0, -1.0], 15)
    # The mean is 2.25 standard errors from 0; the task's last half is what counts.
    gain = 2.25 * late.std(ddof=1) / np.sqrt(30) + late
    for name in ("AVG-OFUL", "RR-OFUL"):
        itl["regret"].loc[{"learner": name}] = 10.0 - gain[:, None, None]
    alone = warm_start(Diagnosis(itl.sel(learner=["RR-OFUL", "ITL"])))
    both = warm_start(Diagnosis(itl))
    assert isinstance(alone, WarmStart)
    assert isinstance(both, WarmStart)
    assert (alone.kind, both.kind) == ("reduces", "undecided")
    assert both.corrected == pytest.approx(2 * alone.corrected)
    assert alone.saved == both.saved


def _recorded(*others: hs.Agent) -> Diagnosis:
    """ITL with OFUL next to learners that play BayesUCB."""
    environment = hs.environments.Synthetic(dimension=3, n_arms=3, reward="linear")
    itl = hs.Learner("ITL", hs.policies.OFUL(), hs.priors.Fixed.zero())
    ours = hs.Learner("ours", hs.policies.BayesUCB(), hs.priors.Hierarchical())
    every: list[hs.Agent] = [itl, ours, *others]
    return Diagnosis(
        record(environment, every, n_tasks=4, horizon=12, noise_scale=1.0, replications=20)
    )


def test_the_effect_of_a_policy_is_not_that_of_a_warm_start() -> None:
    alone = _recorded()
    found = warm_start(alone)
    assert isinstance(found, PoliciesDiffer)
    assert (found.learner, found.cold) == ("ours", "ITL")
    assert found.saved == alone.saved("ours", "ITL")
    said = found.headline + found.detail
    assert "reduces" not in said
    assert "plays BayesUCB(" in said
    assert "ITL plays OFUL(" in said
    assert "Add a learner with the policy of ours and the prior Fixed" in said
    assert [type(each) for each in answers(alone)] == [PoliciesDiffer]
    table = page.blocks(alone)
    (rows,) = (
        block.rows
        for block in table
        if isinstance(block, Table) and block.header[-1] == "bound / regret"
    )
    assert rows[1][3:5] == ["–", "–"]


@dataclass(frozen=True)
class First:
    """An agent without a prior."""

    name: str = "first"

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        return 0

    def begin(self, dimension: int, replications: int) -> State:
        return {}

    def play(self, state: State, rounds: hs.Rounds) -> None:
        while not rounds.over:
            rounds.choose(np.zeros(rounds.replications, dtype=int))

    def learn(self, state: State, played: None) -> State:
        return state


def test_agents_without_a_prior_are_judged_too() -> None:
    diagnosis = _recorded(First())
    found = choice(diagnosis)
    assert found is not None
    assert (found.best, list(found.among)) == ("ours", ["ours", "first"])
    diagnosis.dataset["agent_regret"].loc[{"agent": "first"}] = 0.0
    found = choice(diagnosis)
    assert found is not None
    assert (found.kind, found.best, found.second) == ("best", "first", "ours")
    assert "first is best among first and ours" in found.headline
    (rows,) = (
        block.rows
        for block in page.blocks(diagnosis)
        if isinstance(block, Table) and block.header[-1] == "bound / regret"
    )
    assert rows[-1] == ["first", "–", "0.00 [0.00, 0.00]", "–", "–", "–", "–"]
    table = plain(diagnosis)["learners"]
    assert isinstance(table, list)
    assert [one["learner"] for one in table] == ["ITL", "ours", "first"]


def test_the_directions_of_a_prior_are_said() -> None:
    diagnosis = _recorded()
    diagnosis.dataset["directions"].loc[{"learner": "ours"}] = np.repeat([0.0, 2.0, 1.0], [4, 9, 7])
    (found,) = (one for one in reasons(diagnosis) if isinstance(one, SharedDirections))
    assert (found.learner, found.directions, found.agreeing) == ("ours", 2, 9)
    assert "tasks differ along 2 directions" in found.sentence
    diagnosis.dataset["directions"].loc[{"learner": "ours"}] = 0.0
    assert not any(isinstance(one, SharedDirections) for one in reasons(diagnosis))


def test_rounding_is_not_taken_for_a_task_that_is_not_linear() -> None:
    rng = np.random.default_rng(0)
    arms = rng.normal(size=(3, 10, 4, 5))
    means = np.einsum("rtkd,rd->rtk", arms, rng.normal(size=(3, 5)))
    fit = fit_means(hs.Task(arms=arms, means=means, rewards=means))
    np.testing.assert_array_equal(fit.unexplained, 0.0)


def test_a_cold_learner_of_the_same_policy_is_the_baseline() -> None:
    cold = hs.Learner("cold", hs.policies.BayesUCB(), hs.priors.Fixed.zero())
    found = warm_start(_recorded(cold))
    assert isinstance(found, WarmStart)
    assert (found.learner, found.baseline) == ("ours", "cold")
    assert (found.regularization, found.baseline_regularization) == (None, 1.0)
    assert "ours against cold at λ = 1" in found.headline


def test_the_best_learner_without_a_baseline_is_named_beside_the_verdict() -> None:
    rr = hs.Learner("RR-OFUL", hs.policies.OFUL(), hs.priors.Pooled())
    diagnosis = _recorded(rr)
    diagnosis.dataset["regret"].loc[{"learner": "ours"}] = 0.0
    whether, unknown, best = answers(diagnosis)
    assert isinstance(whether, WarmStart)
    assert (whether.learner, whether.baseline) == ("RR-OFUL", "ITL")
    assert isinstance(unknown, PoliciesDiffer)
    assert unknown.learner == "ours"
    assert isinstance(best, Choice)


def test_reasons_name_the_ratio_and_the_largest_terms(recorded: xr.Dataset) -> None:
    diagnosis = Diagnosis(recorded)
    ratio, *largest = reasons(diagnosis)
    assert ratio == VarianceRatio(ratio=diagnosis.variance_ratio)
    for name, reason in zip(("AVG-OFUL", "RR-OFUL"), largest, strict=True):
        assert isinstance(reason, LargestTerm)
        assert (reason.learner, reason.n_tasks) == (name, 5)
        terms = diagnosis.error_terms(name)
        assert terms is not None
        squares = {term: float(square.mean()) for term, square in terms.squares().items()}
        assert squares[reason.term] == reason.square == max(squares.values())
        assert reason.error == pytest.approx(float(diagnosis.error(name)[:, -1].mean()))


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
    assert 0 < found.unexplained < 1
    *_, last = reasons(found)
    assert last == Nonlinearity(unexplained=found.unexplained)
    assert "not linear" in last.sentence
    # w̄ is then the mean of the fits, not the environment's.
    mean = recorded["parameter"].mean("task")
    np.testing.assert_allclose(recorded["mean_parameter"], mean.transpose("replication", "feature"))
