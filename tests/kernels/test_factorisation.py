"""An inverse is computed for finite, positive definite matrices, and otherwise nothing changes."""

import numpy as np
import pytest

from headstart import kernels


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, -1.0])
def test_a_matrix_without_an_inverse_raises_and_changes_nothing(value: float) -> None:
    inverse = np.ones((3, 3))
    with pytest.raises(np.linalg.LinAlgError):
        kernels.factorise(inverse, np.zeros((3, 3)), np.diag(np.full(3, value)))
    np.testing.assert_array_equal(inverse, 1.0)


@pytest.mark.parametrize("value", [1e-300, 1e300])
def test_matrices_of_any_size_are_inverted(value: float) -> None:
    inverse = np.ones((3, 3))
    found = kernels.factorise(inverse, np.zeros((3, 3)), np.diag(np.full(3, value)))
    assert found == pytest.approx(3 * np.log(value))
    np.testing.assert_allclose(value * inverse, np.eye(3), atol=1e-12)
