"""Choosing among scores, and what the choices of a round are worth."""

import math

import numpy as np
from numba import njit

from headstart.arrays import Floats, Integers

# Scores closer than this, relative to the largest, differ by rounding only: they are tied.
TIE_TOLERANCE = 1e-9


@njit(cache=True, nogil=True)
def choose(
    scores: Floats, uniforms: Floats, paid: Floats, choices: Integers, rewards: Floats
) -> None:
    """Pick a largest score in every row, ties by the row's uniform number, and hand out its pay."""
    for i in range(scores.shape[0]):
        choices[i], _ = pick(scores, i, uniforms[i])
        rewards[i] = paid[i, choices[i]]


@njit(inline="always", cache=True, nogil=True)
def pick(scores: Floats, i: int, uniform: float) -> tuple[int, int]:
    """One row of `choose`: the arm, and how many tied with it."""
    n_arms = scores.shape[1]
    best = scores[i, 0]
    size = abs(best)
    for k in range(1, n_arms):
        best = max(best, scores[i, k])
        size = max(size, abs(scores[i, k]))
    bar = best - TIE_TOLERANCE * size
    tied = 0
    for k in range(n_arms):
        if scores[i, k] >= bar:
            tied += 1
    wanted = min(int(uniform * tied), tied - 1)
    chosen = 0
    for k in range(n_arms):
        if scores[i, k] >= bar:
            if wanted == 0:
                chosen = k
                break
            wanted -= 1
    return chosen, tied


@njit(cache=True, nogil=True)
def regrets(means: Floats, choices: Integers, regret: Floats) -> None:
    """Set the regret (R,) of choices (R,): the largest mean less the chosen one."""
    for i in range(choices.shape[0]):
        best = means[i, 0]
        for k in range(1, means.shape[1]):
            best = max(best, means[i, k])
        regret[i] = best - means[i, choices[i]]


@njit(cache=True, nogil=True)
def win_probabilities(utilities: Floats, chances: Floats) -> None:
    """Set chances (R, K) to P(uₖ + zₖ is the largest), z independent standard normal.

    ∫ φ(y − uₖ) Πⱼ≠ₖ Φ(y − uⱼ) dy by the trapezoid rule, whose error falls faster than any power of
    the step. The more arms, the sharper the integrand: to rounding for up to 20, 1e-10 for 100.
    """
    replications, n_arms = utilities.shape
    step, reach = 0.4 if n_arms <= 5 else 0.25, 9.0
    root_half = math.sqrt(0.5)
    below = np.empty(n_arms)
    after = np.empty(n_arms + 1)
    for i in range(replications):
        top = utilities[i].max()
        chances[i] = 0.0
        # Nobody wins from below the leader's lower tail, so the integral starts there.
        for node in range(int(2 * reach / step) + 1):
            y = top - reach + node * step
            for k in range(n_arms):
                below[k] = 0.5 * math.erfc((utilities[i, k] - y) * root_half)
            after[n_arms] = 1.0
            for k in range(n_arms - 1, -1, -1):
                after[k] = after[k + 1] * below[k]
            before = step / math.sqrt(2.0 * math.pi)
            for k in range(n_arms):
                gap = y - utilities[i, k]
                chances[i, k] += before * math.exp(-0.5 * gap * gap) * after[k + 1]
                before *= below[k]
