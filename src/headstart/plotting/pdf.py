"""A document as PDF: text, tables and figures set on A4 pages by Matplotlib."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.image import imread
from matplotlib.lines import Line2D
from matplotlib.textpath import TextToPath

from headstart.atomic import atomic_write
from headstart.plotting.document import Block, Heading, Items, Paragraph, Picture, Table
from headstart.plotting.pdf_tables import Columns, unbroken
from headstart.plotting.style import settings

# In points: A4, its margins, and the font sizes of headings by level.
PAGE = (595.0, 842.0)
MARGIN = 54.0
WIDTH = PAGE[0] - 2 * MARGIN
_HEADINGS = {1: 17.0, 2: 13.0, 3: 10.5}
_BODY, _CAPTION, _LEADING = 9.0, 8.0, 1.4


def write_pdf(blocks: Sequence[Block], path: Path, figures: Path) -> None:
    """Write the document to a PDF file; `figures` is the folder of its pictures, as PNG."""
    title = next(block.text for block in blocks if isinstance(block, Heading))
    facts = {"Title": title, "CreationDate": None, "Creator": "headstart"}
    with settings(), atomic_write(path) as part, PdfPages(part, metadata=facts) as pages:
        setter = _Setter(pages)
        for block in blocks:
            match block:
                case Heading():
                    setter.heading(block)
                case Paragraph():
                    setter.text(block.text, bold=block.strong)
                case Items():
                    for text in block.texts:
                        setter.text(text, bullet=True)
                case Table():
                    setter.table(block)
                case Picture():
                    setter.picture(block, figures)
        setter.finish()


class _Setter:
    """Sets blocks one below the other, and begins a page where one is full."""

    def __init__(self, pages: PdfPages) -> None:
        self._pages: Any = pages  # a file, for `savefig`
        self._number = 0
        self._top = 0.0
        self._begin()

    def heading(self, block: Heading) -> None:
        """A heading, with room for some lines below it on the same page."""
        size = _HEADINGS.get(block.level, _BODY)
        lines = list(wrapped(block.text, WIDTH, size, bold=True))
        self._advance(size * 0.9)
        self._demand(len(lines) * size * _LEADING + 90.0)
        for line in lines:
            self._line(line, MARGIN, size, bold=True)
        self._advance(size * 0.3)

    def text(self, text: str, *, bold: bool = False, bullet: bool = False) -> None:
        """A paragraph, or an item of a list."""
        left = 12.0 if bullet else 0.0
        for i, line in enumerate(wrapped(text, WIDTH - left, _BODY, bold=bold)):
            self._demand(_BODY * _LEADING)
            if bullet and i == 0:
                self._write("•", MARGIN, _BODY)
            self._line(line, MARGIN + left, _BODY, bold=bold)
        self._advance(_BODY * (0.25 if bullet else 0.6))

    def table(self, block: Table) -> None:
        """A table; its header is set again on every page."""
        columns = Columns.fitting(block, WIDTH, text_width)
        height = columns.size * 1.35
        header = columns.wrapped(block.header, bold=True)
        for i, row in enumerate(block.texts()):
            cells = columns.wrapped(row)
            needed = height * max(map(len, cells)) + 3.0
            if i == 0 or self._top - needed < MARGIN:
                self._demand(needed + height * max(map(len, header)) + 8.0)
                self._row(columns, header, height, bold=True)
                self._rule(0.8, columns.width)
            self._row(columns, cells, height)
            self._rule(0.25, columns.width)
        self._advance(_BODY)

    def picture(self, block: Picture, figures: Path) -> None:
        """A figure at the width of the page, and its caption."""
        image = imread(figures / f"{block.name}.png")
        height = WIDTH * image.shape[0] / image.shape[1]
        caption = list(wrapped(block.caption, WIDTH, _CAPTION))
        room = PAGE[1] - 2 * MARGIN - len(caption) * _CAPTION * _LEADING - 12.0
        width = WIDTH * min(1.0, room / height)
        height = min(height, room)
        self._demand(height + len(caption) * _CAPTION * _LEADING + 10.0)
        bottom = self._top - height
        left = MARGIN + (WIDTH - width) / 2
        axes = self._page.add_axes(
            (left / PAGE[0], bottom / PAGE[1], width / PAGE[0], height / PAGE[1])
        )
        axes.imshow(image, interpolation="none", aspect="auto")
        axes.set_axis_off()
        self._top = bottom - 4.0
        for line in caption:
            self._line(line, MARGIN, _CAPTION, colour="#444444")
        self._advance(_BODY)

    def finish(self) -> None:
        """Write the last page."""
        self._number += 1
        self._page.text(0.5, 24.0 / PAGE[1], str(self._number), ha="center", fontsize=7)
        self._page.savefig(self._pages, format="pdf")

    def _begin(self) -> None:
        self._page = Figure(figsize=(PAGE[0] / 72.0, PAGE[1] / 72.0))
        self._top = PAGE[1] - MARGIN

    def _demand(self, height: float) -> None:
        """Begin a page unless this much of it is left."""
        if self._top - height < MARGIN and self._top < PAGE[1] - MARGIN:
            self.finish()
            self._begin()

    def _advance(self, height: float) -> None:
        self._top -= height

    def _line(
        self, text: str, left: float, size: float, *, bold: bool = False, colour: str = "black"
    ) -> None:
        self._write(text, left, size, bold=bold, colour=colour)
        self._advance(size * _LEADING)

    def _write(
        self, text: str, left: float, size: float, *, bold: bool = False, colour: str = "black"
    ) -> None:
        self._page.text(
            left / PAGE[0], (self._top - size) / PAGE[1], text, fontsize=size, color=colour,
            fontweight="bold" if bold else "normal", parse_math=False,
        )  # fmt: skip

    def _row(
        self, columns: Columns, cells: list[list[str]], height: float, *, bold: bool = False
    ) -> None:
        self._advance(1.5)
        for lines, left, width, right in zip(
            cells, columns.lefts, columns.widths, columns.right_aligned, strict=True
        ):
            for k, line in enumerate(lines):
                offset = width - text_width(line, columns.size, bold=bold) if right else 0.0
                self._page.text(
                    (MARGIN + left + offset) / PAGE[0],
                    (self._top - columns.size - k * height) / PAGE[1],
                    line,
                    fontsize=columns.size,
                    fontweight="bold" if bold else "normal",
                    parse_math=False,
                )
        self._advance(height * max(map(len, cells)) + 1.5)

    def _rule(self, thickness: float, width: float) -> None:
        y = self._top / PAGE[1]
        x = [MARGIN / PAGE[0], (MARGIN + width) / PAGE[0]]
        self._page.add_artist(Line2D(x, [y, y], color="#888888", linewidth=thickness))


def wrapped(text: str, width: float, size: float, *, bold: bool = False) -> Iterator[str]:
    """The lines of a text at a width in points."""
    line = ""
    for word in unbroken(text).split(" "):
        longer = f"{line} {word}" if line else word
        if line and text_width(longer, size, bold=bold) > width:
            yield line
            line = word
        else:
            line = longer
    yield line


@lru_cache(maxsize=65536)
def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a line of text in points."""
    if not text:
        return 0.0
    font = FontProperties(weight="bold" if bold else "normal", size=size)
    return float(TextToPath().get_text_width_height_descent(text, font, ismath=False)[0])
