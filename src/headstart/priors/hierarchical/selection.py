"""Which factor model the tasks of one replication support: its rank, and whether side information.

Models are compared by deviance + 2 × the number of their parameters (AIC): d − k for the column of
L after k others, one for ω, and one for each variance of H's columns beside the mean task's: else a
direction would be found for what it says of the mean task. Those of L count
N/(N − φr) times. φ is the share of ε's variance that rewards determine, Σ tr(I + λV_j⁻¹)⁻¹/(Nd):
of tasks that are known exactly, φ = 1, few are never isotropic, and the largest direction among
them gains more than its parameters; of ε that is lost in noise, φ = 0, nothing can be fitted.
"""

from dataclasses import dataclass

import numpy as np

from headstart.kernels import Expected, FactorModel, ThinTasks, climb, new_direction

MAX_RANK = 8
# Steps from where the last fit ended, fewer where each takes a tenth of a second, and from a
# changed model.
_STEPS = 4
_LARGE, _STEPS_WHERE_LARGE = 256, 2
_TRIAL_STEPS = 10
# A new direction is tried if, added alone, it gains this part of what it must gain.
_PROMISING = 0.35


@dataclass(frozen=True)
class Limits:
    """λ's least and most, and the largest rank."""

    least: float
    most: float
    rank: int


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model fitted to tasks, and what it expects of them."""

    tasks: ThinTasks
    model: FactorModel
    expected: Expected

    @property
    def rank(self) -> int:
        """The number of directions, r."""
        return int(self.model.loadings.shape[1])

    @property
    def criterion(self) -> float:
        """Deviance + 2 × the number of parameters."""
        n_variances = self.tasks.regressors.shape[-1] - 1 + (self.rank > 0)
        return float(self.expected.deviance + self.penalty(self.rank) + 2.0 * n_variances)

    def penalty(self, rank: int) -> float:
        """Twice the number of parameters of an L of this rank, corrected for few tasks."""
        tasks, weights = self.tasks, self.tasks.weights
        n, dimension = float(weights.sum()), tasks.designs.shape[-1]
        determined = tasks.squares / (tasks.squares + self.model.noise / self.model.task)
        share = float(weights @ determined.sum(-1)) / (n * dimension)
        parameters = rank * dimension - rank * (rank - 1) // 2
        return 2.0 * parameters * n / (n - share * rank) if n > rank else np.inf


def fitted(tasks: ThinTasks, model: FactorModel, limits: Limits, steps: int) -> Candidate | None:
    """The model after so many steps; None where no digits are left to fit it with."""
    try:
        found = Candidate(tasks, *climb(tasks, model, steps, limits.least, limits.most))
    except np.linalg.LinAlgError:
        return None
    values = (found.expected.deviance, found.model.noise, found.model.task)
    is_sound = np.isfinite(values).all() and np.isfinite(found.model.loadings).all()
    return found if is_sound and np.isfinite(found.expected.gradients).all() else None


def select(
    tasks: ThinTasks, model: FactorModel, limits: Limits, *, afresh: bool
) -> Candidate | None:
    """The best model that is near the last one, with directions more, or one less; None for none.

    `tasks` have the side information among their regressors; a model without it has one mean.
    With `afresh` it is also compared with the one found from no direction at all.
    """
    n_regressors = tasks.regressors.shape[-1]
    plain = tasks._replace(regressors=np.ascontiguousarray(tasks.regressors[:, :1]))
    used = tasks if len(model.means) == n_regressors else plain
    steps = _STEPS if tasks.designs.shape[-1] < _LARGE else _STEPS_WHERE_LARGE
    found = [_resized(fitted(used, model, limits, steps), limits)]
    best = model if found[0] is None else found[0].model
    start = _shortened(best, 0)
    if found[0] is None or (afresh and found[0].rank):
        found.append(_resized(fitted(used, start, limits, _TRIAL_STEPS), limits))
    if n_regressors > 1:
        other = plain if used is tasks else tasks
        side = np.full(other.regressors.shape[-1] - 1, start.task)
        start = start._replace(means=np.concatenate([start.means[:1], side]))
        found.append(_resized(fitted(other, start, limits, _TRIAL_STEPS), limits))
    candidates = [each for each in found if each is not None]
    return min(candidates, key=lambda each: each.criterion, default=None)


def _resized(start: Candidate | None, limits: Limits) -> Candidate | None:
    return None if start is None else resized(start, limits)


def resized(start: Candidate, limits: Limits) -> Candidate:
    """With new directions for as long as the criterion falls; else without the smallest one."""
    best = start
    while best.rank < limits.rank:
        longer = _grown(best, limits)
        if longer is None or longer.criterion >= best.criterion:
            break
        best = longer
    if best is start and best.rank:
        shorter = fitted(best.tasks, _shortened(best.model, best.rank - 1), limits, _TRIAL_STEPS)
        if shorter is not None and shorter.criterion < best.criterion:
            best = shorter
    return best


def _grown(best: Candidate, limits: Limits) -> Candidate | None:
    """With one more direction; None where it would gain too little."""
    try:
        direction, gain = new_direction(best.tasks, best.expected)
    except np.linalg.LinAlgError:
        return None
    needed = best.penalty(best.rank + 1) - best.penalty(best.rank)
    if gain < _PROMISING * needed:
        return None
    loadings = np.column_stack([best.model.loadings, direction])
    model = best.model._replace(loadings=np.ascontiguousarray(loadings))
    return fitted(best.tasks, model, limits, _TRIAL_STEPS)


def _shortened(model: FactorModel, rank: int) -> FactorModel:
    """The model with the largest of L's principal directions; the others' variance goes to τ²I.

    So does that of the mean task along them to κ²I: from there the fit has little to do.
    """
    u, values, _ = np.linalg.svd(model.loadings, full_matrices=False)
    lost = float((values[rank:] ** 2).sum()) / len(u)
    means = model.means.copy()
    means[0] += model.along * lost
    return model._replace(
        loadings=np.ascontiguousarray(u[:, :rank] * values[:rank]),
        task=model.task + lost,
        means=means,
        along=model.along if rank else 1.0,
    )
