"""A document as PDF: A4 pages with text, tables and figures, in the font of the figures."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import matplotlib as mpl
from fpdf import FPDF
from fpdf.enums import Align
from fpdf.fonts import FontFace, TTFFont
from fpdf.image_parsing import preload_image

from headstart.atomic import atomic_write
from headstart.plotting.document import (
    Block,
    Heading,
    Items,
    Paragraph,
    Picture,
    Table,
    as_cell,
)

# In points: the margins of an A4 page, the font sizes of headings by level, and of the rest.
_MARGIN = 54.0
_HEADINGS = {1: 17.0, 2: 13.0, 3: 10.5}
_BODY, _CAPTION, _LEADING = 9.0, 8.0, 1.4

# Font sizes of tables, of which the first without broken words is used; points between columns.
_TABLES = (7.5, 6.5, 5.5, 4.8)
_GAP = 9.0


def write_pdf(blocks: Sequence[Block], path: Path, figures: Path) -> None:
    """Write the document to a PDF file; `figures` is the folder of its pictures, as PNG."""
    pages = _Pages(title=next(block.text for block in blocks if isinstance(block, Heading)))
    try:
        for block in blocks:
            pages.add(block, figures)
        with atomic_write(path) as part:
            part.write_bytes(pages.output())
    finally:
        pages.close_fonts()


class _Pages(FPDF):
    """A4 pages with a number at the bottom of each."""

    def __init__(self, title: str) -> None:
        super().__init__(unit="pt", format="A4")
        self.set_margin(_MARGIN)
        self.set_auto_page_break(True, _MARGIN)
        self.c_margin = 0.0  # text begins at the margin, like figures and rules
        # DejaVu, which comes with Matplotlib, has λ, ŵ, ‖ and ⁺; the fonts of PDF have none.
        fonts = Path(mpl.get_data_path()) / "fonts" / "ttf"
        self.add_font("DejaVu", "", fonts / "DejaVuSans.ttf")
        self.add_font("DejaVu", "B", fonts / "DejaVuSans-Bold.ttf")
        self.set_title(title)
        self.set_creator("headstart")
        self.set_creation_date(datetime.fromtimestamp(0, UTC))  # the same document, the same bytes
        self.set_draw_color(0x88)
        self.set_line_width(0.25)
        self.add_page()

    def close_fonts(self) -> None:
        """Close the font files, which stay open until the last glyph is known."""
        for font in self.fonts.values():
            if isinstance(font, TTFFont):
                font.close()

    def footer(self) -> None:
        self.set_y(-34.0)
        self.set_font("DejaVu", "", 7.0)
        self.cell(0.0, 7.0, str(self.page_no()), align="C")

    def add(self, block: Block, figures: Path) -> None:
        """Set a block below the last one."""
        match block:
            case Heading():
                self._heading(block)
            case Paragraph():
                self._text(block.text, _BODY, "B" if block.strong else "")
                self.ln(_BODY * 0.6)
            case Items():
                for text in block.texts:
                    self._item(text)
            case Table():
                self._table(block)
            case Picture():
                self._picture(block, figures)

    def _heading(self, block: Heading) -> None:
        """A heading, with room for some lines below it on the same page."""
        size = _HEADINGS.get(block.level, _BODY)
        if self.will_page_break(size * _LEADING + 90.0):
            self.add_page()
        self.ln(size * 0.9)
        self._text(block.text, size, "B")
        self.ln(size * 0.3)

    def _item(self, text: str) -> None:
        if self.will_page_break(_BODY * _LEADING):
            self.add_page()
        self.set_font("DejaVu", "", _BODY)
        self.cell(12.0, _BODY * _LEADING, "•")
        self._text(text, _BODY)
        self.ln(_BODY * 0.25)

    def _text(self, text: str, size: float, emphasis: str = "") -> None:
        self.set_font("DejaVu", emphasis, size)
        self.multi_cell(
            0.0, size * _LEADING, unbroken(text), align="L", new_x="LMARGIN", new_y="NEXT"
        )

    def _table(self, block: Table) -> None:
        """A table; every page repeats its header."""
        size, widths = fitting_columns(block, self.epw, self._width)
        self.set_font("DejaVu", "", size)
        if self.will_page_break(4 * size * _LEADING):
            self.add_page()
        with self.table(
            align="LEFT",
            v_align="TOP",
            width=min(self.epw, sum(widths)),
            col_widths=widths,
            text_align=["LEFT" if i in block.wide else "RIGHT" for i in range(len(widths))],
            line_height=size * 1.35,
            padding=(1.5, _GAP - 0.5, 1.5, 0.0),  # no rounding breaks a line
            borders_layout="HORIZONTAL_LINES",
            headings_style=FontFace(emphasis="BOLD"),
        ) as table:
            for cells in (block.header, *block.rows):
                row = table.row()
                for cell in map(as_cell, cells):
                    style = FontFace(emphasis="BOLD") if cell.kind == "best" else None
                    row.cell(unbroken(cell.text), style=style)
        self.ln(_BODY)

    def _width(self, text: str, size: float) -> float:
        self.set_font("DejaVu", "B", size)
        return self.get_string_width(text)

    def _picture(self, block: Picture, figures: Path) -> None:
        """A figure at the width of the page, and its caption."""
        file = figures / f"{block.name}.png"
        _, _, size = preload_image(self.image_cache, file)
        ratio = size.height / size.width
        self.set_font("DejaVu", "", _CAPTION)
        lines = self.multi_cell(0.0, text=unbroken(block.caption), dry_run=True, output="LINES")
        assert isinstance(lines, list)
        below = len(lines) * _CAPTION * _LEADING + 10.0
        height = min(self.epw * ratio, self.eph - below)
        if self.will_page_break(height + below):
            self.add_page()
        self.image(file, x=Align.C, w=height / ratio, h=height, alt_text=block.caption)
        self.ln(4.0)
        self.set_text_color(0x44)
        self._text(block.caption, _CAPTION)
        self.set_text_color(0)
        self.ln(_BODY)


def fitting_columns(
    table: Table, room: float, measure: Callable[[str, float], float]
) -> tuple[float, list[float]]:
    """The font size of a table, and the widths of its columns with the space after them.

    It takes the largest font at which no word is broken, and natural widths if they fit. Otherwise
    each column gets the width of its longest word, and columns share the rest by how much more they
    need. `measure` returns the width of a text at a font size.
    """
    rows = [[unbroken(text) for text in row] for row in (table.header, *table.texts())]
    columns = list(zip(*rows, strict=True))
    room_for_text = room - _GAP * len(columns)
    for size in _TABLES:
        natural = [max(measure(text, size) for text in column) for column in columns]
        least = [
            max(measure(word, size) for text in column for word in text.split(" "))
            for column in columns
        ]
        if sum(least) <= room_for_text:
            break
    wanted = sum(natural) - sum(least)
    share = min(1.0, max(0.0, room_for_text - sum(least)) / wanted) if wanted > 0 else 0.0
    widths = [low + share * (high - low) + _GAP for low, high in zip(least, natural, strict=True)]
    return size, [width * min(1.0, room / sum(widths)) for width in widths]


def unbroken(text: str) -> str:
    """The text with "λ = 1" and "0.5 ± 0.1" kept on one line."""
    for sign in "=±×":
        text = text.replace(f" {sign} ", f"\N{NO-BREAK SPACE}{sign}\N{NO-BREAK SPACE}")
    return text
