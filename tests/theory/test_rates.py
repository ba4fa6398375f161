import math

import numpy as np
import pytest
from tests.playing import play
from tests.theory.environments import Sphere

import headstart as hs
from headstart import theory
from headstart.theory import AssumptionWarning, ErrorBound, Setting, TransferRate


def test_the_rate_by_hand() -> None:
    # d = 4, T = 10, L = 2, Var + ε = 0.25: 4√(10 log(1 + 400·0.25/4)).
    setting = Setting(dimension=4, horizon=10, feature_bound=2.0)
    assert theory.transfer_rate(setting, 0.25) == pytest.approx(4 * math.sqrt(10 * math.log(26)))
    assert theory.transfer_rate(setting, 0.0) == 0.0


def test_terms_of_a_rate_are_readable() -> None:
    setting = Setting(dimension=4, horizon=10, feature_bound=2.0)
    terms = ErrorBound(*(np.asarray(v) for v in (0.1, 0.2, 0.05, 0.05)))
    rate = TransferRate(setting, np.asarray(0.09), terms)
    assert rate.estimation.total == pytest.approx(0.4)
    assert rate.total == pytest.approx(float(theory.transfer_rate(setting, 0.09 + 0.16)))


def test_a_moving_bias_is_warned_about() -> None:
    with pytest.warns(AssumptionWarning, match="Var_w̄ \\+ ε"):
        theory.transfer_rate(Setting(dimension=2, horizon=5, frozen_bias=False), 1.0)


def two_tasks() -> hs.TaskStatistics:
    return hs.TaskStatistics(
        gram=np.array([np.diag([1.0, 3.0]), np.diag([5.0, 3.0])]),
        moment=np.zeros((2, 2)),
        count=np.array([4.0, 8.0]),
        sum_of_squares=np.zeros(2),
    )


def test_theorem_2_by_hand() -> None:
    # λ_min + λ = 3 and 5; β_j = √(2 log((1 + T_j/2)/(δ/2))) + √2·S.
    setting = Setting(
        dimension=2, horizon=8, regularization=2.0, failure_probability=0.2, parameter_bound=0.5
    )
    bound = theory.average_error_bound(setting, two_tasks(), sampling_error=0.3)
    first = math.sqrt(2 * math.log(3 / 0.1)) + math.sqrt(2) * 0.5
    second = math.sqrt(2 * math.log(5 / 0.1)) + math.sqrt(2) * 0.5
    assert bound.variance == pytest.approx(max(first / math.sqrt(3), second / math.sqrt(5)))
    assert bound.sampling == 0.3
    assert bound.bias == bound.ridge == 0.0


def test_theorem_3_by_hand() -> None:
    # Ṽ = 6I: ν = 6, λ + ν = 8; σ = ½ and 5/6; H̄ = (4·(0, 0) + 8·(3, 0))/12 = (2, 0).
    setting = Setting(
        dimension=2, horizon=8, regularization=2.0, failure_probability=0.2, parameter_bound=3.0
    )
    w = np.array([[0.0, 0.0], [3.0, 0.0]])
    bound = theory.pooled_error_bound(setting, two_tasks(), w, sampling_error=0.3)
    assert bound.bias == pytest.approx(2 * 2 * max(2 * 0.5, 1 * 5 / 6))
    assert bound.ridge == pytest.approx(2 * 3 / 8)
    noise = math.sqrt((2 * math.log(5) + 2 * math.log(1 + 6 / 2)) / 8)
    assert bound.variance == pytest.approx(noise)
    assert bound.total == pytest.approx(0.3 + 4.0 + 0.75 + noise)


@pytest.mark.parametrize("horizon", [3, 40])
def test_measured_errors_stay_below_theorems_2_and_3(horizon: int) -> None:
    # 500 replications of 6 tasks, S = 1, δ = 0.1, frozen h; T = 3 < d leaves grams singular.
    environment = Sphere(dimension=5, distance=0.4)
    n, size, delta = 6, 500, 0.1
    policy = hs.policies.OFUL(failure_probability=delta, bias_error=1.0)
    rng = np.random.default_rng(11)
    for prior, bounded in (
        (hs.priors.Average(within_task=False), theory.average_error_bound),
        (hs.priors.Pooled(within_task=False), theory.pooled_error_bound),
    ):
        learner = hs.Learner("learner", policy, prior)
        memory = learner.begin(5, size)
        tasks, seen = [], []
        for _ in range(n):
            task = environment.sample(horizon, size, rng)
            episode = play(learner, memory, task, rng)
            memory = learner.learn(memory, episode)
            tasks.append(task.parameter)
            seen.append(episode.statistics)
        fields = ("gram", "moment", "count", "sum_of_squares")
        stacked = hs.TaskStatistics(*(np.stack([getattr(s, f) for s in seen], 1) for f in fields))
        w = np.stack([t for t in tasks if t is not None], 1)
        sampling = theory.sampling_error(w, stacked.count, environment.mean_parameter)
        setting = Setting(dimension=5, horizon=horizon, failure_probability=delta)
        if bounded is theory.average_error_bound:
            bound = theory.average_error_bound(setting, stacked, sampling_error=sampling)
        else:
            bound = theory.pooled_error_bound(setting, stacked, w, sampling_error=sampling)
        error = np.sqrt(
            theory.estimation_error(prior.prior(memory).bias, environment.mean_parameter)
        )
        assert (error > bound.total).mean() <= delta
        assert (error > sampling).mean() > 0.5  # H_ρ alone would not do
