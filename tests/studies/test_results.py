"""Results have one shape, and totals select and sum."""

import numpy as np
import xarray as xr

from headstart.studies.results import DIMENSIONS, at_training, independent, totals

# 1 in each round after no training, 2 after ten tasks.
EACH = np.array([1.0, 2.0]).reshape(1, 1, 2, 1, 1, 1)
RESULTS = xr.Dataset(
    {"regret": (DIMENSIONS, EACH * np.ones((1, 1, 2, 2, 3, 4)))}, coords={"trained": [0, 10]}
)


def test_totals_sum_rounds_and_tasks() -> None:
    found = totals(RESULTS, trained=0)
    assert found.dims == ("learner", "regularization", "replication")
    assert found.to_numpy().ravel().tolist() == [12.0, 12.0]


def test_the_last_number_of_training_tasks_is_taken_unless_given() -> None:
    assert totals(RESULTS).identical(totals(RESULTS, trained=10))
    assert at_training(RESULTS).identical(at_training(RESULTS, 10))
    assert totals(RESULTS).to_numpy().ravel().tolist() == [24.0, 24.0]


def test_replications_of_a_cohort_count_once() -> None:
    # Cohort 0 has regrets 1 and 3, cohort 1 has 10: two independent values, 2 and 10.
    values = np.array([1.0, 10.0, 3.0]).reshape(1, 1, 1, 3, 1, 1)
    given = xr.Dataset(
        {"regret": (DIMENSIONS, values)},
        coords={"trained": [0], "cohort": ("replication", [0, 1, 0])},
    )
    found = totals(given)
    assert found.dims == ("learner", "regularization", "replication")
    assert found.to_numpy().ravel().tolist() == [2.0, 10.0]
    plain = given.drop_vars("cohort")
    assert independent(plain).identical(plain)
