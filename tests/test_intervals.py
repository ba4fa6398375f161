"""Intervals against SciPy, by hand, and in simulated worlds."""

import math

import numpy as np
import pytest
from benchmarks.service import null_worlds
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from headstart.intervals import (
    PLANNED,
    Interval,
    Moments,
    interval,
    interval_around,
    interval_from,
    quantile,
    share,
    share_doubt,
    standard_errors,
    watched_difference,
    watched_margin,
    watched_until,
)


def test_interval_is_student_t() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    found = interval(values)
    low, high = stats.t.interval(0.95, 3, loc=4.0, scale=stats.sem(values))
    assert (found.mean, found.replications) == (4.0, 4)
    assert found.error == pytest.approx(stats.sem(values))
    assert (found.low, found.high) == pytest.approx((low, high))


def test_one_replication_has_an_unbounded_interval() -> None:
    found = interval(np.full(1, 1.25))
    assert found == Interval(1.25, math.inf, -math.inf, math.inf, 1)
    assert f"{found:.2f}" == "1.25 (1 replication)"
    assert found.with_error(".1f") == "1.2 (1 replication)"
    with pytest.raises(ValueError, match="at least 1 replication, got 0"):
        interval(np.ones(0))


def test_an_interval_follows_from_its_standard_error() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    found = interval(values)
    assert interval_from(found.mean, found.error, 4) == found
    normal = interval_from(1.0, 0.5, 4, math.inf)
    assert (normal.low, normal.high) == pytest.approx(stats.norm.interval(0.95, 1.0, 0.5))
    assert interval_from(1.0, math.inf, 9) == Interval(1.0, math.inf, -math.inf, math.inf, 9)


def test_an_interval_prints_itself() -> None:
    found = Interval(0.5, 0.125, 0.25, 0.75, 8)
    assert f"{found:.2f}" == "0.50 [0.25, 0.75]"
    assert found.with_error(".2f") == "0.50 ± 0.12"
    assert found.with_error(".3g", ".1g") == "0.5 ± 0.1"


def test_negation_swaps_the_ends() -> None:
    found = interval(np.array([1.0, 2.0, 6.0]))
    assert -found == interval(np.array([-1.0, -2.0, -6.0]))
    assert (-found).error == found.error > 0


def test_the_delta_method_of_a_mean_is_its_interval() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    assert interval_around(4.0, values) == interval(values)
    # The influence of a square at a mean of 4 is 2·4·value.
    assert interval_around(16.0, 8.0 * values).error == pytest.approx(8.0 * stats.sem(values))


def test_standard_errors_are_taken_along_the_first_axis() -> None:
    values = np.arange(12.0).reshape(3, 4) ** 2
    np.testing.assert_allclose(standard_errors(values), stats.sem(values, axis=0))
    np.testing.assert_array_equal(standard_errors(values[:1]), np.inf)


def test_quantiles_by_the_table() -> None:
    # Student's t at 97.5 %: 12.706 with 1 degree of freedom, 2.0452 with 29, 1.95996 with ∞.
    assert quantile(2) == pytest.approx(12.706, rel=1e-4)
    assert quantile(30) == pytest.approx(2.0452, rel=1e-4)
    assert quantile(math.inf) == pytest.approx(1.959964, rel=1e-6)


def test_a_share_has_its_exact_interval() -> None:
    # Clopper–Pearson for 0 of n: the upper end solves (1 − p)ⁿ = 0.025.
    none = share(0, 2000)
    assert (none.mean, none.low, none.replications) == (0.0, 0.0, 2000)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 2000), rel=1e-9)
    some = share(3, 10)
    assert some.low < 0.3 < some.high
    assert some.error == pytest.approx(math.sqrt(0.3 * 0.7 / 10))


VALUES = st.lists(st.floats(-100.0, 100.0, width=32), min_size=2, max_size=30)


def moments(values: list[float]) -> Moments:
    array = np.array(values)
    return Moments(n=len(array), total=float(array.sum()), squares=float((array**2).sum()))


@given(VALUES)
def test_moments_have_students_interval(values: list[float]) -> None:
    assume(np.std(values) > 0.1)
    found, expected = moments(values).interval, interval(np.array(values))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-3)


def test_an_open_difference_is_decided_by_as_many_values_as_are_said() -> None:
    def grown(factor: float) -> Interval:
        """The groups with as many more values of the same means and variances."""
        sizes, means = (factor * 90_000, factor * 10_000), (0.52, 0.5)
        warm, control = (
            Moments(n=round(n), total=n * mean, squares=n * (mean * mean + 1.0))
            for n, mean in zip(sizes, means, strict=True)
        )
        return watched_difference(warm, control)

    found = grown(1.0)
    assert found.low < 0.0 < found.high
    factor = watched_until(found) / found.replications
    assert grown(0.999 * factor).low < 0.0 < grown(1.001 * factor).low
    later = grown(2.0 * factor)
    assert watched_until(later) == later.replications
    assert watched_until(Interval(0.0, 1.0, -1.0, 1.0, 9)) == math.inf


def test_a_watched_difference_by_hand() -> None:
    # Means 2 and 1, variances 1 and 4, four values each. All together: squares of 15 within and 2
    # between the groups, so 17/7 where a group has less. nρ² = 8·7.9/1,000.
    first = Moments(n=4, total=8.0, squares=16.0 + 3.0)
    second = Moments(n=4, total=4.0, squares=4.0 + 12.0)
    found = watched_difference(first, second)
    error = math.sqrt((17 / 7 + 4.0) / 4)
    size = 8 * 7.9 / 1_000
    reach = math.sqrt(2 * (size + 1) / size * math.log(math.sqrt(size + 1) / 0.05))
    assert (found.mean, found.error) == pytest.approx((1.0, error))
    assert (found.low, found.high) == pytest.approx((1 - reach * error, 1 + reach * error))


def test_one_value_of_a_group_says_nothing() -> None:
    found = watched_difference(Moments(n=1, total=2.0, squares=4.0), moments([1.0, 0.0, 2.0]))
    assert (found.mean, found.low, found.high) == (1.0, -math.inf, math.inf)


def test_equal_values_have_no_width() -> None:
    found = watched_difference(moments([1.0] * 3), moments([1.0] * 3))
    assert (found.low, found.mean, found.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("kind", null_worlds.KINDS)
@pytest.mark.parametrize("share", null_worlds.SHARES)
def test_null_worlds_are_rarely_ever_told_apart(kind: str, share: float) -> None:
    """1,000 worlds without a gain, looked at after every task: 5 % ever exclude 0 at most.

    At the planned size the interval is at most 1.6 times as wide as Welch's, which holds for one
    look; where clicks are so rare that most control groups have had none, that is too narrow.
    """
    draw = null_worlds.KINDS[kind]
    ever, width = null_worlds.null_worlds(draw, share, n_tasks=2 * PLANNED)
    assert ever <= 0.05
    if kind != "rare":
        assert width <= 1.6


def test_a_gain_is_found_with_few_more_tasks_than_a_fixed_test_needs() -> None:
    """80 % of worlds with a gain of 5 % find it with 1.6² times the tasks at most."""
    found = null_worlds.worlds_with_a_gain(PLANNED, n_worlds=200)
    assert found["found_by_bar"] >= 0.8
    assert found["found_80"] <= 1.6**2


def test_rounds_that_are_not_over_make_no_gain() -> None:
    """Tasks that run at the same time, looked at after every reward: 5 % ever exclude 0 at most."""
    rng = np.random.default_rng(5)
    n_worlds, n_tasks, n_rounds, at_once = 500, 300, 20, 30
    control = rng.random((n_worlds, n_tasks)) < 0.2
    taste = rng.normal(0.0, 0.5, (n_worlds, n_tasks))
    worlds = np.arange(n_worlds)
    running = np.tile(np.arange(at_once), (n_worlds, 1))  # the tasks that are open
    counts, sums = np.zeros((2, n_worlds, n_tasks))
    n, totals, squares = np.zeros((3, 2, n_worlds))
    following = np.full(n_worlds, at_once)
    ever = np.zeros(n_worlds, dtype=bool)
    for _ in range((n_tasks - at_once) * n_rounds - 1):  # another task follows each
        place = rng.integers(at_once, size=n_worlds)
        task = running[worlds, place]
        group = control[worlds, task].astype(int)
        first = counts[worlds, task] == 0
        with np.errstate(invalid="ignore", divide="ignore"):
            before = np.where(first, 0.0, sums[worlds, task] / counts[worlds, task])
        counts[worlds, task] += 1
        sums[worlds, task] += taste[worlds, task] + rng.standard_normal(n_worlds)
        after = sums[worlds, task] / counts[worlds, task]
        n[group, worlds] += first
        totals[group, worlds] += after - before
        squares[group, worlds] += after**2 - before**2
        over = counts[worlds, task] == n_rounds
        running[worlds[over], place[over]] = following[over]
        following += over
        with np.errstate(invalid="ignore", divide="ignore"):
            means = totals / n
            variances = np.maximum(squares - totals * means, 0.0) / (n - 1.0)
            half = watched_margin(n, means, variances)[1]
            ever |= (np.abs(means[0] - means[1]) > half) & (n.min(0) >= 2)
    assert ever.mean() <= 0.05


def test_a_share_that_was_asked_for_is_rarely_ever_doubted() -> None:
    rng = np.random.default_rng(3)
    n_worlds, n = 500, 400
    chances = rng.choice([0.05, 0.5], n)  # the share is changed now and then
    hits = rng.random((n_worlds, n)) < chances
    logs = np.cumsum(np.where(hits, np.log(chances), np.log1p(-chances)), axis=1)
    ever = [
        any(share_doubt(int(k), i + 1, chance) < 0.05 for i, (k, chance) in enumerate(rows))
        for rows in (zip(np.cumsum(h), log, strict=True) for h, log in zip(hits, logs, strict=True))
    ]
    assert np.mean(ever) <= 0.05


def test_a_wrong_share_is_doubted() -> None:
    # 160 of 1,000 where 100 were expected: six standard deviations.
    log_chance = 160 * math.log(0.1) + 840 * math.log(0.9)
    assert share_doubt(160, 1_000, log_chance) < 1e-5
    assert share_doubt(0, 0, 0.0) == 1.0
