"""A document as Markdown."""

from collections.abc import Sequence
from pathlib import PurePosixPath

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


def _markdown_row(cells: Sequence[str | Cell]) -> str:
    texts = (as_cell(cell).text.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(texts)} |"
