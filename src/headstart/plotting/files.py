"""The files of a document: Markdown, HTML and PDF, and its named tables as LaTeX and CSV."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from headstart.atomic import atomic_write
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
from headstart.plotting.html import page

# Formats that documents are written in.
SUFFIXES = (".md", ".html", ".pdf")


def write_document(blocks: Sequence[Block], *paths: Path, figures: str = ".") -> None:
    """Write the document to every path: Markdown (.md), one HTML file (.html) or PDF (.pdf).

    `figures` is the folder of the pictures, relative to the document's. Each file is written
    atomically.
    """
    for path in paths:
        if path.suffix not in SUFFIXES:
            raise ValueError(f"a document must end in .md, .html or .pdf, got {path}")
    for path in paths:
        if path.suffix == ".pdf":
            from headstart.plotting.pdf import write_pdf  # noqa: PLC0415 - only where asked for

            write_pdf(blocks, path, path.parent / figures)
            continue
        markup = (
            markdown(blocks, figures)
            if path.suffix == ".md"
            else page(blocks, path.parent / figures)
        )
        _write_text(path, markup)


def markdown(blocks: Sequence[Block], figures: str) -> str:
    """The document as Markdown; `figures` is the folder of the PNGs, relative to it."""
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


def _markdown_row(cells: Sequence[str | Cell]) -> str:
    return f"| {' | '.join(map(_markdown_cell, cells))} |"


def _markdown_cell(cell: str | Cell) -> str:
    text = as_cell(cell).text.replace("|", "\\|").replace("\n", " ")
    return f"**{text}**" if as_cell(cell).kind == "best" else text


def write_tables(blocks: Sequence[Block], folder: Path, *, of: str = "") -> None:
    """Write every named table of a document to NAME.tex, with labels tab:OF-NAME, and NAME.csv."""
    for block in blocks:
        if isinstance(block, Table) and block.name is not None:
            _write_text(folder / f"{block.name}.tex", latex(block, of=of))
            _write_text(folder / f"{block.name}.csv", comma_separated(block))


def comma_separated(table: Table) -> str:
    """The table as CSV: its records, or its texts if it has none."""
    text = io.StringIO()
    rows: list[Sequence[object]] = [list(table.header), *table.texts()]
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


def _row(cells: Sequence[str | Cell]) -> str:
    return " & ".join(map(_latex_cell, cells)) + r" \\"


def _latex_cell(cell: str | Cell) -> str:
    text = _escaped(as_cell(cell).text)
    return f"\\textbf{{{text}}}" if as_cell(cell).kind == "best" else text


def _escaped(text: str) -> str:
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")
