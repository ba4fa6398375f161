"""Results: `reward` and `regret` over (learner, regularization, trained, replication, task, round).

Every study has these dimensions. A sequence begins without training, so its `trained` is [0];
test tasks are averaged, so a train-then-test study has one `task`.
"""

import xarray as xr

DIMENSIONS = ("learner", "regularization", "trained", "replication", "task", "round")


def at_training(results: xr.Dataset, trained: int | None = None) -> xr.Dataset:
    """The results after `trained` training tasks, by default the study's last number of them."""
    if trained is None:
        return results.isel(trained=-1, drop=True)
    return results.sel(trained=trained, drop=True)


def totals(
    results: xr.Dataset, variable: str = "regret", trained: int | None = None
) -> xr.DataArray:
    """A variable summed over tasks and rounds: (learner, regularization, replication)."""
    return at_training(results, trained)[variable].sum(["task", "round"])
