"""A small document: blocks of text, tables and figures, written as Markdown or as one HTML file."""

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the document's."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Plain text, in bold where it is strong."""

    text: str
    strong: bool = False


@dataclass(frozen=True)
class Items:
    """A list of plain texts."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Table:
    """Rows of plain text; `wide` columns hold sentences, the others numbers and short words."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
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
td.yes { color: #00664b; font-weight: 600; } td.no { color: #a33c00; font-weight: 600; }
td.other { color: #005a8e; font-weight: 600; }
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


def markdown(blocks: Sequence[Block], figures: str) -> str:
    """The document as Markdown; `figures` is the folder of the PNGs, seen from it."""
    parts = []
    for block in blocks:
        match block:
            case Heading():
                parts.append(f"{'#' * block.level} {block.text}")
            case Paragraph():
                parts.append(f"**{block.text}**" if block.strong else block.text)
            case Items():
                parts.append("\n".join(f"- {text}" for text in block.texts))
            case Table():
                align = ["---" if i in block.wide else "---:" for i in range(len(block.header))]
                lines = [block.header, align, *block.rows]
                parts.append("\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines))
            case Picture():
                parts.append(f"![{block.caption}]({figures}/{block.name}.png)\n\n*{block.caption}*")
    return "\n\n".join(parts) + "\n"


def page(blocks: Sequence[Block], figures: Path) -> str:
    """The document as one HTML file that needs no other: figures are inside."""
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
            head = _row("th", block.header, block.wide)
            rows = "".join(_row("td", row, block.wide) for row in block.rows)
            table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
            return f'<div class="scroll">{table}</div>'
        case Picture():
            svg = base64.b64encode((figures / f"{block.name}.svg").read_bytes()).decode()
            caption = html.escape(block.caption)
            return (
                f'<figure><img alt="{caption}" src="data:image/svg+xml;base64,{svg}">'
                f"<figcaption>{caption}</figcaption></figure>"
            )


# Cells with a look of their own.
_LOOKS = {"reproduced": "yes", "yes": "yes", "no": "no"}


def _row(tag: str, texts: Sequence[str], wide: frozenset[int]) -> str:
    cells = []
    for i, text in enumerate(texts):
        looks = ["wide"] if i in wide else []
        if tag == "td" and text.startswith("reproduced under"):
            looks.append("other")
        elif tag == "td" and text.startswith("not reproduced"):
            looks.append("no")
        elif tag == "td" and text in _LOOKS:
            looks.append(_LOOKS[text])
        shown = f' class="{" ".join(looks)}"' if looks else ""
        cells.append(f"<{tag}{shown}>{html.escape(text)}</{tag}>")
    return f"<tr>{''.join(cells)}</tr>"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
