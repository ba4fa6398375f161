"""A small document: blocks of text, tables and figures, written as Markdown or as one HTML file."""

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from headstart.atomic import atomic_write

# The kind of a table's cell, for its colour.
CellKind = Literal["plain", "positive", "negative", "partial"]


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the document's."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Plain text, or text with strong emphasis."""

    text: str
    strong: bool = False


@dataclass(frozen=True)
class Items:
    """A list of plain texts."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Cell:
    """A cell of a table with a kind, which decides its colour in HTML."""

    text: str
    kind: CellKind = "plain"


@dataclass(frozen=True)
class Table:
    """Rows of cells; `wide` columns hold sentences, the others numbers and short words."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    wide: frozenset[int] = frozenset({0})


@dataclass(frozen=True)
class Picture:
    """A figure, as PNG and SVG under one name, and what it shows."""

    name: str
    caption: str


Block = Heading | Paragraph | Items | Table | Picture

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
  color: #1a1a1a; background: #fff; max-width: 62rem; margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.8rem; line-height: 1.2; } h2 { margin-top: 2.6rem; } h3 { margin-top: 1.8rem; }
p, li { max-width: 46rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; margin: 1rem 0; }
th, td { border-bottom: 1px solid #ddd; padding: .3rem .6rem; text-align: right;
  vertical-align: top; font-variant-numeric: tabular-nums; }
th { border-bottom: 2px solid #888; } th.wide, td.wide { text-align: left; }
td.positive { color: #00664b; font-weight: 600; }
td.negative { color: #a33c00; font-weight: 600; }
td.partial { color: #005a8e; font-weight: 600; }
figure { margin: 1.5rem 0; } figure img { width: 100%; height: auto; }
figcaption { font-size: .88rem; color: #444; max-width: 46rem; }
@media print {
  @page { size: A4; margin: 16mm; }
  body { font-size: 9.5pt; max-width: none; margin: 0; padding: 0; }
  table { font-size: 7.5pt; } th, td { padding: .15rem .35rem; }
  .scroll { overflow: visible; break-inside: avoid; }
  h2 { break-before: page; } h2, h3 { break-after: avoid; } figure, tr { break-inside: avoid; }
}
"""


def write_document(blocks: Sequence[Block], *paths: Path, figures: str = ".") -> None:
    """Write the document to every path, as Markdown (.md) or as one HTML file (.html).

    `figures` is the folder of the pictures, relative to the document's. Each file is written
    atomically.
    """
    for path in paths:
        if path.suffix not in {".md", ".html"}:
            raise ValueError(f"a document must end in .md or .html, got {path}")
        if path.suffix == ".md":
            text = markdown(blocks, figures)
        else:
            text = page(blocks, path.parent / figures)
        with atomic_write(path) as part:
            part.write_text(text, encoding="utf-8")


def markdown(blocks: Sequence[Block], figures: str) -> str:
    """The document as Markdown; `figures` is the folder of the PNGs, seen from it."""
    texts = []
    for block in blocks:
        match block:
            case Heading():
                texts.append(f"{'#' * block.level} {block.text}")
            case Paragraph():
                texts.append(f"**{block.text}**" if block.strong else block.text)
            case Items():
                texts.append("\n".join(f"- {text}" for text in block.texts))
            case Table():
                align = ["---" if i in block.wide else "---:" for i in range(len(block.header))]
                lines = [block.header, align, *block.rows]
                texts.append("\n".join(map(_markdown_row, lines)))
            case Picture():
                image = PurePosixPath(figures) / f"{block.name}.png"
                texts.append(f"![{block.caption}]({image})\n\n*{block.caption}*")
    return "\n\n".join(texts) + "\n"


def page(blocks: Sequence[Block], figures: Path) -> str:
    """The document as one HTML file, with its figures embedded."""
    title = next(block.text for block in blocks if isinstance(block, Heading))
    body = "\n".join(_html(block, figures) for block in blocks)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _html(block: Block, figures: Path) -> str:
    match block:
        case Heading():
            return f"<h{block.level}>{html.escape(block.text)}</h{block.level}>"
        case Paragraph():
            text = html.escape(block.text)
            return f"<p><strong>{text}</strong></p>" if block.strong else f"<p>{text}</p>"
        case Items():
            return f"<ul>{''.join(f'<li>{html.escape(text)}</li>' for text in block.texts)}</ul>"
        case Table():
            head = _html_row("th", block.header, block.wide)
            rows = "".join(_html_row("td", row, block.wide) for row in block.rows)
            table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
            return f'<div class="scroll">{table}</div>'
        case Picture():
            svg = base64.b64encode((figures / f"{block.name}.svg").read_bytes()).decode()
            caption = html.escape(block.caption)
            return (
                f'<figure><img alt="{caption}" src="data:image/svg+xml;base64,{svg}">'
                f"<figcaption>{caption}</figcaption></figure>"
            )


def _html_row(tag: str, cells: Sequence[str | Cell], wide: frozenset[int]) -> str:
    found = []
    for i, cell in enumerate(map(_as_cell, cells)):
        classes = ["wide"] if i in wide else []
        if cell.kind != "plain":
            classes.append(cell.kind)
        attribute = f' class="{" ".join(classes)}"' if classes else ""
        found.append(f"<{tag}{attribute}>{html.escape(cell.text)}</{tag}>")
    return f"<tr>{''.join(found)}</tr>"


def _markdown_row(cells: Sequence[str | Cell]) -> str:
    texts = (_as_cell(cell).text.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(texts)} |"


def _as_cell(cell: str | Cell) -> Cell:
    return Cell(cell) if isinstance(cell, str) else cell
