"""NamedRows: an array with a row of numbers per name."""

from collections import OrderedDict

import numpy as np

from headstart.arrays import Floats
from headstart.live.inputs import Name

# How many bytes the first rows reserve at most.
_RESERVED_BYTES = 1 << 24
# From this many bytes on, rows grow by a smaller share, so that no request waits long.
_FEW_BYTES = 1 << 24


class NamedRows:
    """Rows by name. The number of a row stays until it is removed, and is then used again.

    They grow by a sixteenth, in place if the system can, so that little memory is reserved without
    being used.
    """

    def __init__(self, length: int, *, ordered: bool = False) -> None:
        self.rows = np.zeros((0, length))  # always the same array
        self.numbers: dict[Name, int] = OrderedDict() if ordered else {}
        self.names: list[Name] = []  # by number; anything for a number that is free
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, name: object) -> bool:
        return name in self.numbers

    def add(self, name: Name, row: Floats) -> int:
        """Keep the row of a new name; returns its number."""
        if not self._free:
            old, length = self.rows.shape
            # A row may be large: 64 MB at d = 2000.
            few = max(1, min(16, _RESERVED_BYTES // (8 * length)))
            # The system moves pages and copies nothing; clearing the new ones takes time.
            more = max(few, old // (16 if self.rows.nbytes < _FEW_BYTES else 256))
            # No view of the rows outlives a call: readers copy.
            self.rows.resize((old + more, length), refcheck=False)
            self._free.extend(range(old + more - 1, old - 1, -1))
            self.names.extend([""] * more)
        number = self._free.pop()
        self.rows[number] = row
        self.numbers[name], self.names[number] = number, name
        return number

    def row(self, name: Name) -> Floats:
        """The row of a name, as a view."""
        row: Floats = self.rows[self.numbers[name]]
        return row

    def remove(self, name: Name) -> None:
        """Forget a name."""
        number = self.numbers.pop(name)
        self.names[number] = ""
        self._free.append(number)
