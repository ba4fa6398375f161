"""A document as one HTML file, with its figures embedded."""

import base64
import html
from collections.abc import Sequence
from pathlib import Path

from headstart.plotting.document import (
    Block,
    Cell,
    Heading,
    Items,
    Paragraph,
    Picture,
    Table,
    as_cell,
)

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
td.best { font-weight: 700; }
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


def page(blocks: Sequence[Block], figures: Path) -> str:
    """The document as one HTML file, with its figures embedded."""
    title = next(block.text for block in blocks if isinstance(block, Heading))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body(blocks, figures)}\n</body>\n</html>\n"
    )


def body(blocks: Sequence[Block], figures: Path) -> str:
    """The document's blocks as HTML, for another page."""
    return "\n".join(_html(block, figures) for block in blocks)


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
    for i, cell in enumerate(map(as_cell, cells)):
        classes = ["wide"] if i in wide else []
        if cell.kind != "plain":
            classes.append(cell.kind)
        attribute = f' class="{" ".join(classes)}"' if classes else ""
        found.append(f"<{tag}{attribute}>{html.escape(cell.text)}</{tag}>")
    return f"<tr>{''.join(found)}</tr>"
