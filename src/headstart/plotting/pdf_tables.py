"""Columns of a table on a page: their widths, and cells broken into lines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headstart.plotting.document import Table

# Points between two columns, and the font sizes that are tried.
_GAP = 9.0
_SIZES = (7.5, 6.5, 5.5, 4.8)

# The width of a line: its text, its font size and whether it is bold.
Measure = Callable[..., float]


@dataclass(frozen=True)
class Columns:
    """Places and widths of columns, in points from the left margin, at a font size."""

    size: float
    lefts: Sequence[float]
    widths: Sequence[float]
    right_aligned: Sequence[bool]
    measure: Measure

    @property
    def width(self) -> float:
        """The width of the whole table."""
        return self.lefts[-1] + self.widths[-1]

    @classmethod
    def fitting(cls, table: Table, width: float, measure: Measure) -> "Columns":
        """Columns of a table that fit a width: the largest font at which no word is broken."""
        rows = [[unbroken(text) for text in row] for row in (table.header, *table.texts())]
        texts = [list(column) for column in zip(*rows, strict=True)]
        room = width - _GAP * (len(texts) - 1)
        for size in _SIZES:
            natural = [max(measure(text, size, bold=True) for text in column) for column in texts]
            least = [
                max(measure(word, size, bold=True) for text in column for word in text.split(" "))
                for column in texts
            ]
            if sum(least) <= room or size == _SIZES[-1]:
                break
        widths = _shared(natural, least, room)
        lefts = [sum(widths[:i]) + _GAP * i for i in range(len(widths))]
        right = [i not in table.wide for i in range(len(widths))]
        return cls(size, lefts, widths, right, measure)

    def wrapped(self, texts: Sequence[str], *, bold: bool = False) -> list[list[str]]:
        """The lines of every cell of a row."""
        return [
            self._lines(text, width, bold) for text, width in zip(texts, self.widths, strict=True)
        ]

    def _lines(self, text: str, width: float, bold: bool) -> list[str]:
        lines: list[str] = []
        for word in unbroken(text).split(" "):
            longer = f"{lines[-1]} {word}" if lines else word
            if lines and self.measure(longer, self.size, bold=bold) <= width + 0.01:
                lines[-1] = longer
            else:
                lines.append(word)
        return lines


def _shared(natural: Sequence[float], least: Sequence[float], room: float) -> list[float]:
    """Natural widths where they fit; else each column's longest word, and the rest in proportion.

    What is left after the longest words goes to columns by how much more they would take.
    """
    if sum(natural) <= room:
        return list(natural)
    wanted = [n - m for n, m in zip(natural, least, strict=True)]
    spare = max(0.0, room - sum(least))
    total = sum(wanted) or 1.0
    return [m + spare * w / total for m, w in zip(least, wanted, strict=True)]


def unbroken(text: str) -> str:
    """The text with "λ = 1" and "0.5 ± 0.1" kept on one line."""
    kept = {f" {sign} ": f"\N{NO-BREAK SPACE}{sign}\N{NO-BREAK SPACE}" for sign in "=±×"}
    for old, new in kept.items():
        text = text.replace(old, new)
    return text
