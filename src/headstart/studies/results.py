"""Results: `reward` and `regret` over (learner, regularization, trained, replication, task, round).

Every study has these dimensions. A sequence begins without training, so its `trained` is [0]; test
tasks are averaged, so a train-then-test study has one `task`. If replications share tasks
(MovieLens's overlapping clusters), the coordinate `cohort` says which belong together.
"""

from collections.abc import Collection

import numpy as np
import xarray as xr

from headstart.arrays import Floats, Integers

# One in this many replications chooses λ, and the others measure.
_CHOOSING = 4

DIMENSIONS = ("learner", "regularization", "trained", "replication", "task", "round")


def at_training(results: xr.Dataset, trained: int | None = None) -> xr.Dataset:
    """The results after a number of training tasks, by default the study's last.

    Replications of one cohort are averaged to one, so that all are independent.

    Examples
    --------
    >>> import xarray as xr
    >>> from headstart.studies import at_training
    >>> regret = (("trained", "replication"), [[4.0, 6.0], [1.0, 3.0]])
    >>> results = xr.Dataset({"regret": regret}, coords={"trained": [0, 10]})
    >>> at_training(results, 10).regret.to_numpy()
    array([1., 3.])
    """
    if trained is None:
        return independent(results.isel(trained=-1, drop=True))
    return independent(results.sel(trained=trained, drop=True))


def independent(results: xr.Dataset) -> xr.Dataset:
    """The results with the mean of each cohort as one replication; unchanged without cohorts.

    Examples
    --------
    >>> import xarray as xr
    >>> from headstart.studies import independent
    >>> results = xr.Dataset(
    ...     {"regret": ("replication", [4.0, 6.0, 1.0])},
    ...     coords={"cohort": ("replication", [0, 0, 1])},
    ... )
    >>> independent(results).regret.to_numpy()
    array([5., 1.])
    """
    if "cohort" not in results.coords:
        return results
    numbers = results["cohort"].to_numpy()
    means = [
        results.isel(replication=np.flatnonzero(numbers == number)).mean("replication")
        for number in np.unique(numbers)
    ]
    joined = xr.concat(means, "replication").assign_coords(replication=np.unique(numbers))
    return joined.transpose(*results.dims)


def cohort_means(values: Floats, cohorts: Integers) -> Floats:
    """The mean of values (R, …) of every cohort, (C, …)."""
    return np.stack([values[cohorts == number].mean(0) for number in np.unique(cohorts)])


def totals(
    results: xr.Dataset, variable: str = "regret", trained: int | None = None
) -> xr.DataArray:
    """A variable summed over tasks and rounds: (learner, regularization, replication).

    Examples
    --------
    >>> import xarray as xr
    >>> from headstart.studies import totals
    >>> dims = ("learner", "regularization", "trained", "replication", "task", "round")
    >>> results = xr.Dataset({"regret": (dims, np.ones((1, 1, 1, 2, 3, 10)))})
    >>> totals(results).to_numpy()
    array([[[30., 30.]]])
    """
    return at_training(results, trained)[variable].sum(["task", "round"])


def choosing(replications: int) -> Integers:
    """The replications that choose λ: every fourth, from the first."""
    return np.arange(0, replications, _CHOOSING)


def measuring(replications: int) -> Integers:
    """The replications that did not choose λ; the only one, if there is no other."""
    others = np.setdiff1d(np.arange(replications), choosing(replications))
    return others if len(others) else np.arange(replications)


def measured(results: xr.Dataset) -> Integers:
    """The numbers of the replications that measure; of cohorts, all of a cohort do or none."""
    numbers = results["replication"].to_numpy()
    cohorts = results["cohort"].to_numpy() if "cohort" in results.coords else numbers
    every = np.unique(cohorts)
    return np.asarray(numbers[np.isin(cohorts, every[measuring(len(every))])])


def at_best(
    values: xr.DataArray,
    *,
    largest: bool = False,
    swept: Collection[str] | None = None,
    of: xr.DataArray | None = None,
) -> xr.DataArray:
    """Every learner at its best λ, in replications that did not choose it.

    Every fourth replication chooses: there, the best λ has the least mean. The others measure, so
    that the choice does not favour learners with a λ, and tests of differences keep their level.
    Where no learner uses the grid, nothing is chosen and all replications measure.

    Parameters
    ----------
    values : DataArray over (learner, regularization, replication)
        Such as `totals(results)`.
    largest : bool, default False
        Whether the largest mean is best, rather than the smallest.
    swept : collection of str, optional
        The learners that use the grid, `Study.swept`. By default, learners whose numbers differ
        from one λ to another.
    of : DataArray over learner, regularization, replication and others, optional
        What to return at that λ, by default the values.

    Returns
    -------
    DataArray over (learner, replication)
        Its coordinate `regularization` is the best λ of each learner; NaN for learners that do not
        use the grid.

    Examples
    --------
    >>> import xarray as xr
    >>> from headstart.studies import at_best
    >>> totals = xr.DataArray(
    ...     [[[4.0, 6.0], [1.0, 3.0]]],
    ...     dims=("learner", "regularization", "replication"),
    ...     coords={"learner": ["RR"], "regularization": [0.1, 1.0]},
    ... )
    >>> best = at_best(totals)  # the first replication chooses
    >>> best.regularization.item(), best.mean().item()
    (1.0, 3.0)
    """
    n = values.sizes["replication"]
    if swept is None:
        same = (values == values.isel(regularization=0)).all(["regularization", "replication"])
        follows = ~same if values.sizes["regularization"] > 1 else xr.ones_like(same)
    else:
        follows = values["learner"].isin(list(swept))
    means = values.isel(replication=choosing(n)).mean("replication")
    index = means.argmax("regularization") if largest else means.argmin("regularization")
    shown = values if of is None else of
    picked = shown.isel(regularization=index.sel(learner=shown["learner"])).transpose(
        "learner", ...
    )
    if values.sizes["regularization"] > 1 and bool(follows.any()):
        picked = picked.isel(replication=measuring(n))
    chosen = picked["regularization"].where(follows.sel(learner=shown["learner"]))
    return picked.assign_coords(regularization=chosen)
