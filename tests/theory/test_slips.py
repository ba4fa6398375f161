"""The paper's slips, each as the smallest example in which the printed formula fails."""

import math

import numpy as np
import pytest

import headstart as hs
from headstart import theory
from headstart.theory import AssumptionWarning, Setting


def test_lemma_1_needs_the_norm_of_the_inverse() -> None:
    # Printed: r_t ≤ 2β‖x_t‖ in the norm of V. One arm, x = 1, λ = 1: then ‖x_t‖² = t, and the sum
    # that Lemma 11 of OFUL bounds by 2 log det grows like T². In V⁻¹'s norm it is Σ 1/t.
    rounds = 100
    before = 1.0 + np.arange(rounds)  # V_{t−1} + λ
    potential = 2 * math.log(1.0 + rounds)
    assert (1.0 / before).sum() <= potential
    assert before.sum() > 500 * potential


def test_lemma_1_needs_parentheses() -> None:
    # Printed: √(T log det V_T − log det λI). With the T outside of both, the Oracle's bound tends
    # to 0 as λ → ∞, as Corollary 1 says; as printed it grows without end.
    rounds, d = 10, 2

    def printed(regularization: float) -> float:
        after = d * math.log(regularization + rounds / d)
        return rounds * after - d * math.log(regularization)

    def meant(regularization: float) -> float:
        return rounds * d * math.log1p(rounds / (regularization * d))

    assert meant(1e6) < 1e-3
    assert printed(1e12) > printed(1e6) > 100


def test_lemma_1_needs_regularization_of_at_least_the_squared_length_of_arms() -> None:
    # Printed: λ ≥ 1 alone. L = 3, λ = 1, one round: ‖x‖² in V⁻¹'s norm is 9, and 2 log det is
    # 2 log 10 = 4.6. With λ = L² it is 1 to 2 log 2.
    def holds(length: float, regularization: float) -> bool:
        return length**2 / regularization <= 2 * math.log1p(length**2 / regularization)

    assert not holds(3.0, 1.0)
    assert holds(3.0, 9.0)


def test_corollary_2s_regularization_contradicts_lemma_1() -> None:
    # On the paper's synthetic setting, T = 50 and Var = 1: λ = 0.02, where Lemma 1 wants at least
    # 1 and Bayes s²d/Var = 20.
    chosen = theory.paper_regularization(horizon=50, variance=1.0)
    assert chosen == pytest.approx(0.02)
    assert theory.bayes_regularization(noise_scale=1.0, dimension=20, variance=1.0) == 20.0
    with pytest.warns(AssumptionWarning, match="got 0.02"):
        theory.low_variance_bound(Setting(dimension=20, horizon=50), variance=1.0)
    # The step that breaks: one arm of length 1, one round.
    assert 1.0 / chosen > 2 * math.log1p(1.0 / chosen)
    # It is consistent exactly where Var ≤ 1/T.
    assert theory.paper_regularization(horizon=50, variance=1 / 50) == pytest.approx(1.0)


def test_the_repaired_bound_is_never_below_the_regret_where_the_printed_one_is() -> None:
    # d = 1, two arms ±1, w = −1, no noise, T = 1, λ = 10⁻⁴ and h = 1: BIAS-OFUL's first choice may
    # lose 2. With R = 0 the printed bound is 4√(T log(1 + 1/λ))·√λ·2 = 0.24.
    setting = Setting(dimension=1, horizon=1, regularization=1e-4, noise_scale=0.0)
    printed = 4 * math.sqrt(math.log1p(1e4)) * math.sqrt(1e-4) * 2
    assert printed < 2.0
    with pytest.warns(AssumptionWarning):
        repaired = theory.fixed_bias_bound(setting, bias_error=2.0)
    assert repaired.bias + repaired.noise >= 2.0


def test_the_mean_of_tasks_is_off_by_one() -> None:
    # Theorem 2 holds h after t rounds against H̄_{N,t}, which as printed has t − 1 of them. Two
    # tasks of one round, each known exactly: h is the mean of both. So ‖H̄ − h‖ is 0, at most
    # max_j ‖w_j − ŵ_j‖ = 0 as the proof says; with H̄ as printed, the first task alone, it is not.
    w = np.array([[1.0, 0.0], [0.0, 1.0]])
    prior = hs.priors.Average(estimation_regularization=1e-12)
    memory = prior.empty(2)
    for each in w:
        memory = prior.absorb(memory, hs.TaskStatistics.from_data(each[None], [1.0]))
    h = prior.prior(memory).bias
    np.testing.assert_allclose(h, theory.task_average(w, [1.0, 1.0]), atol=1e-9)
    assert np.linalg.norm(h - theory.task_average(w, [1.0, 0.0])) > 0.7


def test_weighted_deviation_is_about_the_mean_of_all_tasks() -> None:
    # Theorem 3 prints H_ρ(j, w_j), the distance from the mean of the first j tasks. The first task
    # then never counts. It alone plays e1, so it alone decides RR there: the bias is real.
    n = 5
    w = np.zeros((n, 2))
    w[0, 0] = 1.0
    grams = np.tile(np.diag([0.0, 10.0]), (n, 1, 1))
    grams[0] = np.diag([10.0, 0.0])
    counts = np.full(n, 10.0)
    bias = np.linalg.norm(theory.gram_average(w, grams) - theory.task_average(w, counts))
    assert bias == pytest.approx(1 - 1 / n)
    from_the_first = [np.linalg.norm(w[j] - w[: j + 1].mean(0)) for j in range(n)]
    printed = np.asarray(from_the_first) * theory.misalignment(grams)
    assert printed[0] == 0.0
    assert n * printed.max() < bias  # Lemma 5, as printed
    meant = theory.weighted_deviation(w, grams, counts)
    assert meant.sum() >= bias
    assert meant[0] == pytest.approx(1 - 1 / n)


def test_theorem_3_loses_a_lambda() -> None:
    # One task over and over, no noise: h − w̄ = −λw̄/(λ + ν). Printed: S/(λ + ν). λ = ν = 10, S = 1.
    tasks = hs.TaskStatistics(
        gram=np.array([[[10.0]]]),
        moment=np.array([[10.0]]),
        count=np.array([10.0]),
        sum_of_squares=np.array([10.0]),
    )
    w = np.array([[1.0]])
    terms = theory.pooled_error(tasks, w, w[0], regularization=10.0)
    error = float(np.linalg.norm(terms.total))
    assert error == pytest.approx(0.5)
    assert error > 1.0 / 20.0
    setting = Setting(dimension=1, horizon=10, regularization=10.0, noise_scale=0.0)
    assert theory.pooled_error_bound(setting, tasks, w, sampling_error=0.0).total >= error


def test_theorem_3_loses_half_the_dimension_in_the_logarithm() -> None:
    # Every basis vector once, λ = 1, d = T = 200, N = 1: ‖Xᵀη‖² in (Ṽ + λI)⁻¹'s norm is χ²_d/2,
    # near 100. Printed: 2 log(T(1 + NT/(λd))) = 2 log 400 = 12. Ours: 2 log T + d log 2 = 149.
    d = 200
    rng = np.random.default_rng(0)
    noise = (rng.standard_normal((1000, d)) ** 2).sum(-1) / 2
    printed = 2 * math.log(d * 2)
    pool = hs.RidgeEstimate(
        hs.TaskStatistics(np.eye(d), np.zeros(d), np.asarray(float(d)), np.asarray(0.0)),
        hs.Prior.zero(d, regularization=1.0),
    )
    ours = theory.pooled_radius(pool, noise_scale=1.0, failure_probability=1 / d, mean_norm=0.0)
    assert (noise > printed).all()
    assert (noise > ours**2).mean() <= 1 / d


def test_the_pools_smallest_eigenvalue_is_not_that_of_one_task_times_n_over_d() -> None:
    # Printed: ν_min ≥ (N/d) λ_min(V_j) for every j. One good task and three that say nothing,
    # d = 2: ν = 10, and (4/2)·10 = 20. Superadditivity gives N·min λ_min = 0, and Σ λ_min = 10.
    grams = np.zeros((4, 2, 2))
    grams[0] = 10.0 * np.eye(2)
    each, pooled = theory.smallest_eigenvalues(grams), theory.smallest_global_eigenvalue(grams)
    assert pooled == 10.0
    assert pooled < 4 / 2 * each.max()
    assert pooled >= each.sum() >= 4 * each.min()


def test_misalignment_can_exceed_one_unless_the_grams_commute() -> None:
    # V_1 = xxᵀ with x = (10, 1), V_2 = diag(0, 1). Ṽ = [[100, 10], [10, 2]], det 100, so
    # V_2 Ṽ⁻¹ = [[0, 0], [−0.1, 1]]: σ_max = √1.01. And V_1 Ṽ⁻¹ = [[1, 0], [0.1, 0]], √1.01 too.
    x = np.array([10.0, 1.0])
    grams = np.array([np.outer(x, x), np.diag([0.0, 1.0])])
    np.testing.assert_allclose(theory.misalignment(grams), math.sqrt(1.01), rtol=1e-9)
    assert theory.shared_basis(grams).commutator > 0.1
    # Larger still with a shallower angle: no constant holds.
    steep = np.array([np.outer([1.0, 10.0], [1.0, 10.0]), np.diag([0.0, 1.0])])
    assert theory.misalignment(steep).max() > 10
    commuting = np.array([np.diag([100.0, 1.0]), np.diag([0.0, 1.0])])
    assert (theory.misalignment(commuting) <= 1.0).all()
