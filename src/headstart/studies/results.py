"""Results: `reward` and `regret` over (learner, regularization, trained, replication, task, round).

Every study has these dimensions. A sequence begins without training, so its `trained` is [0]; test
tasks are averaged, so a train-then-test study has one `task`. If replications share tasks
(MovieLens's overlapping clusters), the coordinate `cohort` says which belong together.
"""

import numpy as np
import xarray as xr

DIMENSIONS = ("learner", "regularization", "trained", "replication", "task", "round")


def at_training(results: xr.Dataset, trained: int | None = None) -> xr.Dataset:
    """The results after a number of training tasks.

    Replications of one cohort are averaged to one, so that all are independent.

    Parameters
    ----------
    results : xarray.Dataset
        The results of a study.
    trained : int, optional
        The number of training tasks, by default the study's last.

    Returns
    -------
    xarray.Dataset

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

    Parameters
    ----------
    results : xarray.Dataset
        The results of a study.

    Returns
    -------
    xarray.Dataset

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


def totals(
    results: xr.Dataset, variable: str = "regret", trained: int | None = None
) -> xr.DataArray:
    """A variable summed over tasks and rounds: (learner, regularization, replication).

    Parameters
    ----------
    results : xarray.Dataset
        The results of a study.
    variable : str, default "regret"
        Which variable.
    trained : int, optional
        The number of training tasks, by default the study's last.

    Returns
    -------
    xarray.DataArray

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
