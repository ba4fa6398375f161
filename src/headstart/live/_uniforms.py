"""Luck: uniform numbers in the order of a generator, drawn ahead because one at a time is slow."""

import json

import numpy as np

from headstart.arrays import Floats

_AHEAD = 2048


class Luck:
    """A stream of uniform numbers that can be looked at before it is used, and be saved."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._drawn = np.empty(0)
        self._used = 0

    def peek(self, n: int) -> Floats:
        """The next n numbers, (n,). They stay next until they are spent."""
        if self._used + n > len(self._drawn):
            rest = self._drawn[self._used :]
            self._drawn = np.concatenate([rest, self._rng.random(max(n, _AHEAD))])
            self._used = 0
        return self._drawn[self._used : self._used + n]

    def next(self) -> float:
        """The next number alone; it stays next until it is spent."""
        if self._used == len(self._drawn):
            self.peek(1)
        return float(self._drawn[self._used])

    def spend(self, n: int) -> None:
        """Move on by n numbers that were looked at."""
        self._used += n

    def saved(self) -> tuple[str, Floats]:
        """The generator's state as JSON, and the numbers drawn but not yet spent."""
        return json.dumps(self._rng.bit_generator.state), self._drawn[self._used :].copy()

    @classmethod
    def resumed(cls, state: str, drawn: Floats) -> "Luck":
        """The stream that was saved."""
        found = json.loads(state)
        kind = getattr(np.random, found["bit_generator"])
        bits = kind()
        bits.state = found
        luck = cls(np.random.Generator(bits))
        luck._drawn = drawn
        return luck
