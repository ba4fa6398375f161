"""The Gittins index by parts: what each part of a width is worth exploring."""

import math

from headstart.arrays import Floats
from headstart.kernels.compilation import compiled

_LOG_16_PI = math.log(16.0 * math.pi)


@compiled(inline="always", fastmath=False)
def worth_exploring(variance: float, uses: float) -> float:
    """The squared bonus of a normal quantity with n uses to come: b(nσ²)²/n, in units of the noise.

    Its root is what the Gittins index of an arm adds to its mean, for a discount of 1 − 1/n, by the
    approximation of Chick and Gans (2009): b(x) is x/√2 for small x, and for large x
    √(x(2 log x − log log x − log 16π)).
    """
    x = variance * uses
    if x <= 1.0 / 7.0:
        return 0.5 * x * variance
    log = math.log(x)
    if x <= 100.0:
        return math.exp(2.0 * ((0.89106 - 0.02645 * log) * log - 0.4873)) / uses
    return variance * (2.0 * log - math.log(log) - _LOG_16_PI)


# Callers are compiled without `fastmath`, so that one decision and many score alike to the bit.
@compiled(inline="always", fastmath=False)
def gittins_one(
    prediction: float,
    width: float,
    mean_width: float,
    item_width: float,
    scale: float,
    task_uses: float,
    mean_uses: float,
    item_uses: float,
) -> float:
    """The prediction, and s times the root of what the parts of the width are worth exploring.

    The parts are the uncertainty of the mean task, of the item's effect, and what is left: how this
    task differs from the mean.
    """
    of_mean, of_item = mean_width * mean_width, item_width * item_width
    own = max(width * width - of_mean - of_item, 0.0)
    worth = worth_exploring(own, task_uses) + worth_exploring(of_mean, mean_uses)
    return prediction + scale * math.sqrt(worth + worth_exploring(of_item, item_uses))


@compiled(fastmath=False)
def gittins(
    predictions: Floats,
    widths: Floats,
    mean_widths: Floats,
    item_widths: Floats,
    scales: Floats,
    task_uses: Floats,
    mean_uses: Floats,
    item_uses: Floats,
    scores: Floats,
) -> None:
    """`gittins_one` for R tasks: scales and uses of the task and the mean (R,), of items (R, K)."""
    for i in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            scores[i, k] = gittins_one(
                predictions[i, k], widths[i, k], mean_widths[i, k], item_widths[i, k],
                scales[i], task_uses[i], mean_uses[i], item_uses[i, k],
            )  # fmt: skip
