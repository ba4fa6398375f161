from typing import Self

import numpy as np
from numpy.typing import NDArray

class KMeans:
    labels_: NDArray[np.int32]
    def __init__(self, n_clusters: int, *, n_init: int, random_state: int) -> None: ...
    def fit(self, X: NDArray[np.float64]) -> Self: ...  # noqa: N803 - their name
