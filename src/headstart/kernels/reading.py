"""Reading arms: predictions, widths and the index built from them."""

import math

import numpy as np

from headstart.arrays import Floats
from headstart.kernels.compilation import compiled
from headstart.kernels.state import Reading, TaskState


@compiled
def read(state: TaskState, arms: Floats, reading: Reading) -> None:
    """Read arms (R, K, d): P = XA, predictions Xŵ and widths √(row sums of P∘X)."""
    for i in range(arms.shape[0]):
        read_one(state, i, arms, i, reading, i)


@compiled(inline="always")
def read_one(state: TaskState, i: int, arms: Floats, j: int, reading: Reading, k: int) -> None:
    """Read arms[j] (K, d) of task i into entry k of the reading."""
    _, n_arms, dimension = arms.shape
    parameter, shift = state.parameter, state.shift
    projections, predictions, widths = reading.projections, reading.predictions, reading.widths
    moved = shift.shape[0] > 0
    np.dot(arms[j], state.inverse[i], projections[k])
    for arm in range(n_arms):
        prediction = 0.0
        square = 0.0
        for a in range(dimension):
            prediction += arms[j, arm, a] * parameter[i, a]
            square += arms[j, arm, a] * projections[k, arm, a]
        if moved:
            for a in range(dimension):
                prediction += projections[k, arm, a] * shift[i, a]
        predictions[k, arm] = prediction
        # Rounding may leave it below 0; overflow may end in ±∞ or NaN, and must show.
        finite = abs(square) < math.inf
        widths[k, arm] = math.sqrt(max(square, 0.0)) if finite else math.inf


@compiled
def read_mean(covariances: Floats, arms: Floats, reading: Reading, mean_widths: Floats) -> None:
    """Set mean_widths (R, K) for arms (R, K, d) that are read, given S̄, (R, d, d)."""
    scratch = np.empty(arms.shape[1:])
    for i in range(arms.shape[0]):
        read_mean_one(covariances, i, arms, i, reading.widths, i, scratch, mean_widths, i)


@compiled
def read_mean_one(
    covariances: Floats,
    i: int,
    arms: Floats,
    j: int,
    widths: Floats,
    k: int,
    scratch: Floats,
    mean_widths: Floats,
    m: int,
) -> None:
    """Set row m of mean_widths to √(xᵀS̄x), at most ‖x‖, for arms[j] (K, d), read in row k.

    It is at most ‖x‖ because the task's own rewards determine the mean task no better than the
    task.
    """
    _, n_arms, dimension = arms.shape
    np.dot(arms[j], covariances[i], scratch)
    for arm in range(n_arms):
        square = 0.0
        for a in range(dimension):
            square += arms[j, arm, a] * scratch[arm, a]
        mean_widths[m, arm] = min(math.sqrt(max(square, 0.0)), widths[k, arm])


@compiled
def project(state: TaskState, i: int, x: Floats, u: Floats) -> None:
    """Set u = Ax for one task and one arm (d,)."""
    inverse = state.inverse
    dimension = x.shape[0]
    u[:] = 0.0
    for a in range(dimension):
        weight = x[a]
        row = inverse[i, a]
        for b in range(dimension):
            u[b] += weight * row[b]


@compiled
def project_features(state: TaskState, features: Floats, projections: Floats) -> None:
    """Set projections (R, 1, d) to u = Ax for one arm per task, (R, 1, d)."""
    for i in range(features.shape[0]):
        project(state, i, features[i, 0], projections[i, 0])


@compiled(fastmath=False)
def index(predictions: Floats, widths: Floats, radii: Floats, scores: Floats) -> None:
    """Set scores (R, K) to xᵀŵ + radius·‖x‖, with one radius per row, (R,)."""
    for i in range(scores.shape[0]):
        index_one(predictions, widths, i, radii[i], scores, i)


@compiled(fastmath=False)
def index_by_parts(
    predictions: Floats,
    widths: Floats,
    mean_widths: Floats,
    radii: Floats,
    mean_radii: Floats,
    counts: Floats,
    scores: Floats,
) -> None:
    """`index_by_parts_one` for R tasks, with radii, mean radii and counts of rewards (R,)."""
    for i in range(scores.shape[0]):
        index_by_parts_one(
            predictions, widths, mean_widths, i, radii[i], mean_radii[i], counts[i], scores, i
        )


# Its callers are compiled without `fastmath`, so that one decision and many score alike to the bit.
@compiled(inline="always", fastmath=False)
def index_one(
    predictions: Floats, widths: Floats, i: int, radius: float, scores: Floats, j: int
) -> None:
    """Set row j of the scores from row i of the predictions and widths."""
    for k in range(scores.shape[1]):
        scores[j, k] = predictions[i, k] + radius * widths[i, k]


@compiled(inline="always", fastmath=False)
def index_by_parts_one(
    predictions: Floats,
    widths: Floats,
    mean_widths: Floats,
    i: int,
    radius: float,
    mean_radius: float,
    count: float,
    scores: Floats,
    j: int,
) -> None:
    """Set row j of the scores to xᵀŵ + radius·o√(no²/(1 + no²)) + mean radius·m.

    m is the mean width, o² = ‖x‖² − m² the task's own part. n more rewards of x would reveal the
    share no²/(1 + no²) of it; n is one more than the rewards so far.
    """
    for k in range(scores.shape[1]):
        width, mean_width = widths[i, k], mean_widths[i, k]
        square = max(width * width - mean_width * mean_width, 0.0)
        gain = (count + 1.0) * square
        own = math.sqrt(square * gain / (1.0 + gain))
        scores[j, k] = predictions[i, k] + radius * own + mean_radius * mean_width
