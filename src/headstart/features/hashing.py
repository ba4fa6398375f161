"""Hashing: the column of a level without a column of its own.

MurmurHash3 (x86, 32 bit) with seed 0 of the UTF-8 bytes, modulo the number of buckets: a published
function, so that a program in another language finds the same column.
"""

import mmh3


def bucket(text: str, buckets: int) -> int:
    """The bucket of a text such as "brand=acme", from 0 to buckets − 1.

    >>> bucket("brand=acme", 32)
    31
    """
    return mmh3.hash(text, 0, signed=False) % buckets
