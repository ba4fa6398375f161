"""The figure of learned directions."""

from pathlib import Path

import numpy as np
import pytest

from headstart.plotting.directions import plot_directions
from headstart.priors.hierarchical import Directions


def _directions(rank: int) -> Directions:
    loadings = np.zeros((4, 8))
    loadings[:rank, :rank] = np.diag(np.arange(rank, 0.0, -1.0))
    return Directions(rank=np.array(float(rank)), loadings=loadings, share=np.array(0.9))


def test_a_figure_is_written(tmp_path: Path) -> None:
    plot_directions(_directions(2), tmp_path / "it.png", features=["a", "b", "c", "d"])
    assert (tmp_path / "it.png").read_bytes()[:4] == b"\x89PNG"


def test_bad_input_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "it.png"
    with pytest.raises(ValueError, match="at least one direction, got rank 0"):
        plot_directions(_directions(0), path)
    with pytest.raises(ValueError, match="features must be 4 names, got 1"):
        plot_directions(_directions(1), path, features=["a"])
    several = Directions(np.ones(2), np.ones((2, 4, 8)), np.ones(2))
    with pytest.raises(ValueError, match=r"one memory, .* got loadings of shape \(2, 4, 8\)"):
        plot_directions(several, path)
    assert not path.exists()
