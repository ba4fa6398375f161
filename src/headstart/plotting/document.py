"""A small document: blocks of text, tables and figures, as Markdown, HTML, LaTeX and CSV."""

import base64
import csv
import html
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from markdown_it import MarkdownIt

from headstart.atomic import atomic_write

# Formats that documents are written in.
SUFFIXES = (".md", ".html")


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the document's."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Text in Markdown, or with strong emphasis."""

    text: str
    strong: bool = False


@dataclass(frozen=True)
class Items:
    """A list of texts."""

    texts: Sequence[str]


class Strong(str):
    """The text of a cell that is bold."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """Rows of texts; `wide` columns hold sentences, the others numbers and short words.

    A table with a name is also written to separate files, as LaTeX with its caption and as CSV.
    `records` are its unrounded numbers, one record per row, for CSV and JSON; without them, CSV has
    the texts.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    wide: frozenset[int] = frozenset({0})
    name: str | None = None
    records: Sequence[Mapping[str, object]] = ()
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure, as PNG and SVG under one name, and what it shows."""

    name: str
    caption: str


Block = Heading | Paragraph | Items | Table | Picture


def write_document(blocks: Sequence[Block], *paths: Path, figures: str = ".") -> None:
    """Write the document to every path: Markdown (.md), or one HTML file (.html).

    `figures` is the folder of the pictures, relative to the document's. Each file is written
    atomically.
    """
    for path in paths:
        if path.suffix not in SUFFIXES:
            raise ValueError(f"a document must end in {' or '.join(SUFFIXES)}, got {path}")
    text = markdown(blocks, figures)
    for path in paths:
        _write_text(path, text if path.suffix == ".md" else page(text, path.parent))


def markdown(blocks: Sequence[Block], figures: str) -> str:
    """The document as Markdown; `figures` is the folder of the PNGs, relative to it."""
    return "\n\n".join(_markdown(block, figures) for block in blocks) + "\n"


def _markdown(block: Block, figures: str) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {block.text}"
        case Paragraph():
            return f"**{block.text}**" if block.strong else block.text
        case Items():
            return "\n".join(f"- {text}" for text in block.texts)
        case Table():
            align = ["---" if i in block.wide else "---:" for i in range(len(block.header))]
            rows = [f"| {' | '.join(map(_cell, row))} |" for row in (block.header, *block.rows)]
            return "\n".join([rows[0], f"| {' | '.join(align)} |", *rows[1:]])
        case Picture():
            image = PurePosixPath(figures) / f"{block.name}.png"
            return f"![{block.caption}]({image})\n\n*{block.caption}*"


def _cell(text: str) -> str:
    plain = re.sub(r"([|*`])", r"\\\1", text).replace("\n", " ")
    return f"**{plain}**" if isinstance(text, Strong) else plain


_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
  color: #1a1a1a; background: #fff; max-width: 62rem; margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.8rem; line-height: 1.2; } h2 { margin-top: 2.6rem; } h3 { margin-top: 1.8rem; }
p, li { max-width: 46rem; } p:has(> img) { max-width: none; margin: 1.5rem 0 .5rem; }
img { width: 100%; height: auto; } p > em:only-child { font-size: .88rem; color: #444; }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: .85rem; }
th, td { border-bottom: 1px solid #ddd; padding: .3rem .6rem; text-align: left;
  vertical-align: top; font-variant-numeric: tabular-nums; }
th { border-bottom: 2px solid #888; }
@media print {
  @page { size: A4; margin: 16mm; }
  body { font-size: 9.5pt; max-width: none; margin: 0; padding: 0; }
  table { font-size: 7.5pt; overflow: visible; } th, td { padding: .15rem .35rem; }
  h2 { break-before: page; } h2, h3 { break-after: avoid; } img, tr { break-inside: avoid; }
}
"""


def page(text: str, folder: Path) -> str:
    """Markdown as one HTML file; pictures, relative to a folder, are embedded as SVG."""
    title = html.escape(text.partition("\n")[0].lstrip("# "))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body(text, folder)}</body>\n</html>\n"
    )


def body(text: str, folder: Path = Path()) -> str:
    """Markdown as HTML, for another page."""

    def embedded(image: re.Match[str]) -> str:
        svg = (folder / image[1]).with_suffix(".svg").read_bytes()
        return f'src="data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"'

    made = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return re.sub(r'src="([^":]+\.png)"', embedded, str(made))


def write_tables(blocks: Sequence[Block], folder: Path, *, of: str = "") -> None:
    """Write every named table of a document to NAME.tex, with labels tab:OF-NAME, and NAME.csv."""
    for block in blocks:
        if isinstance(block, Table) and block.name is not None:
            _write_text(folder / f"{block.name}.tex", latex(block, of=of))
            _write_text(folder / f"{block.name}.csv", comma_separated(block))


def comma_separated(table: Table) -> str:
    """The table's records as CSV, or its texts if it has none."""
    text = io.StringIO()
    rows: list[Sequence[object]] = [list(table.header), *table.rows]
    if table.records:
        rows = [list(table.records[0]), *(list(record.values()) for record in table.records)]
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def latex(table: Table, *, of: str = "") -> str:
    """The table as LaTeX with the rules of booktabs; with a caption, it has a label."""
    columns = "".join("l" if i in table.wide else "r" for i in range(len(table.header)))
    lines = [_row(table.header), "\\midrule", *map(_row, table.rows)]
    body = "\n".join(lines)
    tabular = (
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
    )
    if table.caption:
        key = re.sub("[^0-9A-Za-z]+", "-", f"{of} {table.name}").strip("-")
        label = f"\\label{{tab:{key}}}"
        tabular = (
            f"\\begin{{table}}\n\\centering\n\\caption{{{_escaped(table.caption)}}}\n{label}\n"
            f"{tabular}\\end{{table}}\n"
        )
    return f"% \\usepackage{{booktabs}}\n{tabular}"


# What LaTeX reads as a command, and signs that its default fonts lack.
_SIGNS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "λ": r"$\lambda$", "±": r"$\pm$", "−": r"$-$", "‖": r"$\|$", "√": r"$\surd$", "≥": r"$\geq$",
    "≤": r"$\leq$", "∞": r"$\infty$", "ε": r"$\varepsilon$", "<": r"$<$", ">": r"$>$", "|": r"$|$",
    "×": r"$\times$", "→": r"$\to$", "“": "``", "”": "''", "–": "--", "≈": r"$\approx$",
    "·": r"$\cdot$", "…": r"\ldots{}", "\N{NO-BREAK SPACE}": "~",
}  # fmt: skip


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(_latex_cell, cells)) + r" \\"


def _latex_cell(cell: str) -> str:
    return f"\\textbf{{{_escaped(cell)}}}" if isinstance(cell, Strong) else _escaped(cell)


def _escaped(text: str) -> str:
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")
