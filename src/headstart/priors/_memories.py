"""Memories that are sums over tasks: add or subtract a task, scale, and merge."""

from collections.abc import Mapping

from headstart.arrays import Floats
from headstart.interfaces import Memory


def add(memory: Memory, contribution: Mapping[str, Floats], weight: float) -> dict[str, Floats]:
    """The sums of a memory with weight times what a task contributes."""
    if weight == 1.0:
        return {name: memory[name] + array for name, array in contribution.items()}
    return {name: memory[name] + weight * array for name, array in contribution.items()}


def scale(memory: Memory, factor: float) -> dict[str, Floats]:
    """The memory with every task counting `factor` times as much."""
    return {name: factor * array for name, array in memory.items()}


def merge(memory: Memory, other: Memory) -> dict[str, Floats]:
    """The memory of both memories' tasks."""
    return {name: array + other[name] for name, array in memory.items()}
