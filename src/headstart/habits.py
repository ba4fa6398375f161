"""Habits: names that other libraries use, and what to write here instead."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Keywords.
KEYWORDS = {
    "n_dims": "dimension",
    "n_features": "dimension",
    "n_iterations": "horizon",
    "n_jobs": "workers",
    "n_replications": "replications",
    "n_rounds": "horizon",
    "n_runs": "replications",
    "n_steps": "horizon",
    "random_state": "seed",
    "rng": "seed",
}


def check_keywords(function: str, names: Iterable[str]) -> None:
    """Refuse a keyword of other libraries, and say what to write."""
    for name in names:
        if name in KEYWORDS:
            raise TypeError(f"{function}() takes no {name}=…: write {KEYWORDS[name]}=…")


def hints(instead: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: errors about the arguments of the function say what to write.

    `instead` is what to write where too many are given by position; by default, the other names.

    >>> from headstart.habits import hints
    >>> @hints()
    ... def play(world, *, seed=0):
    ...     pass
    >>> play("small", random_state=1)
    Traceback (most recent call last):
    TypeError: play() takes no random_state=…: write seed=…
    >>> play("small", 1)
    Traceback (most recent call last):
    TypeError: play() takes world by position, and no more: write seed=…
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        known = signature(function).parameters.values()
        first = [one.name for one in known if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
        others = [f"{one.name}=…" for one in known if one.kind is Parameter.KEYWORD_ONLY]
        told = ", ".join(name for name in first if name != "self")

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            check_keywords(function.__name__, kwargs)
            if len(args) > len(first):
                raise TypeError(
                    f"{function.__name__}() takes {told} by position, and no more: write "
                    f"{instead or ', '.join(others)}"
                )
            return function(*args, **kwargs)

        return called

    return decorated
