"""The figures of a diagnosis: the colours of the study, and a label for every line."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from matplotlib.figure import Figure
from tests.studies.tiny import SEQUENCE

from headstart.diagnosis import Diagnosis, figures
from headstart.diagnosis.replay import replay
from headstart.plotting import plot_overview, style
from headstart.specs import Spec
from headstart.studies import runner
from headstart.studies.study import LearnerSpec

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class First:
    """An agent that plays the first arm: a diagnosis leaves it out."""

    name: str = "first"

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        return 0

    def begin(self, dimension: int, replications: int) -> dict[str, Any]:
        return {}

    def play(self, state: dict[str, Any], rounds: Any) -> None:
        while not rounds.over:
            rounds.choose([0] * rounds.replications)

    def learn(self, state: dict[str, Any], played: None) -> dict[str, Any]:
        return state


def _colours(made: Figure) -> dict[str, tuple[object, object]]:
    lines = [line for axes in made.axes for line in axes.get_lines()]
    return {str(line.get_label()): (line.get_color(), line.get_linestyle()) for line in lines}


def test_a_learner_has_the_same_colour_in_the_diagnosis_as_in_other_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = LearnerSpec(name="first", method=Spec(kind="tests.diagnosis.test_figures:First"))
    names = {"RR-OFUL": "mine"}
    others = [replace(one, name=names.get(one.name, one.name)) for one in SEQUENCE.learners]
    study = replace(SEQUENCE, learners=(first, *others), replications=2)
    results = runner.run(study, tmp_path / "study", workers=1)
    made: list[Figure] = []
    monkeypatch.setattr(style, "save", lambda figure, path: made.append(figure))
    plot_overview(results, tmp_path / "a.png")
    figures.plot(Diagnosis(replay(results)), tmp_path)
    before, *after = map(_colours, made)
    for now in after:
        assert now["mine"] == before["mine"]
        assert now["ITL"] == before["ITL"]
    # An agent without a prior has a regret, and nothing else to show.
    assert after[0]["first"] == before["first"]
    assert "first" not in after[1]


def test_bounds_have_a_label_and_learners_none_of_their_own(
    recorded: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Figure] = []
    monkeypatch.setattr(style, "save", lambda figure, path: made.append(figure))
    figures.plot(Diagnosis(recorded), tmp_path)
    left = made[0].axes[0]
    labels = left.get_legend_handles_labels()[1]
    assert "Lemma 2's bounds, least to largest" in labels
    assert "2B per round: no theorem" in labels
    assert len(left.get_lines()) == len(labels) + 1  # the upper end of the range
