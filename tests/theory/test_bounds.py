import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.theory.environments import Sphere

import headstart as hs
from headstart import theory
from headstart.theory import AssumptionWarning, Setting

BASE = Setting(dimension=3, horizon=16, regularization=4.0)


def by_hand(s: Setting, bias_error: float, delta: float) -> tuple[float, float]:
    """Lemma 1's two terms, written out once more: plain floats, one λ."""
    d, t, regularization = s.dimension, s.horizon, float(s.ridge)
    log = math.log(1 + t * s.feature_bound**2 / (regularization * d))
    front = 4 * math.sqrt(t * d * log)
    radius = s.noise_scale * math.sqrt(2 * math.log(1 / delta) + d * log)
    return front * math.sqrt(regularization) * bias_error, front * radius


def test_lemma_1_by_hand() -> None:
    # d = 3, T = 16, λ = 4, L = 1: 1 + T/(λd) = 7/3; δ = 1/16.
    bound = theory.fixed_bias_bound(BASE, bias_error=0.5)
    front = 4 * math.sqrt(48 * math.log(7 / 3))
    assert bound.bias == pytest.approx(front * 2 * 0.5, rel=1e-14)
    noise = front * math.sqrt(2 * math.log(16) + 3 * math.log(7 / 3))
    assert bound.noise == pytest.approx(noise, rel=1e-14)
    assert bound.failure == pytest.approx(2.0)
    assert bound.total == pytest.approx(front + noise + 2.0, rel=1e-14)


def test_every_symbol_enters() -> None:
    s = replace(BASE, feature_bound=1.5, noise_scale=0.3, mean_bound=0.7, failure_probability=0.01)
    bias, noise = by_hand(s, 0.2, 0.01)
    bound = theory.fixed_bias_bound(s, bias_error=0.2)
    assert bound.bias == pytest.approx(bias, rel=1e-13)
    assert bound.noise == pytest.approx(noise, rel=1e-13)
    assert bound.failure == pytest.approx(2 * 0.7 * 16 * 0.01, rel=1e-13)


def test_oful_is_lemma_1_at_the_bound_on_the_parameter_without_failure() -> None:
    s = replace(BASE, parameter_bound=0.9, failure_probability=0.05)
    bias, noise = by_hand(s, 0.9, 0.05)
    oful = theory.oful_bound(s)
    assert oful.total == pytest.approx(bias + noise, rel=1e-13)
    assert theory.itl_bound(s).total == pytest.approx(bias + noise + 2 * 16 * 0.05, rel=1e-13)


def test_the_oracle_has_no_bias_term() -> None:
    oracle = theory.oracle_bound(BASE)
    assert oracle.bias == 0.0
    assert oracle.total == pytest.approx(by_hand(BASE, 0.0, 1 / 16)[1] + 2.0, rel=1e-13)


def test_an_axis_of_regularizations_is_one_bound_each() -> None:
    grid = np.array([1.0, 4.0, 50.0])
    swept = theory.itl_bound(replace(BASE, regularization=grid)).total
    each = [float(theory.itl_bound(replace(BASE, regularization=g)).total) for g in grid]
    np.testing.assert_allclose(swept, each, rtol=1e-14)


@pytest.mark.parametrize("feature_bound", [1.0, 0.5, 3.0])
def test_limits(feature_bound: float) -> None:
    # Oracle → 0 and ITL → 4TSL as λ → ∞, beside the failure term; errors fall like 1/√λ.
    s = replace(BASE, feature_bound=feature_bound, parameter_bound=0.8)
    far = replace(s, regularization=np.array([1e8, 1e12]))
    oracle, itl = theory.oracle_bound(far), theory.itl_bound(far)
    assert (oracle.bias == 0).all()
    assert oracle.noise[1] < 1e-3
    assert oracle.noise[1] == pytest.approx(oracle.noise[0] / 100, rel=1e-3)
    limit = 4 * 16 * 0.8 * feature_bound
    np.testing.assert_allclose(itl.bias, limit, rtol=1e-6)
    stated = theory.fixed_bias_limit(s, bias_error=0.8)
    assert stated.bias == pytest.approx(limit)
    assert stated.total == pytest.approx(float(itl.total[1]), abs=1e-3)
    assert theory.fixed_bias_limit(s, bias_error=0.0).total == pytest.approx(2.0)


def test_the_oracles_bound_vanishes_when_delta_shrinks_with_lambda() -> None:
    # δ = 1/T leaves 2 however large λ is; δ = 1/(Tλ) takes that to 0 too, at a price of √log λ.
    totals = []
    for regularization in (1e4, 1e8, 1e12):
        s = replace(
            BASE, regularization=regularization, failure_probability=1 / (16 * regularization)
        )
        totals.append(float(theory.oracle_bound(s).total))
    assert totals[0] > 50 * totals[1] > 2500 * totals[2]
    assert totals[-1] < 1e-3


def test_lemma_2_is_lemma_1_at_the_mean_distance() -> None:
    rng = np.random.default_rng(0)
    tasks = rng.uniform(-0.5, 0.5, size=(400, 3))
    h = np.array([0.1, 0.0, -0.1])
    # Independent route: the mean over tasks of Lemma 1.
    distances = [float(np.linalg.norm(w - h)) for w in tasks]
    each = [theory.fixed_bias_bound(BASE, bias_error=r).total for r in distances]
    deviation = theory.task_deviation(tasks, h)
    by_deviation = theory.transfer_bound(BASE, deviation=deviation).total
    by_variance = theory.transfer_bound(BASE, variance=theory.task_variance(tasks, h)).total
    assert by_deviation == pytest.approx(np.mean(each), rel=1e-12)
    assert by_variance > by_deviation


def test_lemma_2_takes_one_of_its_two_forms() -> None:
    with pytest.raises(ValueError, match="either deviation"):
        theory.transfer_bound(BASE)
    with pytest.raises(ValueError, match="either deviation"):
        theory.transfer_bound(BASE, deviation=1.0, variance=1.0)


def test_corollary_2_as_the_paper_writes_it() -> None:
    # Where its λ = 1/(T Var) is at least 1: [1 + R√(Td(…))]·C√(d log(1 + T²L²Var/d)), with 2 log T
    # + d log(·) where the paper has d log(T·), and + 2.
    t, d, variance, noise = 16, 3, 0.02, 0.5
    s = replace(BASE, noise_scale=noise)
    log = math.log(1 + t**2 * variance / d)
    inner = 1 + noise * math.sqrt(t * (2 * math.log(t) + d * log))
    expected = inner * 4 * math.sqrt(d * log) + 2
    assert theory.low_variance_bound(s, variance=variance).total == pytest.approx(expected)
    # The paper's form covers ours: 2 log T ≤ d log T.
    paper = (
        4 * math.sqrt(d * log) * (1 + noise * math.sqrt(t * d * math.log(t + t**3 * variance / d)))
    )
    assert expected - 2 <= paper


def test_conditions_that_do_not_hold_are_named() -> None:
    with pytest.warns(AssumptionWarning, match=r"Lemma 1 needs λ ≥ max\(1, L²\) = 4"):
        theory.oracle_bound(replace(BASE, feature_bound=2.0, regularization=3.9))
    with pytest.warns(AssumptionWarning, match="got 0.02"):
        theory.low_variance_bound(replace(BASE, horizon=50), variance=1.0)
    with pytest.warns(AssumptionWarning, match="unbounded tasks"):
        theory.transfer_bound(replace(BASE, bounded_tasks=False), variance=1.0)
    with pytest.warns(AssumptionWarning, match="moves with the task's own rewards"):
        theory.oracle_bound(replace(BASE, frozen_bias=False))


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="regularization must be above 0, got -1"):
        Setting(dimension=2, horizon=3, regularization=-1.0)
    with pytest.raises(ValueError, match="horizon must be an integer of at least 1, got 0"):
        Setting(dimension=2, horizon=0)
    with pytest.raises(ValueError, match="failure_probability must be strictly between"):
        Setting(dimension=2, horizon=3, failure_probability=1.0)


@pytest.mark.parametrize("dimension", [2, 5, 20])
@pytest.mark.parametrize("horizon", [20, 400])
@pytest.mark.parametrize("distance", [0.0, 0.25, 1.0])
def test_measured_regret_stays_below_the_bound(
    dimension: int, horizon: int, distance: float, record_property: Callable[[str, object], None]
) -> None:
    environment = Sphere(dimension=dimension, distance=distance)
    policy = hs.policies.OFUL(failure_probability=1 / horizon, bias_error=distance)
    regularizations = (1.0, 10.0, 1000.0)
    learners = [
        hs.Learner(
            f"{g}", policy, hs.priors.Fixed(bias=environment.mean_parameter, regularization=g)
        )
        for g in regularizations
    ]
    regret = (
        hs.simulate(environment, learners, n_tasks=1, horizon=horizon, replications=100, seed=7)[
            "regret"
        ]
        .sum("round")
        .isel(task=0)
    )
    for regularization in regularizations:
        totals = regret.sel(learner=f"{regularization}").to_numpy()
        high = totals.mean() + 3 * totals.std(ddof=1) / 10
        s = Setting(dimension=dimension, horizon=horizon, regularization=regularization)
        bound = float(theory.fixed_bias_bound(s, bias_error=distance).total)
        record_property(f"λ = {regularization}", f"regret {totals.mean():.2f}, bound {bound:.1f}")
        assert high < bound


def test_some_of_those_bounds_are_below_two_per_round() -> None:
    # Otherwise the grid above would check nothing that ‖w‖ ≤ 1 does not.
    s = Setting(dimension=2, horizon=400, regularization=1000.0)
    assert theory.fixed_bias_bound(s, bias_error=0.0).total < 2 * 400 / 3
    assert theory.fixed_bias_bound(s, bias_error=0.25).total < 2 * 400


def test_violated_assumptions_are_listed_once_in_place_of_warnings() -> None:
    small = replace(BASE, regularization=0.1, bounded_tasks=False)
    with theory.violated_assumptions() as violated:
        theory.itl_bound(small)
        theory.itl_bound(small)
    assert [sentence.split(" needs ")[0] for sentence in violated] == ["Corollary 1", "Lemma 1"]
    with theory.violated_assumptions() as violated:
        theory.itl_bound(BASE)
    assert violated == []


def test_the_trivial_bound_by_hand() -> None:
    assert Setting(dimension=2, horizon=30, mean_bound=1.5).trivial_bound == 90.0
