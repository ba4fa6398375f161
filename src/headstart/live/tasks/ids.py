"""The ids of decisions as text: an origin and a code, both in hexadecimal digits."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Integers
from headstart.kernels.compilation import compiled

# The origin is drawn at random by every bandit that is made, loaded, copied or forked.
ORIGIN_DIGITS, CODE_DIGITS = 16, 14
ID_DIGITS = ORIGIN_DIGITS + CODE_DIGITS

# A text as NumPy keeps it: 32 bits per character.
_Characters = NDArray[np.uint32]
_TEXT: np.dtype[np.str_] = np.dtype(f"U{ID_DIGITS}")
_ZERO, _A = ord("0"), ord("a")


@compiled
def _write(origin: _Characters, codes: Integers, texts: _Characters) -> None:
    """Set texts (n, ID_DIGITS) to the origin and the digits of the codes (n,)."""
    for i in range(codes.shape[0]):
        for a in range(ORIGIN_DIGITS):
            texts[i, a] = origin[a]
        rest = codes[i]
        for a in range(CODE_DIGITS):
            digit = rest & 15
            texts[i, ID_DIGITS - 1 - a] = digit + (_ZERO if digit < 10 else _A - 10)
            rest >>= 4


@compiled
def _read(origin: _Characters, texts: _Characters, codes: Integers) -> bool:
    """Set codes (n,) to those of the texts; false if one is not what `_write` writes."""
    for i in range(codes.shape[0]):
        for a in range(ORIGIN_DIGITS):
            if texts[i, a] != origin[a]:
                return False
        code = np.int64(0)
        for a in range(ORIGIN_DIGITS, ID_DIGITS):
            character = np.int64(texts[i, a])
            digit = character - _ZERO
            if not 0 <= digit < 10:
                digit = character - _A + 10
                if not 10 <= digit < 16:
                    return False
            code = code << 4 | digit
        codes[i] = code
    return True


def _characters(text: str) -> _Characters:
    return np.array([text]).view(np.uint32)


class Ids(NamedTuple):
    """The ids of n decisions of one origin."""

    origin: str
    codes: Integers  # (n,)

    def texts(self) -> NDArray[np.str_]:
        """The ids, (n,)."""
        texts = np.empty(len(self.codes), dtype=_TEXT)
        if len(texts):
            characters = texts.view(np.uint32).reshape(-1, ID_DIGITS)
            _write(_characters(self.origin), self.codes, characters)
        return texts


def read_ids(origin: str, decisions: Sequence[str] | NDArray[np.str_]) -> Ids | None:
    """The ids of decisions of this origin; None if there is none, or one is something else."""
    given = decisions
    if not isinstance(given, np.ndarray):
        if set(map(len, given)) != {ID_DIGITS}:  # an array takes as much for all as for the longest
            return None
        given = np.array(given, dtype=_TEXT)
    if given.dtype != _TEXT or given.ndim != 1 or not len(given):
        return None
    texts = np.require(given, requirements=["C", "W"]).view(np.uint32).reshape(-1, ID_DIGITS)
    codes = np.empty(len(given), dtype=np.int64)
    return Ids(origin, codes) if _read(_characters(origin), texts, codes) else None
