"""A document is written as Markdown, HTML and PDF, escaped, atomically; tables as LaTeX and CSV."""

import re
from pathlib import Path

import pytest

from headstart.plotting.document import (
    Block,
    Cell,
    Heading,
    Items,
    Paragraph,
    Picture,
    Table,
)
from headstart.plotting.files import comma_separated, latex, markdown, write_document, write_tables
from headstart.plotting.html import page
from headstart.plotting.pdf import fitting_columns, unbroken
from headstart.plotting.style import figure

BLOCKS: list[Block] = [
    Heading("A & B", 1),
    Paragraph("1 < 2"),
    Paragraph("so it is", strong=True),
    Items(["<b>"]),
    Table(["a|b"], [[Cell("no & no", "negative")], [Cell("yes", "positive")], ["yes"]]),
]


def test_html_escapes_what_it_shows_and_styles_by_kind() -> None:
    shown = page(BLOCKS, Path())
    assert "<h1>A &amp; B</h1>" in shown
    assert "<p>1 &lt; 2</p>" in shown
    assert "<p><strong>so it is</strong></p>" in shown
    assert "<li>&lt;b&gt;</li>" in shown
    assert '<td class="wide negative">no &amp; no</td>' in shown
    assert '<td class="wide positive">yes</td>' in shown
    assert '<td class="wide">yes</td>' in shown


def test_markdown_escapes_cells() -> None:
    text = markdown(BLOCKS, "figures")
    assert "| a\\|b |\n| --- |\n| no & no |\n| yes |" in text
    assert "\n\n**so it is**\n\n" in text


@pytest.mark.parametrize(("figures", "image"), [(".", "it.png"), ("made", "made/it.png")])
def test_pictures_are_relative_to_the_document(figures: str, image: str, tmp_path: Path) -> None:
    (tmp_path / figures).mkdir(exist_ok=True)
    (tmp_path / figures / "it.svg").write_text("<svg/>")
    blocks = [*BLOCKS, Picture("it", "a picture")]
    write_document(blocks, tmp_path / "it.md", tmp_path / "it.html", figures=figures)
    assert f"![a picture]({image})" in (tmp_path / "it.md").read_text(encoding="utf-8")
    assert "data:image/svg+xml" in (tmp_path / "it.html").read_text(encoding="utf-8")


def test_a_document_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in \.md, \.html or \.pdf, got .*it\.doc"):
        write_document(BLOCKS, tmp_path / "it.md", tmp_path / "it.doc")
    assert list(tmp_path.iterdir()) == []


def test_a_pdf_has_as_many_pages_as_it_needs(tmp_path: Path) -> None:
    with figure(tmp_path / "it.png") as (axes,):
        axes.plot([0, 1])
    long = Table(["number", "a sentence"], [[str(i), "word " * 30] for i in range(60)])
    blocks = [*BLOCKS, Paragraph("λ, ŵ, ‖w̄‖, V⁺, ±, ×, –"), Picture("it", "a picture"), long]
    write_document(blocks, tmp_path / "one.pdf")
    write_document(blocks, tmp_path / "two.pdf")
    data = (tmp_path / "one.pdf").read_bytes()
    assert data == (tmp_path / "two.pdf").read_bytes()
    pages = re.findall(rb"/Count (\d+)", data)
    assert 2 <= int(pages[0]) <= 6
    assert b"/Type3" not in data
    assert b"DejaVuSans" in data  # the fonts of PDF have no λ, ŵ, ‖ or ⁺


def _measure(text: str, size: float) -> float:
    return len(text) * size * 0.5


def test_columns_fit_the_page_and_break_no_word() -> None:
    table = Table(["λ", "text"], [["λ = 1", "some longer words " * 9], ["0.5 ± 0.1", "short"]])
    size, (first, second) = fitting_columns(table, 200.0, _measure)
    assert first + second == pytest.approx(200.0)
    assert first > _measure("0.5 ± 0.1", size)  # broken at no space
    assert second > _measure("longer", size)
    narrow = fitting_columns(Table(["a", "b"], [["one", "two"]]), 200.0, _measure)[1]
    assert sum(narrow) < 50.0  # a table is no wider than it needs to be


def test_many_columns_have_a_smaller_font_and_still_fit() -> None:
    table = Table(["word" * 3] * 12, [["word" * 3] * 12])
    size, widths = fitting_columns(table, 487.0, _measure)
    assert size < fitting_columns(Table(["a"], [["b"]]), 487.0, _measure)[0]
    assert sum(widths) <= 487.0 + 1e-9


def test_what_belongs_together_is_not_broken() -> None:
    assert unbroken("at λ = 1, 0.5 ± 0.1").split(" ") == ["at", "λ\xa0=\xa01,", "0.5\xa0±\xa00.1"]


def test_a_table_of_long_words_is_written_all_the_same(tmp_path: Path) -> None:
    wide = Table(["unbreakable" * 3] * 14, [["unbreakable" * 3] * 14])
    write_document([*BLOCKS, wide], tmp_path / "it.pdf")
    assert (tmp_path / "it.pdf").read_bytes().startswith(b"%PDF")


def test_tables_as_latex_and_csv(tmp_path: Path) -> None:
    table = Table(
        ["learner", "50 %"],
        [["a_b & c", "−1 ± 2"]],
        name="it",
        records=[{"learner": "a_b & c", "mean": -1.25, "low": None}],
    )
    text = latex(table)
    assert "caption" not in text
    best = Table(["a"], [[Cell("1_0", "best")]], name="it", caption="50 %: λ…")
    text_of_best = latex(best, of="small")
    assert r"\textbf{1\_0} \\" in text_of_best
    assert r"\caption{50 \%: $\lambda$\ldots{}}" in text_of_best
    assert r"\label{tab:small-it}" in text_of_best
    assert "| **1_0** |" in markdown([best], "")
    assert r"a\_b \& c & $-$1 $\pm$ 2 \\" in text
    assert r"learner & 50 \% \\" in text
    assert r"\begin{tabular}{lr}" in text
    assert comma_separated(table) == "learner,mean,low\na_b & c,-1.25,\n"
    assert comma_separated(Table(["a"], [["x, y"]])) == 'a\n"x, y"\n'
    write_tables([table, *BLOCKS], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it.csv", "it.tex"]
