"""Others: the best arms that a decision did not choose, as the bytes of one column.

They are the score of the chosen arm, then the means and the scores of five other arms, as float32,
and after them the ids of the arms, separated by a character that no name has.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats

OTHERS = 5
_SIZE = 4 * (1 + 2 * OTHERS)  # bytes of the numbers
_SEPARATOR = "\x00"


class Other(NamedTuple):
    """An arm that was not chosen."""

    arm: str
    mean: float
    score: float


def packed_numbers(scores: Floats, means: Floats, others: Floats) -> list[bytes]:
    """The numbers of n decisions: the scores (n,) of their arms; means and scores (n, 5)."""
    content = np.hstack([scores[:, None], means, others]).astype("<f4").tobytes()
    return [content[start : start + _SIZE] for start in range(0, len(content), _SIZE)]


def packed_others(numbers: bytes, arms: Sequence[str]) -> bytes:
    """The column of a decision: its numbers, and the ids of the other arms."""
    return numbers + _SEPARATOR.join(arms).encode()


def unpacked(content: bytes | None) -> tuple[float | None, list[Other]]:
    """The score of the chosen arm, and the others; None and empty if they are not kept."""
    if content is None:
        return None, []
    score, *numbers = np.frombuffer(content[:_SIZE], dtype="<f4").tolist()
    arms = content[_SIZE:].decode().split(_SEPARATOR)
    return score, [
        Other(*each) for each in zip(arms, numbers[:OTHERS], numbers[OTHERS:], strict=False)
    ]
