"""Results: what agents have played, as an xarray dataset that is also a table."""

from pathlib import Path
from typing import NoReturn

import pandas as pd
import xarray as xr


class Results(xr.Dataset):  # type: ignore[no-untyped-call]  # xarray's __init_subclass__
    """Choices, rewards and regrets: an `xarray.Dataset` with `to_frame` and `to_csv`.

    Parameters
    ----------
    data_vars, coords, attrs
        As for `xarray.Dataset`.

    Examples
    --------
    >>> results = hs.simulate(hs.environments.Synthetic(), hs.learners.itl(), 2, 3, replications=4)
    >>> results.to_frame().columns.tolist()
    ['learner', 'replication', 'task', 'round', 'choice', 'reward', 'regret']
    """

    __slots__ = ()

    def to_frame(self) -> pd.DataFrame:
        """A DataFrame with a row per round."""
        return self.to_dataframe().reset_index()

    def to_csv(self, path: str | Path) -> None:
        """Write `to_frame` as a CSV file.

        Parameters
        ----------
        path : str or Path
            The file.
        """
        self.to_frame().to_csv(path, index=False)

    def __array__(self, *_: object, **__: object) -> NoReturn:  # type: ignore[override]
        # What NumPy and pd.DataFrame(results) ask for.
        raise TypeError(
            "results are several arrays: write results.to_frame() for a DataFrame, or "
            "np.asarray(results.regret) for one array"
        )
