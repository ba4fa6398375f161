"""How kernels are compiled."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")

# Sums may be reassociated for SIMD; NaN and infinities keep their meaning.
FAST = frozenset({"reassoc", "contract", "nsz"})


def compiled(**options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function on its first call."""
    if "fastmath" in options:
        options["fastmath"] = set(options["fastmath"])
    return cast(Callable[[Callable[P, R]], Callable[P, R]], njit(cache=True, nogil=True, **options))
