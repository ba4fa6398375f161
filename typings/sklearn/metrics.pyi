import numpy as np
from numpy.typing import NDArray

def silhouette_samples(
    X: NDArray[np.float64],  # noqa: N803 - their name
    labels: NDArray[np.int32],
) -> NDArray[np.float64]: ...
