"""A document is written as Markdown and as HTML, escaped, atomically."""

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
    markdown,
    page,
    write_document,
)

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
    with pytest.raises(ValueError, match=r"must end in \.md or \.html, got .*it\.pdf"):
        write_document(BLOCKS, tmp_path / "it.pdf")
