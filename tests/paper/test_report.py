"""The report builds from a tiny study, says what the numbers say, and needs no other file."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from headstart.paper.readings import synthetic
from headstart.paper.report import reproduce
from headstart.studies.folder import Pieces
from headstart.studies.runner import play
from headstart.studies.study import Study

pytestmark = pytest.mark.slow


def small(study: Study) -> Study:
    """The study with few replications and its claims' two regularizations alone."""
    return replace(
        study,
        regularization=tuple(value for value in study.regularization if value in {1.0, 100.0}),
        training_tasks=tuple(n for n in study.training_tasks if n <= 10),
        replications=3,
        horizon=3,
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    section = synthetic().map(small)
    ((of, verdicts),) = reproduce([section], out, workers=1)
    assert of == section
    assert [verdict.claim for verdict in verdicts] == section.claims
    return out


def test_html_needs_nothing_else(written: Path) -> None:
    text = (written / "report.html").read_text(encoding="utf-8")
    assert text.count("data:image/svg+xml;base64,") == 6
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", text)
    assert "http" not in text.replace("http-equiv", "")
    assert "@media print" in text
    assert "<script" not in text


def test_the_headline_says_what_does_not_hold_together(written: Path) -> None:
    text = (written / "report.md").read_text(encoding="utf-8")
    opening = text[: text.index("## ")]
    assert re.search(r"hold together under (none|\d+) of 17 readings", opening)


def test_tables_are_written_too(written: Path) -> None:
    names = {path.name for path in (written / "tables").iterdir()}
    assert {
        "sentences.tex",
        "sentences.csv",
        "synthetic-claims.csv",
        "synthetic-totals.tex",
    } <= names


def test_markdown_shows_every_figure(written: Path) -> None:
    text = (written / "report.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\((figures/[^)]+)\)", text)
    assert len(named) == 6
    for name in named:
        assert 1_000 < (written / name).stat().st_size < 200_000


def test_every_claim_has_a_verdict_a_difference_and_replications(written: Path) -> None:
    text = (written / "report.md").read_text(encoding="utf-8")
    section = text.split("### Claims")[1].split("### Differences")[0]
    rows = [line for line in section.splitlines() if re.match(r"\| \d+ \|", line)]
    assert len(rows) == len(synthetic().claims)
    for row, claim in zip(rows, synthetic().claims, strict=True):
        assert re.search(r"\| (not )?reproduced", row)
        assert claim.rule.difference.replace("|", "\\|") in row
        assert re.search(r"\| [−\d.,]+ \[[−\d.,]+, [−\d.,]+\]", row)
        assert row.endswith("| 3 |")


def test_every_letter_stands_beside_what_it_means(written: Path) -> None:
    text = (written / "report.md").read_text(encoding="utf-8")
    table = text.split("### Readings")[1]
    for one in synthetic().readings:
        assert f"| {synthetic().letters()[one.key]}: {one.label} |" in table


def test_ours_is_shown_and_marked(written: Path) -> None:
    text = (written / "report.md").read_text(encoding="utf-8")
    assert "| headstart |" in text
    assert "headstart is not in the paper" in text


def test_flat_lines_of_the_task_curve_are_those_of_the_same_tests(written: Path) -> None:
    # The curve's study leaves ITL and the Oracle out; AVG-OFUL at N = 10 is in both studies.
    studies = synthetic().map(small).studies()
    asked = [studies["synthetic-main"], studies["synthetic-tasks"]]
    main, curve = play(asked, Pieces(written / "results"), workers=1)
    for value in (1.0, 100.0):
        at = {"learner": "AVG-OFUL", "regularization": value, "trained": 10}
        assert (main["regret"].sel(at) == curve["regret"].sel(at)).all()
