"""The report builds from a tiny study, says what the numbers say, and needs no other file."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr

from headstart.intervals import Interval
from headstart.paper import interpretations as chapters
from headstart.paper import report
from headstart.paper.interpretations import CHAPTERS, Chapter
from headstart.paper.reproduce import reproduce
from headstart.paper.verdicts import Judged, Judgement, Outcome
from headstart.plotting.document import Block, Heading, Items, Paragraph, Table, markdown, page


def small(chapter: Chapter) -> Chapter:
    """The chapter with few replications and its claims' two regularizations alone."""

    def cut(reading: chapters.Reading) -> chapters.Reading:
        grid = tuple(value for value in reading.study.regularization if value in {1.0, 100.0})
        sizes = tuple(n for n in reading.study.training_tasks if n <= 10)
        study = replace(
            reading.study, regularization=grid, training_tasks=sizes, replications=3, horizon=3
        )
        return replace(reading, study=study)

    return replace(
        chapter,
        readings=[cut(reading) for reading in chapter.readings],
        curves=[cut(reading) for reading in chapter.curves],
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    chapter = small(chapters.synthetic())
    verdicts = reproduce([chapter], out, workers=1)
    assert len(verdicts) == len(chapter.claims)
    return out


def test_html_needs_nothing_else(written: Path) -> None:
    text = (written / "report.html").read_text(encoding="utf-8")
    assert text.count("data:image/svg+xml;base64,") == 5
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", text)
    assert "http" not in text.replace("http-equiv", "")
    assert "@media print" in text
    assert "<script" not in text


def test_markdown_shows_every_figure(written: Path) -> None:
    text = (written / "report.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\((figures/[^)]+)\)", text)
    assert len(named) == 5
    for name in named:
        assert 1_000 < (written / name).stat().st_size < 200_000


def test_every_claim_has_a_verdict_an_interval_and_replications(written: Path) -> None:
    text = (written / "report.md").read_text(encoding="utf-8")
    section = text.split("### Verdicts")[1].split("### Readings")[0]
    rows = [line for line in section.splitlines() if re.match(r"\| \d+ \|", line)]
    assert len(rows) == len(chapters.synthetic().claims)
    for row in rows:
        assert re.search(r"\| (not )?reproduced", row)
        assert re.search(r"A: [−\d.,]+ \[[−\d.,]+, [−\d.,]+\]", row)
        assert row.endswith("| 3 |")


@pytest.mark.parametrize(
    ("main", "other", "words"),
    [
        ("holds", "fails", "reproduced"),
        ("fails", "fails", "not reproduced: the contrary holds"),
        ("undecided", "fails", "not reproduced: undecided"),
        ("fails", "holds", "reproduced under another reading: B"),
    ],
)
def test_verdicts_in_words(main: Outcome, other: Outcome, words: str) -> None:
    around = Interval(0.5, 0.1, 0.3, 0.7, 5)
    judged = Judged("c", {"A": Judgement(main, around), "B": Judgement(other, around)})
    assert report.short(judged) == words
    assert report.difference(judged.main) == "0.50 [0.30, 0.70]"


def test_the_document_escapes_what_it_shows() -> None:
    blocks: list[Block] = [
        Heading("A & B", 1),
        Paragraph("1 < 2"),
        Items(["<b>"]),
        Table(["a|b"], [["not reproduced: undecided"], ["reproduced"], ["yes"]]),
    ]
    shown = page(blocks, Path())
    assert "<h1>A &amp; B</h1>" in shown
    assert "1 &lt; 2" in shown
    assert "<li>&lt;b&gt;</li>" in shown
    assert '<td class="wide no">not reproduced: undecided</td>' in shown
    assert '<td class="wide yes">reproduced</td>' in shown
    assert "a\\|b" in markdown(blocks, "figures")


def test_chapters_name_each_study_once_and_keep_the_seed() -> None:
    for made in CHAPTERS.values():
        chapter = made()
        studies = {id(reading.study): reading.study for reading in chapter.readings}
        names = [study.name for study in studies.values()]
        assert len(names) == len(set(names))
        labels = [reading.label for reading in chapter.readings]
        assert labels[0] == "main"
        assert len(labels) == len(set(labels)) <= 26
        changed = chapter.with_settings(replications=5, seed=7)
        assert {s.replications for s in changed.studies().values()} == {5}
        assert {s.seed for s in changed.studies().values()} == {7}


def test_flat_lines_of_the_task_curve_are_those_of_the_same_tests(written: Path) -> None:
    # The curve's study leaves ITL and the Oracle out; AVG-OFUL at N = 10 is in both studies.
    found = {
        name: xr.open_dataset(next((written / "results").glob(f"{name}-*")) / "results.nc")
        for name in ("synthetic-main", "synthetic-tasks-estimator-lambda-same")
    }
    main, curve = found.values()
    for value in (1.0, 100.0):
        at = {"learner": "AVG-OFUL", "regularization": value, "trained": 10}
        assert (main["regret"].sel(at) == curve["regret"].sel(at)).all()
    for dataset in found.values():
        dataset.close()
