"""The decorator of every compiled function."""

import functools
from collections.abc import Callable
from typing import Any, Literal, ParamSpec, TypeVar, cast, overload

import numba

from headstart.kernels.cache import cache_of

P = ParamSpec("P")
R = TypeVar("R")

# Sums may be reassociated for SIMD; NaN and infinities are respected. One set for all
# functions: Numba compiles its own helpers once per set.
_FASTMATH = {"reassoc", "contract", "nsz"}

# Numba has no types for this.
_unliteral: Callable[[Any], Any] = numba.types.unliteral

_functions: list[Any] = []


@overload
def compiled(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def compiled(
    *, inline: Literal["never", "always"] = "never", fastmath: bool = True
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def compiled(
    function: Callable[P, R] | None = None,
    /,
    *,
    inline: Literal["never", "always"] = "never",
    fastmath: bool = True,
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function at its first call, without the GIL, and keep the machine code on disk.

    With inline="always" it becomes part of every compiled caller, and is compiled by itself only if
    Python calls it; this is for small functions and functions with one caller. Without `fastmath`,
    sums are taken in the order in which they are written.
    """
    if function is None:
        return functools.partial(_compiled, inline=inline, fastmath=fastmath)
    return _compiled(function, inline=inline, fastmath=fastmath)


def _compiled(function: Callable[P, R], *, inline: str, fastmath: bool) -> Callable[P, R]:
    options: dict[str, Any] = {"fastmath": _FASTMATH if fastmath else False, "inline": inline}
    dispatcher: Any = numba.njit(nogil=True, **options)(function)
    if dispatcher is not function:  # unchanged with NUMBA_DISABLE_JIT=1
        _functions.append(dispatcher)
        _forget_literals(dispatcher)
        if (cache := cache_of(function)) is not None:
            dispatcher._cache = cache
    return cast("Callable[P, R]", dispatcher)


def _forget_literals(dispatcher: Any) -> None:
    """Let a constant argument of a compiled call be an ordinary number.

    Numba would compile the callee once more for every constant that it is called with.
    """
    template = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        plain = {name: _unliteral(value) for name, value in dict(kws).items()}
        return template(tuple(map(_unliteral, args)), plain)

    dispatcher.get_call_template = get_call_template


def compiled_functions() -> dict[str, Any]:
    """The functions compiled so far or to be compiled, by module and name."""
    return {
        f"{function.py_func.__module__}.{function.py_func.__qualname__}": function
        for function in _functions
    }


def n_compiled() -> int:
    """How many specialisations this process has compiled, rather than read from disk."""
    return sum(sum(function.stats.cache_misses.values()) for function in _functions)


def n_loaded() -> int:
    """How many specialisations this process has read from disk."""
    return sum(sum(function.stats.cache_hits.values()) for function in _functions)
