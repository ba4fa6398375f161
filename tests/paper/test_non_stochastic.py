"""The report on non-stochastic tasks: its rules, and a small run of it."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from headstart.paper.non_stochastic import (
    growth_study,
    growth_table,
    growths,
    published_section,
    reproduce,
)
from headstart.paper.rules import Equals
from headstart.studies.toml import from_toml

pytestmark = pytest.mark.slow


def _regrets(values: list[float]) -> xr.DataArray:
    return xr.DataArray(
        [[values]],
        dims=("learner", "regularization", "replication"),
        coords={"learner": ["A"], "regularization": [1.0]},
    )


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([99.0, 101.0, 100.0, 100.0], "holds"),
        ([109.0, 111.0, 110.0, 110.0], "fails"),
        ([89.0, 91.0, 90.0, 90.0], "fails"),
        ([104.0, 106.0, 105.0, 105.0], "undecided"),
        ([80.0, 120.0, 100.0, 100.0], "undecided"),
    ],
)
def test_a_published_number_is_judged_by_both_ends(values: list[float], kind: str) -> None:
    outcome = Equals("A", 100.0).judge(_regrets(values))
    assert outcome.kind == kind
    assert outcome.margin == 5.0


def _results(scale: float) -> xr.Dataset:
    """Regrets of two learners in two tasks: one of `scale`, one of its root, in one round."""
    noise = np.array([0.99, 1.0, 1.01])
    values = np.stack([scale * noise, np.sqrt(scale) * noise, [-1.0, 0.0, 1.0]])
    shape = (3, 1, 1, 3, 2, 1)
    spread = np.broadcast_to(values[:, None, None, :, None, None], shape)
    dims = ("learner", "regularization", "trained", "replication", "task", "round")
    return xr.Dataset({"regret": (dims, spread)}, coords={"learner": ["one", "half", "none"]})


def test_exponents_by_hand() -> None:
    one, half, none = growths({h: _results(float(h)) for h in (100, 400)})
    assert one.exponent.mean == pytest.approx(1.0)
    assert half.exponent.mean == pytest.approx(0.5)
    # Both means have an error of 1 %/√3, and log 4 is the distance.
    assert one.exponent.error == pytest.approx(np.sqrt(2) * 0.01 / np.sqrt(3) / np.log(4))
    assert one.regrets[1].mean == pytest.approx(400.0)
    assert none.exponent.high == np.inf
    table = growth_table([one, half, none], (100, 400))
    words = [row[-1] for row in table.rows]
    assert words == ["linear", "below linear", "undecided"]


def test_every_stochastic_learner_and_both_robust_ones_play() -> None:
    study = growth_study("reacting", 100)
    assert from_toml(study.to_toml()) == study
    names = [learner.name for learner in study.learners]
    assert names[-2:] == ["LinEXP3", "Meta-LinEXP3"]
    assert len(names) == 13


def test_the_table_is_the_published_one() -> None:
    section = published_section(0.5)
    assert [claim.text for claim in section.claims] == [
        "LinEXP3 has a regret of 107.1",
        "Meta-LinEXP3, PCRW has a regret of 87.3",
        "Meta-LinEXP3 with PCRW is better than LinEXP3",
    ]
    main = section.main.study
    assert (main.tasks, main.horizon) == (20, 30)
    assert main.environment.settings["cosine"] == 0.5


def test_a_small_report(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    verdicts = reproduce(
        tmp_path,
        replications=2,
        cosines=(-1.0, 1.0),
        horizons=(5, 10),
        workers=1,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert [section.name for section, _ in verdicts] == ["cosine −1", "cosine 1"]
    assert all(len(some) == 3 for _, some in verdicts)
    text = (tmp_path / "non-stochastic.md").read_text(encoding="utf-8")
    assert "(104.4)" in text
    assert "| Hierarchical |" in text
    assert "Reacting adversary" in text
    assert (tmp_path / "figures" / "non-stochastic-growth.png").stat().st_size > 10_000
    assert (tmp_path / "non-stochastic.html").is_file()
    assert calls[-1][0] == calls[-1][1]
