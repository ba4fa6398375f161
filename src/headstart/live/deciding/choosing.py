"""Choosing among scores with a floor of exploration, and the exact probability of the choice."""

from dataclasses import dataclass

import numpy as np

from headstart import kernels
from headstart.arrays import Floats, Integers
from headstart.kernels.choice import tie_threshold
from headstart.kernels.compilation import compiled
from headstart.live.feature_names import FeatureNames


@dataclass(frozen=True, kw_only=True, eq=False)
class Choosing:
    """How a bandit chooses, beside its policy, and what the features are called."""

    exploration: float  # ε: the probability to choose uniformly among the eligible arms
    draws: int  # m: how many draws the propensities of a policy that samples are taken over
    names: FeatureNames

    def n_draws(self, n_uniforms: int) -> int:
        """How many rows of scores a decision needs, for a policy with so many uniforms of its own.

        One where the policy does not sample, and where propensities are not wanted (m = 0).
        """
        return max(self.draws, 1) if n_uniforms else 1


@compiled(inline="always")
def _probability(tied: int, eligible: int, ties: bool, exploration: float) -> float:
    """ε/K, and (1 − ε)/tied for an arm that ties with the best."""
    return exploration / eligible + ((1.0 - exploration) / tied if ties else 0.0)


@compiled
def _probability_of(scores: Floats, i: int, arm: int, exploration: float) -> float:
    """The probability of an arm to be chosen from row i of the scores (m, K)."""
    if scores[i, arm] == -np.inf:
        return 0.0
    threshold = tie_threshold(scores, i)
    tied = 0
    eligible = 0
    for k in range(scores.shape[1]):
        tied += scores[i, k] >= threshold
        eligible += scores[i, k] > -np.inf
    return _probability(tied, eligible, scores[i, arm] >= threshold, exploration)


@compiled
def choose(scores: Floats, i: int, uniform: float, exploration: float) -> tuple[int, float]:
    """An arm by row i of the scores (m, K), −∞ where masked, and its probability.

    A uniform number u < ε takes the eligible arm number ⌊u/ε·K⌋; else (u − ε)/(1 − ε) breaks ties
    for the largest score.
    """
    if exploration == 0.0:
        choice, tied = kernels.pick(scores, i, uniform)
        return choice, 1.0 / tied
    if uniform >= exploration:
        choice, _ = kernels.pick(scores, i, (uniform - exploration) / (1.0 - exploration))
        return choice, _probability_of(scores, i, choice, exploration)
    eligible = 0
    for k in range(scores.shape[1]):
        eligible += scores[i, k] > -np.inf
    wanted = min(int(uniform / exploration * eligible), eligible - 1)
    choice = 0
    for k in range(scores.shape[1]):
        if scores[i, k] > -np.inf:
            if wanted == 0:
                choice = k
                break
            wanted -= 1
    return choice, _probability_of(scores, i, choice, exploration)


@compiled
def choose_ranked(
    scores: Floats,
    draw: int,
    uniforms: Floats,
    exploration: float,
    choices: Integers,
    propensities: Floats,
) -> None:
    """The best n arms in order by one of m equally likely rows of the scores (m, K).

    A propensity is that of its arm given the ones before it: rows count by how likely they make
    those. So the product of all n is the probability of the list. Chosen arms become −∞.
    """
    n_rows = scores.shape[0]
    weights, chances = np.ones(n_rows), np.empty(n_rows)
    for rank in range(uniforms.shape[0]):
        choice, _ = choose(scores, draw, uniforms[rank], exploration)
        least = 1.0
        for i in range(n_rows):
            chances[i] = _probability_of(scores, i, choice, exploration)
            least = min(least, chances[i])
        total = 0.0
        more = 0.0
        for i in range(n_rows):
            total += weights[i]
            more += weights[i] * (chances[i] - least)
        # In this form, rounding leaves it neither below the floor nor above 1.
        propensities[rank] = min(least + more / total, 1.0)
        choices[rank] = choice
        for i in range(n_rows):
            weights[i] *= chances[i] / propensities[rank]
            scores[i, choice] = -np.inf


def first_propensities(scores: Floats, exploration: float) -> Floats:
    """The probability of every arm (K,) to be chosen first, over the rows of the scores (m, K)."""
    found = np.empty(scores.shape[1])
    kernels.propensities(scores, found)
    eligible = scores > -np.inf
    floors = eligible * (exploration / eligible.sum(axis=1, keepdims=True))
    least = floors.min(axis=0)
    return np.asarray(least + (floors - least).mean(axis=0) + (1.0 - exploration) * found)
