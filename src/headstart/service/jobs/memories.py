"""Memories: what counts for a prior, the tasks of the store and the logs that are promoted."""

from collections.abc import Sequence

from headstart.live.stored import Model, StoredMemory


def memory_that_counts(model: Model, own: bytes | None, fits: Sequence[bytes]) -> StoredMemory:
    """The memory of the store's tasks, None before any, with those of fits.

    Tasks that do not know the scales of their features yet are few, and are left out: once a fit is
    promoted, they are counted anew in its scales.
    """
    memory = StoredMemory.empty(model)
    if own is not None:
        stored = StoredMemory.from_bytes(own, model)
        memory = stored if stored.scales_known or not fits else memory
    return memory.merged([StoredMemory.from_bytes(each, model) for each in fits], model)
