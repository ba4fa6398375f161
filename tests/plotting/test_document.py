"""A document is written as Markdown and HTML, escaped, atomically; tables as LaTeX and CSV."""

from pathlib import Path

import pytest

from headstart.plotting.document import (
    Block,
    Heading,
    Items,
    Paragraph,
    Picture,
    Strong,
    Table,
    body,
    comma_separated,
    latex,
    markdown,
    write_document,
    write_tables,
)

BLOCKS: list[Block] = [
    Heading("A & B", 1),
    Paragraph("1 < 2"),
    Paragraph("so it is", strong=True),
    Items(["<b>"]),
    Table(["a|b"], [["no & no"], [Strong("yes")], ["yes"]]),
]


def test_html_escapes_what_it_shows() -> None:
    shown = body(markdown(BLOCKS, "."))
    assert "<h1>A &amp; B</h1>" in shown
    assert "<p>1 &lt; 2</p>" in shown
    assert "<p><strong>so it is</strong></p>" in shown
    assert "<li>&lt;b&gt;</li>" in shown
    assert "<td>no &amp; no</td>" in shown
    assert "<td><strong>yes</strong></td>" in shown
    assert "<th>a|b</th>" in shown


def test_markdown_escapes_cells() -> None:
    text = markdown(BLOCKS, "figures")
    assert "| a\\|b |\n| --- |\n| no & no |\n| **yes** |" in text
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
    with pytest.raises(ValueError, match=r"it\.doc"):
        write_document(BLOCKS, tmp_path / "it.md", tmp_path / "it.doc")
    assert list(tmp_path.iterdir()) == []


def test_tables_as_latex_and_csv(tmp_path: Path) -> None:
    table = Table(
        ["learner", "50 %"],
        [["a_b & c", "−1 ± 2"]],
        name="it",
        records=[{"learner": "a_b & c", "mean": -1.25, "low": None}],
    )
    text = latex(table)
    assert "caption" not in text
    best = Table(["a"], [[Strong("1_0")]], name="it", caption="50 %: λ…")
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
