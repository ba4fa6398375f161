"""Memories of earlier versions: a grid of λ twice as fine, and stored tasks as grams."""

import numpy as np
import pytest
from tests.priors.hierarchical.dense import sample_tasks, statistics

from headstart.priors import Hierarchical, _sums
from headstart.priors.hierarchical import grid, upgrade_memory
from headstart.priors.hierarchical.sums import Sums

OLD_LAMBDAS = 10.0 ** np.arange(-3.5, 4.51, 0.25)


@pytest.mark.parametrize("covariance", ["factor", "isotropic", "full"])
def test_an_old_memory_is_read(covariance: str) -> None:
    estimator = Hierarchical(covariance=covariance)  # type: ignore[arg-type]
    tasks = statistics(sample_tasks(np.random.default_rng(0), (5, 9, 2, 7, 7, 7), 3))
    today = estimator.empty(3)
    for task in tasks:
        today = estimator.absorb(today, task)
    sums = Sums.zeros(3, len(OLD_LAMBDAS), ()).to_memory()
    for task in tasks:
        sums = _sums.merge(sums, Sums.of_task(task, today["unit"] * OLD_LAMBDAS).to_memory())
    old = {"unit": today["unit"]} | sums
    if covariance == "full":
        width = today["counts"].shape[-1]
        grams = np.zeros((width, 3, 3))
        grams[: len(tasks)] = [task.gram for task in tasks]
        names = ("moments", "counts", "sums_of_squares", "covariance", "noise", "seen")
        old |= {"grams": grams} | {name: today[name] for name in names}
    found = upgrade_memory(old, estimator)
    assert {name: array.shape for name, array in found.items()} == {
        name: array.shape for name, array in today.items()
    }
    for name in ("information", "ridges", "log_determinant", "residual"):
        np.testing.assert_allclose(found[name], today[name], rtol=1e-10, atol=1e-10)
    if covariance != "factor":
        # A factor model is fitted to tasks that an old memory does not have.
        one, two = estimator.prior(found), estimator.prior(today)
        np.testing.assert_allclose(one.bias, two.bias, rtol=1e-8)
        np.testing.assert_allclose(one.regularization, two.regularization, rtol=1e-7)
    else:
        assert found["seen"] == 0.0
        assert np.isfinite(estimator.prior(estimator.absorb(found, tasks[0])).bias).all()


def test_the_grid_of_lambda_is_every_second_of_the_old_one() -> None:
    np.testing.assert_allclose(OLD_LAMBDAS[::2], grid.LAMBDAS)
