"""Which rows came before: a set of 64-bit hashes, 8 to 32 bytes per row."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Booleans, Integers
from headstart.kernels.compilation import compiled

if TYPE_CHECKING:
    import pyarrow as pa

_EMPTY = 0  # the mark of a free place; a hash of 0 is moved to 1
_PRIME = 0x100000001B3


@compiled(inline="always")
def _mixed(value: np.int64) -> np.int64:
    """A permutation of 64-bit numbers in which every bit moves (the finaliser of SplitMix64)."""
    z = np.uint64(value)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64(z ^ (z >> np.uint64(31)))


@compiled
def _hash_numbers(values: Integers, hashes: Integers) -> None:
    """Hashes of rows (n, k) of 64-bit numbers; with k = 1, different ones for different rows."""
    for i in range(values.shape[0]):
        found = np.int64(0)
        for a in range(values.shape[1]):
            found = _mixed(found * np.int64(_PRIME) + values[i, a])
        hashes[i] = found


@compiled
def _hash_texts(offsets: Integers, data: NDArray[np.uint8], hashes: Integers) -> None:
    """Hashes of texts: text i is the bytes of data from offsets[i] to offsets[i + 1]."""
    for i in range(hashes.shape[0]):
        found = np.int64(offsets[i + 1] - offsets[i])
        for at in range(offsets[i], offsets[i + 1]):
            found = (found ^ np.int64(data[at])) * np.int64(_PRIME)
        hashes[i] = _mixed(found)


@compiled
def _insert(places: Integers, hashes: Integers, repeated: Booleans) -> int:
    """Put hashes into a table of open addresses; mark those that were there. Returns how many."""
    mask = places.shape[0] - 1
    n = 0
    for i in range(hashes.shape[0]):
        value = hashes[i]
        if value == _EMPTY:
            value = np.int64(1)
        at = value & mask
        while places[at] != _EMPTY and places[at] != value:
            at = (at + 1) & mask
        repeated[i] = places[at] == value
        if not repeated[i]:
            places[at] = value
            n += 1
    return n


class SeenRows:
    """The rows so far, by hash: of 10⁸ rows, two are taken for one with probability 3·10⁻⁴."""

    def __init__(self) -> None:
        self._places = np.zeros(1 << 10, dtype=np.int64)
        self._n = 0

    def repeated_ids(self, ids: "pa.Array") -> Booleans:
        """Which ids (n,), strings or integers, came before; all are noted."""
        import pyarrow as pa  # noqa: PLC0415 (an optional extra)

        hashes = np.empty(len(ids), dtype=np.int64)
        if pa.types.is_integer(ids.type):
            _hash_numbers(np.asarray(ids, dtype=np.int64)[:, None], hashes)
        else:
            _, offsets, data = ids.buffers()
            at = np.frombuffer(offsets, dtype=np.int64)[ids.offset : ids.offset + len(ids) + 1]
            held = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
            _hash_texts(at, held, hashes)
        return self._note(hashes)

    def repeated_rows(self, values: Integers) -> Booleans:
        """Which rows (n, k) of 64-bit numbers came before; all are noted."""
        hashes = np.empty(len(values), dtype=np.int64)
        _hash_numbers(values, hashes)
        return self._note(hashes)

    def _note(self, hashes: Integers) -> Booleans:
        repeated = np.zeros(len(hashes), dtype=bool)
        needed = 2 * (self._n + len(hashes))
        if needed > len(self._places):
            old = self._places[self._places != _EMPTY]
            self._places = np.zeros(1 << int(needed).bit_length(), dtype=np.int64)
            _insert(self._places, old, np.zeros(len(old), dtype=bool))
        self._n += int(_insert(self._places, hashes, repeated))
        return repeated
