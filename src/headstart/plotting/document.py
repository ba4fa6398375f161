"""A small document: blocks of text, tables and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

# The kind of a table's cell, for its colour.
CellKind = Literal["plain", "best", "positive", "negative", "partial"]


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
    """A cell of a table with a kind: its colour in HTML; the `best` of a column is bold."""

    text: str
    kind: CellKind = "plain"


@dataclass(frozen=True)
class Table:
    """Rows of cells; `wide` columns hold sentences, the others numbers and short words.

    A table with a name is also written to separate files, as LaTeX with its caption and as CSV.
    `records` are its unrounded numbers, one record per row, for CSV and JSON; without them, CSV has
    the texts.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    wide: frozenset[int] = frozenset({0})
    name: str | None = None
    records: Sequence[Mapping[str, object]] = ()
    caption: str = ""

    def texts(self) -> list[list[str]]:
        """The rows as texts, without the header."""
        return [[as_cell(cell).text for cell in row] for row in self.rows]


@dataclass(frozen=True)
class Picture:
    """A figure, as PNG and SVG under one name, and what it shows."""

    name: str
    caption: str


Block = Heading | Paragraph | Items | Table | Picture


def as_cell(cell: str | Cell) -> Cell:
    """A text as a plain cell."""
    return Cell(cell) if isinstance(cell, str) else cell
