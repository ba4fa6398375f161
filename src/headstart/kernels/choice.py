"""Choosing among scores: the tie rule, rewards and regrets of choices, and win probabilities."""

import math

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled

# Scores closer than this, relative to the largest, differ by rounding only: they are tied.
TIE_TOLERANCE = 1e-9


@compiled(inline="always")
def tie_threshold(scores: Floats, i: int) -> float:
    """The smallest score of row i that ties with the largest. −∞, a masked arm, never ties."""
    best: float = scores[i, 0]
    size = abs(best)
    for k in range(1, scores.shape[1]):
        best = max(best, scores[i, k])
        size = max(size, abs(scores[i, k]))
    if size == np.inf:
        size = abs(best)
        for k in range(scores.shape[1]):
            if scores[i, k] > -np.inf:
                size = max(size, abs(scores[i, k]))
    return best - TIE_TOLERANCE * size


@compiled
def pick(scores: Floats, i: int, uniform: float) -> tuple[int, int]:
    """A largest score of row i, ties by the uniform number: the arm, and how many tied with it."""
    n_arms = scores.shape[1]
    threshold = tie_threshold(scores, i)
    tied = 0
    for k in range(n_arms):
        if scores[i, k] >= threshold:
            tied += 1
    wanted = min(int(uniform * tied), tied - 1)
    chosen = 0
    for k in range(n_arms):
        if scores[i, k] >= threshold:
            if wanted == 0:
                chosen = k
                break
            wanted -= 1
    return chosen, tied


@compiled
def choose(
    scores: Floats, uniforms: Floats, payoffs: Floats, choices: Integers, rewards: Floats
) -> bool:
    """Pick an arm in every row, and set its reward from the payoffs (R, K) of all arms.

    Returns whether no score is NaN; the choices mean nothing otherwise.
    """
    numbers = True
    for i in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            numbers &= scores[i, k] == scores[i, k]
        choices[i], _ = pick(scores, i, uniforms[i])
        rewards[i] = payoffs[i, choices[i]]
    return numbers


@compiled
def propensities(scores: Floats, probabilities: Floats) -> None:
    """Set probabilities (K,) to each arm's probability of being picked, a mean over rows."""
    probabilities[:] = 0.0
    for i in range(scores.shape[0]):
        threshold = tie_threshold(scores, i)
        tied = 0
        for k in range(scores.shape[1]):
            if scores[i, k] >= threshold:
                tied += 1
        for k in range(scores.shape[1]):
            if scores[i, k] >= threshold:
                probabilities[k] += 1.0 / tied
    for k in range(scores.shape[1]):
        probabilities[k] /= scores.shape[0]


@compiled
def regrets(means: Floats, choices: Integers, regret: Floats) -> None:
    """Set the regret (R,) of choices (R,): the largest mean minus the chosen one."""
    for i in range(choices.shape[0]):
        best = means[i, 0]
        for k in range(1, means.shape[1]):
            best = max(best, means[i, k])
        regret[i] = best - means[i, choices[i]]


@compiled(fastmath=False)
def win_probabilities(utilities: Floats, probabilities: Floats) -> None:
    """Set probabilities (R, K) to P(uₖ + zₖ is the largest), z independent standard normal.

    ∫ φ(y − uₖ) Πⱼ≠ₖ Φ(y − uⱼ) dy by the trapezoid rule, whose error falls faster than any power of
    the step. The more arms, the sharper the integrand: to rounding for up to 20, 1e-10 for 100.
    """
    replications, n_arms = utilities.shape
    step, reach = 0.4 if n_arms <= 5 else 0.25, 9.0
    root_half = math.sqrt(0.5)
    below = np.empty(n_arms)
    after = np.empty(n_arms + 1)
    for i in range(replications):
        top = utilities[i, 0]
        for k in range(n_arms):
            top = max(top, utilities[i, k])
            probabilities[i, k] = 0.0
        # No arm wins from below the largest utility's lower tail, so the integral starts there.
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
                probabilities[i, k] += before * math.exp(-0.5 * gap * gap) * after[k + 1]
                before *= below[k]
