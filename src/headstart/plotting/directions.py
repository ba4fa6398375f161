"""A figure of the directions along which tasks differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from headstart.plotting import style as plots
from headstart.priors.hierarchical import Directions


def plot_directions(
    directions: Directions, *paths: str | Path, features: Sequence[str] | None = None
) -> None:
    """The learned directions of one memory: how large they are, and their features.

    Left the standard deviation of tasks along each, right its unit vector by feature.

    Parameters
    ----------
    directions : Directions
        From `Hierarchical.directions`. Of a memory with leading axes, take one entry first.
    *paths : str or Path
        The files to write.
    features : sequence of str, optional
        The names of the features; their numbers by default.

    Raises
    ------
    ValueError
        If there are leading axes or no direction.

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart import plotting
    >>> prior, rng = hs.priors.Hierarchical(), np.random.default_rng(0)
    >>> memory = prior.empty(4)
    >>> for _ in range(64):
    ...     x, w = rng.normal(size=(60, 4)), rng.normal() * np.array([1.0, 1.0, 0.0, 0.0])
    ...     task = hs.TaskStatistics.from_data(x, x @ w + rng.normal(0, 0.3, 60))
    ...     memory = prior.absorb(memory, task)
    >>> directions = prior.directions(memory)
    >>> int(directions.rank)
    1
    >>> plotting.plot_directions(directions, Path("directions.png"))
    """
    if directions.loadings.ndim != 2:
        raise ValueError(
            "directions must come from one memory, with loadings (d, 8), "
            f"got loadings of shape {directions.loadings.shape}"
        )
    rank, dimension = int(directions.rank), len(directions.loadings)
    if rank == 0:
        raise ValueError("directions must hold at least one direction, got rank 0")
    names = [str(i) for i in range(dimension)] if features is None else list(features)
    if len(names) != dimension:
        raise ValueError(f"features must be {dimension} names, got {len(names)}")
    loadings = directions.loadings[:, :rank]
    sizes = np.linalg.norm(loadings, axis=0)
    units = loadings / sizes
    # An eigenvector's sign is arbitrary: the largest entry is positive.
    units = units * np.sign(units[np.abs(units).argmax(0), np.arange(rank)])
    labels = [str(k + 1) for k in range(rank)]
    with plots.figure(*paths, columns=2, height=1.6 + 0.09 * dimension) as (left, right):
        left.bar(labels, sizes, color=plots.BLUE, width=0.6)
        left.set_xlabel("direction")
        left.set_ylabel("standard deviation of tasks along it")
        left.set_title(f"{float(directions.share):.0%} of the variance between tasks")
        right.grid(False)
        image = right.imshow(units, aspect="auto", cmap="RdBu_r", vmin=-1.0, vmax=1.0)
        right.set_xticks(range(rank), labels)
        right.set_yticks(range(dimension), names, fontsize=6)
        right.set_xlabel("direction")
        right.set_ylabel("feature")
        right.set_title("its unit vector")
        right.figure.colorbar(image, ax=right, pad=0.02)
