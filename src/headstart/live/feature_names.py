"""FeatureNames: what the d features are called."""

from collections.abc import Sequence

from headstart import checks


class FeatureNames:
    """The names of d features: those given, else a DataFrame's columns, else x1 to xd.

    `known` is None until names were given or noted. A DataFrame's columns are then found by name,
    whatever their order.
    """

    def __init__(self, dimension: int, given: Sequence[str] | None = None) -> None:
        self.dimension = dimension
        self.known: tuple[str, ...] | None = None if given is None else _checked(given, dimension)

    @property
    def all(self) -> tuple[str, ...]:
        """All d names."""
        return default_names(self.dimension) if self.known is None else self.known

    def note(self, columns: tuple[str, ...] | None) -> None:
        """Take the columns of a DataFrame as names, unless there are names already."""
        if self.known is None:
            self.known = columns


def default_names(dimension: int) -> tuple[str, ...]:
    """x1 to xd."""
    return tuple(f"x{i}" for i in range(1, dimension + 1))


def _checked(names: Sequence[str], dimension: int) -> tuple[str, ...]:
    found = () if isinstance(names, str) else tuple(names)
    if len(found) != dimension or not all(isinstance(name, str) and name for name in found):
        raise ValueError(
            f"feature_names must be d = {dimension} different strings, got {checks.short(names)}"
        )
    if len(set(found)) < dimension:
        again = next(name for i, name in enumerate(found) if name in found[:i])
        raise ValueError(f"feature_names must be different, got {again!r} more than once")
    return tuple(str(name) for name in found)
