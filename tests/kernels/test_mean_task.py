"""The mean task's sums, reduced: the same as the matrices themselves give."""

import numpy as np
import pytest

from headstart.kernels import mean_task


@pytest.mark.parametrize("tiny", [0.0, 1e-20, 1e-160, 1e-162, 1e-300])
@pytest.mark.parametrize("dimension", [2, 3, 7, 70])
def test_tiny_entries_count_as_none(tiny: float, dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    vectors = rng.standard_normal((2, dimension))
    matrix = vectors.T @ vectors
    matrix[:, dimension // 2 :] = matrix[dimension // 2 :] = tiny
    target = matrix @ rng.standard_normal(dimension)
    ratios = np.array([[1e-6, 1.0]])
    reduced = mean_task.reduce(matrix[None, None], target[None, None])
    log_determinants, explained = mean_task.explain(reduced, ratios)
    for p, ratio in enumerate(ratios[0]):
        shifted = matrix + ratio * np.eye(dimension)
        expected = np.linalg.slogdet(shifted / ratio).logabsdet
        assert log_determinants[0, 0, p] == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert explained[0, 0, p] == pytest.approx(
            target @ np.linalg.solve(shifted, target), rel=1e-6, abs=1e-9
        )
