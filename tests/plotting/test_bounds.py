import math
from pathlib import Path

import numpy as np
import pytest

from headstart.plotting import bounds
from headstart.plotting.bounds import BoundStudy


def test_the_table_by_hand() -> None:
    # d = 2, T = 100, λ = 1: 1 + T/(λd) = 51; √Var_0 = S = 1.
    study = BoundStudy(dimension=2, horizon=100, variance=0.01, second_moment=1.0)
    table = study.table()
    found = {(stated.learner, stated.statement): stated for stated in table.bounds}
    front = 4 * math.sqrt(200 * math.log(51))
    noise = front * math.sqrt(2 * math.log(100) + 2 * math.log(51))
    assert found["Oracle of the mean", "Lemma 2"].bound.bias == pytest.approx(front * 0.1)
    assert found["ITL", "Lemma 2"].bound.total == pytest.approx(front + noise + 2)
    assert found["ITL", "λ → ∞"].bound.bias == pytest.approx(400)
    assert found["Oracle of the mean", "λ → ∞"].bound.total == pytest.approx(42)
    assert found["Oracle of the mean", "Corollary 2"].regularization == pytest.approx(1.0)
    # ITL's λ of Corollary 2 is 1/(100·1), below 1; the Oracle's is exactly 1.
    assert len(table.violated) == 1
    assert "got 0.01" in table.violated[0]
    assert study.setting.trivial_bound == 200


def test_a_variance_above_the_second_moment_is_refused() -> None:
    with pytest.raises(ValueError, match="variance must be at most second_moment"):
        BoundStudy(dimension=2, horizon=10, variance=2.0, second_moment=1.0)
    with pytest.raises(ValueError, match="horizon must be an integer"):
        BoundStudy(dimension=2, horizon=0, variance=0.5, second_moment=1.0)


def test_more_tasks_never_loosen_the_bound() -> None:
    study = BoundStudy(dimension=5, horizon=100, variance=0.1, second_moment=1.0)
    numbers = np.array([1, 2, 5, 10, 100])
    learned = study.transfer(0.1 * (1 + 1 / numbers)).total
    assert (np.diff(learned) < 0).all()
    assert learned[-1] > study.transfer(0.1).total


def test_the_figure_is_written(tmp_path: Path) -> None:
    study = BoundStudy(dimension=5, horizon=100, variance=0.1, second_moment=1.0)
    bounds.plot(study, 50, tmp_path / "bound.png")
    assert (tmp_path / "bound.png").read_bytes().startswith(b"\x89PNG")
