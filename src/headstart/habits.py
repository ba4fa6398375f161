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


def hints(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose errors about its arguments say what to write.

    >>> from headstart.habits import hints
    >>> @hints
    ... def play(world, *, seed=0):
    ...     pass
    >>> play("small", random_state=1)
    Traceback (most recent call last):
    TypeError: play() takes no random_state=…: write seed=…
    >>> play("small", 1)
    Traceback (most recent call last):
    TypeError: play() takes 1 argument by position, world, got 2: write seed=…
    """
    known = signature(function).parameters.values()
    first = [one.name for one in known if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
    named = ", ".join(f"{one.name}=…" for one in known if one.kind is Parameter.KEYWORD_ONLY)
    plural = "s" if len(first) > 1 else ""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        check_keywords(function.__name__, kwargs)
        if len(args) > len(first):
            raise TypeError(
                f"{function.__name__}() takes {len(first)} argument{plural} by position, "
                f"{', '.join(first)}, got {len(args)}: write {named}"
            )
        return function(*args, **kwargs)

    return called
