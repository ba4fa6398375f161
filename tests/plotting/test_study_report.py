"""The report of any study: documents, figures, tables, and what they say."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.studies.tiny import SEQUENCE, TESTED

from headstart.intervals import interval
from headstart.plotting.study_figures import unit_of
from headstart.plotting.study_report import write_study_report
from headstart.specs import Spec, read
from headstart.studies import runner
from headstart.studies.comparisons import playing
from headstart.studies.results import DIMENSIONS, at_best, totals
from headstart.studies.study import LearnerSpec
from headstart.studies.summary import Summary
from headstart.studies.toml import from_file

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=[SEQUENCE, TESTED], ids=["sequence", "train-then-test"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study") / "out"
    runner.run(request.param, folder, workers=1)
    write_study_report(folder, folder / "report", values=request.param.regularization[:1])
    return folder


def test_all_documents_show_every_figure(written: Path) -> None:
    out = written / "report"
    text = (out / "report.md").read_text(encoding="utf-8")
    figures = re.findall(r"\]\((figures/[^)]+)\.png\)", text)
    assert len(figures) >= 3
    for name in figures:
        for suffix in (".png", ".svg", ".pdf"):
            assert (out / f"{name}{suffix}").stat().st_size > 1000
    html = (out / "report.html").read_text(encoding="utf-8")
    assert html.count("data:image/svg+xml;base64,") == len(figures)
    assert "## Manifest" in text
    assert f"seed | {json.loads((written / 'manifest.json').read_text())['seed']} |" in text


def test_paired_differences_are_those_of_the_results(written: Path) -> None:
    results = xr.open_dataset(written / "results.nc", engine="h5netcdf").load()
    value = float(results["regularization"][0])
    regret = results["regret"].isel(trained=-1).sum(["task", "round"]).sel(regularization=value)
    with (written / "report" / "tables" / f"paired-{value:g}.csv").open(encoding="utf-8") as file:
        rows = {row["learner"]: row for row in csv.DictReader(file)}
    assert {row["reference"] for row in rows.values()} == {"ITL"}
    for name, row in rows.items():
        less = (regret.sel(learner=name) - regret.sel(learner="ITL")).to_numpy()
        expected = interval(less)
        found = [float(row[key]) for key in ("mean", "low", "high")]
        np.testing.assert_allclose(found, [expected.mean, expected.low, expected.high])
        assert float(row["p"]) <= float(row["p_corrected"]) <= 1.0


def test_latex_tables_have_a_row_per_learner(written: Path) -> None:
    text = (written / "report" / "tables" / "totals.tex").read_text(encoding="utf-8")
    for name in ("OPT", *playing(SEQUENCE)):
        assert re.search(rf"^{name} & .* \\\\$", text, flags=re.MULTILINE)


def test_the_text_has_no_capital_lambda_and_a_learner_without_one_has_a_dash(
    written: Path,
) -> None:
    text = (written / "report" / "report.md").read_text(encoding="utf-8")
    assert "Λ" not in text
    rows = re.findall(r"^\| (\S+) \|.* \| (\S+) \| [^|]* \|$", text, flags=re.MULTILINE)
    assert dict(rows)["OPT"] == "–"
    assert dict(rows)["ITL"] in {"0.5", "2"}


def test_a_grid_of_one_value_gives_no_lambda_to_learners_without(tmp_path: Path) -> None:
    without = LearnerSpec(name="none", policy=Spec(kind="Greedy"), prior=Spec(kind="Fixed"))
    study = replace(SEQUENCE, learners=(*SEQUENCE.learners, without), regularization=(2.0,))
    summary = Summary(study, runner.run(study, tmp_path, workers=1))
    found = {name: summary.regularization(name) for name in summary.with_opt}
    assert (found["OPT"], found["none"], found["ITL"]) == (None, None, 2.0)


def test_the_report_of_another_number_of_tasks_has_its_numbers(tmp_path: Path) -> None:
    results = runner.run(TESTED, tmp_path, workers=1)
    report = write_study_report(tmp_path, tmp_path / "r", trained=0, all_pairs=True)
    totals_ = {
        row["learner"]: row["mean"] for row in report.tables["totals"].records if row["best"]
    }
    regret = at_best(totals(results, trained=0)).mean("replication")
    for name, mean in totals_.items():
        assert mean == pytest.approx(float(regret.sel(learner=name)))
    # Four learners have six pairs; learner × N has two columns of numbers.
    assert len(report.tables["paired-best"].rows) == 6
    by_size = report.tables["trained-best"]
    assert list(by_size.header) == ["learner", "N = 0", "N = 2"]
    known = {(row["learner"], row["trained"]): row["mean"] for row in by_size.records}
    assert known["ITL", 0] == pytest.approx(totals_["ITL"])
    frame = report.to_frame("trained-best").set_index(["learner", "trained"])
    assert frame["mean"]["ITL", 0] == known["ITL", 0]
    assert report._repr_html_().count("<table>") == 3
    latex = (tmp_path / "r" / "tables" / "totals.tex").read_text(encoding="utf-8")
    assert r"\label{tab:tested-totals}" in latex
    assert latex.count(r"\textbf") == 1
    with pytest.raises(ValueError, match="trained must be one of 0, 2, got 1"):
        write_study_report(tmp_path, tmp_path / "r", trained=1)


def test_a_second_report_is_the_same_bytes(written: Path, tmp_path: Path) -> None:
    write_study_report(written, tmp_path, values=(0.5,))
    write_study_report(written, tmp_path / "again", values=(0.5,))
    first = {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.glob("*.*")}
    again = tmp_path / "again"
    assert first == {p.relative_to(again): p.read_bytes() for p in again.glob("*.*")}
    assert len(first) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"values": (7.0,)}, "λ must be one of the study's, .* got 7"),
        ({"reference": "OPT"}, "reference must be one of .* got 'OPT'"),
    ],
)
def test_what_the_study_does_not_have_is_refused(
    written: Path, tmp_path: Path, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        write_study_report(written, tmp_path / "out", **settings)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"not the folder of a finished study.*results\.nc"):
        write_study_report(tmp_path, tmp_path / "report")


def test_a_study_with_classes_of_ones_own_is_reported(tmp_path: Path) -> None:
    (tmp_path / "reported.py").write_text(
        "from dataclasses import dataclass\n"
        "import numpy as np\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class First:\n"
        "    def n_uniforms(self, n_arms, dimension):\n"
        "        return 0\n"
        "    def scores(self, estimates, uniforms):\n"
        "        return -np.arange(estimates.predictions.shape[-1]) + 0.0 * estimates.predictions\n"
    )
    mine = LearnerSpec(name="mine", policy=Spec(kind="OFUL"), prior=Spec(kind="Fixed"))
    table = replace(SEQUENCE, learners=(*SEQUENCE.learners, mine), replications=2).to_toml()
    own = table.rsplit('class = "OFUL"', 1)
    (tmp_path / "study.toml").write_text('class = "reported:First"'.join(own))
    runner.run(from_file(tmp_path / "study.toml"), tmp_path / "out", workers=1)
    found = write_study_report(tmp_path / "out", tmp_path / "out" / "report")
    assert any("mine − ITL" in row[0] for row in found.tables["paired-best"].rows)


def test_replications_of_a_cohort_are_one_value() -> None:
    values = np.array([1.0, 5.0, 3.0, 7.0]).reshape(1, 1, 1, 4, 1, 1) * np.ones((5, 2, 1, 4, 1, 1))
    results = xr.Dataset(
        {"regret": (DIMENSIONS, values)},
        coords={
            "learner": [learner.name for learner in SEQUENCE.learners],
            "regularization": list(SEQUENCE.regularization),
            "trained": [0],
            "cohort": ("replication", [0, 1, 0, 1]),
        },
    )
    played = Summary(replace(SEQUENCE, replications=4), results)
    assert played.replications == 2
    assert played.regrets.isel(learner=0, regularization=0).to_numpy().tolist() == [2.0, 6.0]


@pytest.mark.parametrize(
    ("environment", "unit"),
    [
        ({"class": "Synthetic"}, "wins"),
        ({"class": "Synthetic", "reward": "linear"}, "units of reward"),
        ({"class": "Ratings.lastfm", "reward": "linear"}, "plays"),
        ({"class": "Ratings.lastfm", "reward": "linear", "transform": "log"}, "log(1 + plays)"),
        ({"class": "Ratings.movielens", "reward": "linear"}, "stars"),
        ({"class": "Ratings.from_file", "path": "x.csv"}, "wins"),
        ({"class": "mine:Own"}, "units of reward"),
    ],
)
def test_units(environment: dict[str, object], unit: str) -> None:
    assert unit_of(read(environment, "environment")) == unit
