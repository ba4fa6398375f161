import math

import numpy as np
import pytest

import headstart as hs
from headstart import theory
from headstart.theory import ErrorTerms


def some_tasks(
    seed: int, n: int = 4, t: int = 6, d: int = 3
) -> tuple[hs.TaskStatistics, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(n, t, d)), rng.normal(size=(n, d))
    noise = rng.normal(size=(n, t))
    y = (x @ w[..., None])[..., 0] + noise
    return hs.TaskStatistics.from_data(x, y), w, x, noise


def test_error_and_averages_by_hand() -> None:
    assert theory.estimation_error([3.0, 4.0], [0.0, 0.0]) == 25.0
    tasks = np.array([[1.0, 0.0], [4.0, 3.0]])
    np.testing.assert_allclose(theory.task_average(tasks, [2.0, 1.0]), [2.0, 1.0])
    assert theory.sampling_error(tasks, [2.0, 1.0], [2.0, 5.0]) == pytest.approx(4.0)
    # V_1 = diag(3, 0), V_2 = diag(1, 2): H̄' = ((3·1 + 1·4)/4, 3).
    grams = np.array([np.diag([3.0, 0.0]), np.diag([1.0, 2.0])])
    np.testing.assert_allclose(theory.gram_average(tasks, grams), [7 / 4, 3.0])


def test_a_direction_without_plays_is_left_at_zero() -> None:
    grams = np.array([np.diag([3.0, 0.0]), np.diag([1.0, 0.0])])
    tasks = np.array([[1.0, 9.0], [5.0, 9.0]])
    np.testing.assert_allclose(theory.gram_average(tasks, grams), [2.0, 0.0])


@pytest.mark.parametrize("seed", range(5))
def test_parts_of_averages_error_add_up_to_it(seed: int) -> None:
    tasks, w, x, noise = some_tasks(seed)
    centre = np.array([0.1, 0.2, 0.3])
    terms = theory.average_error(tasks, w, centre, regularization=0.7)
    prior = hs.priors.Average(estimation_regularization=0.7)
    memory = prior.empty(3)
    for j in range(4):
        memory = prior.absorb(memory, hs.TaskStatistics.from_data(x[j], (x[j] @ w[j]) + noise[j]))
    np.testing.assert_allclose(terms.total, prior.prior(memory).bias - centre, atol=1e-12)
    # By another route: the noise term is what noise alone would be fitted to.
    alone = [
        np.linalg.solve(a.T @ a + 0.7 * np.eye(3), a.T @ e) for a, e in zip(x, noise, strict=True)
    ]
    np.testing.assert_allclose(terms.noise, np.mean(alone, axis=0), atol=1e-12)
    assert not terms.bias.any()


@pytest.mark.parametrize("seed", range(5))
def test_lemma_4_terms_of_the_pools_error_add_up_to_it(seed: int) -> None:
    tasks, w, x, noise = some_tasks(seed)
    centre = np.array([0.1, 0.2, 0.3])
    terms = theory.pooled_error(tasks, w, centre, regularization=0.7)
    prior = hs.priors.Pooled(estimation_regularization=0.7)
    memory = prior.empty(3)
    for j in range(4):
        memory = prior.absorb(memory, hs.TaskStatistics.from_data(x[j], (x[j] @ w[j]) + noise[j]))
    np.testing.assert_allclose(terms.total, prior.prior(memory).bias - centre, atol=1e-12)
    flat, eta = x.reshape(-1, 3), noise.reshape(-1)
    pool = flat.T @ flat + 0.7 * np.eye(3)
    np.testing.assert_allclose(terms.noise, np.linalg.solve(pool, flat.T @ eta), atol=1e-12)
    np.testing.assert_allclose(terms.ridge, -0.7 * np.linalg.solve(pool, w.mean(0)), atol=1e-12)
    # Lemma 4 as printed: the same noise, and the ridge term of H̄'.
    target = theory.gram_average(w, tasks.gram)
    lemma = terms.noise - 0.7 * np.linalg.solve(pool, target)
    np.testing.assert_allclose(prior.prior(memory).bias - target, lemma, atol=1e-12)


def test_a_nearly_singular_pool_does_not_inflate_the_terms() -> None:
    # Two tasks hardly explore e2, by arms that lean to either side, and disagree on e1: H̄' goes to
    # 10⁻³/(2.2·10⁻⁶) = 454 along e2, and no term does.
    w = np.array([[1.0, 0.0], [0.0, 0.0]])
    grams = np.array([[[1.0, 1e-3], [1e-3, 1.1e-6]], [[1.0, -1e-3], [-1e-3, 1.1e-6]]])
    moment = (grams @ w[..., None])[..., 0]
    tasks = hs.TaskStatistics(grams, moment, np.ones(2), np.full(2, 9.0))
    assert np.abs(theory.gram_average(w, grams)).max() > 400
    terms = theory.pooled_error(tasks, w, np.zeros(2), regularization=1.0)
    assert max(square for square in terms.squares().values()) < 2.0
    np.testing.assert_allclose(terms.noise, 0.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_lemma_5_the_bias_is_at_most_the_sum_of_weighted_deviations(seed: int) -> None:
    tasks, w, _, _ = some_tasks(seed, t=3)
    gap = np.linalg.norm(theory.gram_average(w, tasks.gram) - theory.task_average(w, tasks.count))
    spread = theory.weighted_deviation(w, tasks.gram, tasks.count)
    assert 0 < gap <= spread.sum() <= len(w) * spread.max()


def test_equal_tasks_have_no_bias_whatever_they_play() -> None:
    tasks, _, _, _ = some_tasks(0)
    w = np.tile([1.0, 2.0, 3.0], (4, 1))
    terms = theory.pooled_error(tasks, w, w[0], regularization=1.0)
    np.testing.assert_allclose(terms.bias, 0.0, atol=1e-12)
    np.testing.assert_allclose(theory.weighted_deviation(w, tasks.gram, tasks.count), 0, atol=1e-12)


def test_squares_name_every_term() -> None:
    terms = ErrorTerms(*(np.array([float(i), 0.0]) for i in range(1, 5)))
    assert terms.squares() == {"sampling": 1.0, "bias": 4.0, "noise": 9.0, "ridge": 16.0}


def test_pool_is_concatenation() -> None:
    tasks, w, x, noise = some_tasks(1)
    y = (x @ w[..., None])[..., 0] + noise
    whole = hs.TaskStatistics.from_data(x.reshape(-1, 3), y.reshape(-1))
    pooled = theory.pool(tasks)
    for name in ("gram", "moment", "count", "sum_of_squares"):
        np.testing.assert_allclose(getattr(pooled, name), getattr(whole, name), rtol=1e-12)


def test_bennett_by_hand() -> None:
    # log(2/δ) = 3, S = 2, Var_0 = 1.5, N = 10: 2·3·2/10 + √(2·3·1.5/10).
    bound = theory.bennett_bound(
        n_tasks=10, parameter_bound=2.0, second_moment=1.5, failure_probability=2 * math.exp(-3)
    )
    assert bound == pytest.approx(1.2 + math.sqrt(0.9), rel=1e-14)


@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_bennett_holds(delta: float) -> None:
    # 2,000 times N tasks from the corners of a cube, off centre, S = 1.
    rng = np.random.default_rng(4)
    corners = np.array([[a, b, c] for a in (0.0, 1.0) for b in (0.0, 1.0) for c in (0.0, 1.0)])
    corners /= np.sqrt(3.0)
    for n in (2, 10, 50):
        drawn = corners[rng.integers(8, size=(2000, n))]
        errors = theory.sampling_error(drawn, np.ones((2000, n)), corners.mean(0))
        bound = theory.bennett_bound(
            n_tasks=n,
            parameter_bound=1.0,
            second_moment=float(theory.task_variance(corners, np.zeros(3))),
            failure_probability=delta,
        )
        assert (errors > bound).mean() <= delta
    # It is loose by less than five: a fifth of it is often exceeded by the last, N = 50.
    assert (errors > bound / 5).mean() > 0.1
