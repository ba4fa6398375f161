"""Results: `reward` and `regret` over (learner, regularization, trained, replication, task, round).

Every study has these dimensions. A sequence begins without training, so its `trained` is [0];
test tasks are averaged, so a train-then-test study has one `task`. Where replications share tasks
(MovieLens's overlapping clusters), the coordinate `cohort` says which belong together.
"""

import numpy as np
import xarray as xr

DIMENSIONS = ("learner", "regularization", "trained", "replication", "task", "round")


def at_training(results: xr.Dataset, trained: int | None = None) -> xr.Dataset:
    """The results after `trained` training tasks, by default the study's last number of them.

    Replications of one cohort are averaged to one, so that all of them are independent.
    """
    if trained is None:
        return independent(results.isel(trained=-1, drop=True))
    return independent(results.sel(trained=trained, drop=True))


def independent(results: xr.Dataset) -> xr.Dataset:
    """The results with one replication per cohort, its mean; as they are without cohorts."""
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
    """A variable summed over tasks and rounds: (learner, regularization, replication)."""
    return at_training(results, trained)[variable].sum(["task", "round"])
