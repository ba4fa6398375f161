"""Kinds of tasks: how many there are among the latest tasks, and the next task given them.

Tasks w ~ N(h_c, τ²I) of kinds c (`kernels.kinds`) compete with the factor model. The comparison
uses the deviance with the means of all kinds and the division of tasks integrated out, plus 2 for
one more variance. So you need not set the number of kinds, and a kind that the data do not support
costs more than it gains.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from headstart.arrays import Floats
from headstart.kernels import (
    KindsModel,
    KindVariances,
    ThinTasks,
    centre_variance,
    climb_kinds,
    information,
    partition,
    responsibilities_of,
)
from headstart.priors.hierarchical import grid
from headstart.priors.hierarchical.normal import Component, Normal

# Look for kinds from this many tasks on, and up to this many features.
MIN_TASKS = 8
MAX_DIMENSION = 128
# More kinds than this count as no kinds.
MAX_KINDS = 32
# The shares of the variance within kinds to try when first dividing tasks.
_SHARES = (0.1, 0.4)
# A division is fitted if its deviance is at most this much above what it has to be.
_PROMISING = 20.0
_STEPS = 8
# The least variance of a coordinate, relative to the variance of all tasks.
_LEAST_VARIANCE = 1e-9


@dataclass(frozen=True, eq=False)
class NextKinds:
    """The next task by kind; the last one is an unseen kind.

    Shapes: C kinds and one; weights (C + 1,), means (C + 1, d), covariances (C + 1, d, d).
    `mean_covariance` (d, d) is the uncertainty of the kinds' means, on average.
    """

    weights: Floats
    means: Floats
    covariances: Floats
    mean_covariance: Floats
    noise: float

    @classmethod
    def of(
        cls, tasks: ThinTasks, means: Floats, counts: Floats, variances: KindVariances
    ) -> "NextKinds":
        """From fitted kinds, and from all tasks so far."""
        unknown = np.zeros((*means.shape, means.shape[-1]))
        fitted = KindsModel(means, unknown, counts, means.mean(0), variances)
        given = responsibilities_of(tasks, fitted)
        model, *_ = climb_kinds(tasks, given, fitted.centre, variances, 0, 0.0, np.inf)
        dimension, counts = len(model.centre), model.counts / tasks.weights.max()
        new = centre_variance(len(counts), variances) + variances.between
        spreads = np.concatenate([model.covariances, new * np.eye(dimension)[None]])
        weights = np.append(counts, 1.0) / (counts.sum() + 1.0)
        means = np.vstack([model.means, model.centre])
        of_kinds = np.tensordot(weights[:-1], model.covariances, 1) / weights[:-1].sum()
        found = cls(weights, means, spreads, of_kinds, variances.noise)
        # Variances within and between kinds never differ so much that no digits are left.
        within = max(variances.task, _LEAST_VARIANCE * np.trace(found.moments()[1]))
        found = replace(found, covariances=spreads + within * np.eye(dimension))
        noise = grid.limited_noise(found.noise, tasks.squares, tasks.counts, found.moments()[1])
        return replace(found, noise=noise)

    def moments(self) -> tuple[Floats, Floats]:
        """The mean (d,) and covariance (d, d) of the next task over all kinds."""
        mean = self.weights @ self.means
        gaps = self.means - mean
        covariance = np.tensordot(self.weights, self.covariances, 1)
        covariance += (self.weights[:, None] * gaps).T @ gaps
        return mean, (covariance + covariance.T) / 2.0


# The next task by kind, of replications with kinds.
ByKind = Mapping[tuple[int, ...], NextKinds]


def of_any_kind(whole: Normal, by_kind: ByKind) -> Normal:
    """The next task over all kinds where there are kinds; `whole` elsewhere."""
    if not by_kind:
        return whole
    after = Normal(*(np.array(getattr(whole, field.name)) for field in fields(whole)))
    for i, kinds in by_kind.items():
        after.mean[i], after.covariance[i] = kinds.moments()
        after.mean_covariance[i], after.noise_variance[i] = kinds.mean_covariance, kinds.noise
    return after


def components(
    halves: tuple[Normal, Normal], whole: Normal, by_kind: ByKind
) -> tuple[list[Component], Floats]:
    """The components of the next task, and how many of the first are kinds, (…).

    Two equally likely halves, or, where there are kinds, these and an unseen kind.
    """
    lead = whole.noise_variance.shape
    n_kinds, found = np.zeros(lead), []
    for i, kinds in by_kind.items():
        n_kinds[i] = len(kinds.weights) - 1
    for c in range(max(2, int(n_kinds.max(initial=0)) + 1)):
        normal = halves[c] if c < 2 else whole
        probability = np.where(n_kinds > 0, 0.0, 0.5 if c < 2 else 0.0)
        if by_kind:
            normal = replace(normal, mean=normal.mean.copy(), covariance=normal.covariance.copy())
        for i, kinds in by_kind.items():
            if c < len(kinds.weights):
                normal.mean[i], normal.covariance[i] = kinds.means[c], kinds.covariances[c]
                probability[i] = kinds.weights[c]
        found.append(Component(normal, probability))
    return found, n_kinds


def divide(
    tasks: ThinTasks,
    estimates: Floats,
    centre: Floats,
    variances: tuple[float, float],
    *,
    limits: tuple[float, float],
    criterion: float,
) -> KindsModel | None:
    """The kinds of tasks, largest first; None unless their deviance + 2 is below the criterion.

    `estimates` (N, d) are the factor model's estimates of the tasks; the model has the mean task
    `centre`, s², and the variance of a coordinate. A tree of the estimates (Ward's) has the best
    division to start from.
    """
    from scipy.cluster.hierarchy import linkage  # noqa: PLC0415 - a fifth of a second

    n, dimension = estimates.shape
    if n < MIN_TASKS or dimension > MAX_DIMENSION:
        return None
    merges = np.ascontiguousarray(linkage(estimates, "ward")[:, :2].astype(np.int64))
    noise, total = variances
    mean = float(centre @ centre) / dimension + 1e-10 * total
    best, kinds, start = np.inf, np.zeros(n, dtype=np.int64), None
    for share in _SHARES:
        trial = KindVariances(noise, share * total, (1.0 - share) * total, mean)
        known = information(tasks, trial.noise, trial.task)
        found, deviance = partition(known, tasks.weights, merges, centre, trial.between)
        spread = centre_variance(int(found.max()) + 1, trial)
        deviance += dimension * (
            np.log(mean / spread) + float(centre @ centre) / (dimension * mean)
        )
        if deviance < best:
            best, kinds, start = deviance, found, trial
    if start is None or best + 2.0 > criterion + _PROMISING or not 1 < kinds.max() + 1 <= MAX_KINDS:
        return None
    given = np.eye(int(kinds.max()) + 1)[kinds]
    model, _, deviance = climb_kinds(tasks, given, centre, start, _STEPS, *limits)
    if not deviance + 2.0 < criterion or len(model.counts) < 2:
        return None
    order = np.argsort(-model.counts, kind="stable")
    return model._replace(
        means=model.means[order], covariances=model.covariances[order], counts=model.counts[order]
    )
