"""UniformStream: uniform numbers in the order of a generator, drawn ahead in blocks."""

import json
from typing import Any

import numpy as np

from headstart.arrays import Floats

# One call of the generator per decision would be slow.
_BLOCK = 2048


class UniformStream:
    """A stream of uniform numbers that can be saved, and read before they are used."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._drawn = np.empty(0)
        self._used = 0

    def peek(self, n: int) -> Floats:
        """The next n numbers, (n,). They stay next until `advance`."""
        if self._used + n > len(self._drawn):
            rest = self._drawn[self._used :]
            self._drawn = np.concatenate([rest, self._rng.random(max(n, _BLOCK))])
            self._used = 0
        return self._drawn[self._used : self._used + n]

    def peek_one(self) -> float:
        """The next number alone."""
        if self._used == len(self._drawn):
            self.peek(1)
        return self._drawn.item(self._used)

    def advance(self, n: int) -> None:
        """Use up n numbers."""
        self._used += n

    def renew(self, rng: np.random.Generator) -> None:
        """Continue with the numbers of another generator."""
        self._rng, self._drawn, self._used = rng, np.empty(0), 0

    def go_on_as(self, other: "UniformStream") -> None:
        """Continue with the numbers of another stream."""
        self._rng, self._drawn, self._used = other._rng, other._drawn, other._used

    def mark(self) -> tuple[Any, Floats, int]:
        """Where the stream is, for `rewind`."""
        return self._rng.bit_generator.state, self._drawn, self._used

    def rewind(self, mark: tuple[Any, Floats, int]) -> None:
        """Return to a mark: the numbers since then are next again."""
        self._rng.bit_generator.state, self._drawn, self._used = mark

    def saved(self) -> tuple[str, Floats]:
        """The generator's state as JSON, and the numbers drawn but not yet used."""
        return json.dumps(self._rng.bit_generator.state), self._drawn[self._used :].copy()

    @classmethod
    def resumed(cls, state: str, drawn: Floats) -> "UniformStream":
        """Restore a saved stream."""
        found = json.loads(state)
        kind = getattr(np.random, found["bit_generator"])
        bits = kind()
        bits.state = found
        stream = cls(np.random.Generator(bits))
        stream._drawn = drawn
        return stream
