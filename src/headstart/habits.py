"""Habits: names that other libraries use, and what to write here instead."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Kind = TypeVar("Kind", bound=type)

# Keywords, and what they are called here: the first of these names that is known is told.
KEYWORDS: dict[str, tuple[str, ...]] = {
    "K": ("n_arms",),
    "T": ("horizon",),
    "alpha": ("z", "regularization", "policy"),
    "baseline": ("reference",),
    "cov": ("regularization",),
    "covariance": ("regularization",),
    "d": ("dimension",),
    "delta": ("failure_probability",),
    "dim": ("dimension",),
    "lam": ("regularization",),
    "lambda_": ("regularization",),
    "mean": ("bias",),
    "n_actions": ("n_arms",),
    "n_dims": ("dimension",),
    "n_features": ("dimension",),
    "n_iterations": ("horizon",),
    "n_jobs": ("workers",),
    "n_replications": ("replications",),
    "n_rounds": ("horizon",),
    "n_runs": ("replications",),
    "n_steps": ("horizon",),
    "n_tasks": ("tasks",),
    "n_test": ("n_test_tasks", "test_tasks"),
    "n_test_tasks": ("test_tasks",),
    "n_train": ("n_training_tasks", "training_tasks"),
    "n_training_tasks": ("training_tasks",),
    "noise": ("noise_scale",),
    "noise_std": ("noise_scale",),
    "random_state": ("seed",),
    "rng": ("seed",),
    "sigma": ("noise_scale",),
}

# What to write instead, where another keyword will not do.
_CALLS = dict.fromkeys(("cov", "covariance", "mean"), "Prior.normal(mean, covariance)")

# Methods that learners, priors, policies and environments have elsewhere.
_METHODS = (
    "act",
    "choose",
    "fit",
    "partial_fit",
    "predict",
    "pull",
    "reset",
    "select_arm",
    "step",
    "update",
)


def check_keywords(function: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a keyword of other libraries, and say what to write."""
    there = set(known)
    for name in names:
        for instead in KEYWORDS.get(name, ()) if name not in there else ():
            if instead in there:
                told = _CALLS.get(name, f"{instead}=…")
                raise TypeError(f"{function}() takes no {name}=…: write {told}")


def hints(instead: str = "", name: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: errors about the arguments of the function say what to write.

    `instead` is what to write where too many are given by position; by default, the other names.
    `name` is what the function is called, by default its own name.

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
        parameters = signature(function).parameters.values()
        first = [one.name for one in parameters if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
        others = [one.name for one in parameters if one.kind is Parameter.KEYWORD_ONLY]
        told = ", ".join(each for each in first if each != "self")
        called_by = name or function.__name__

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            check_keywords(called_by, kwargs, [*first, *others])
            if len(args) > len(first):
                raise TypeError(
                    f"{called_by}() takes {told or 'nothing'} by position, and no more: write "
                    f"{instead or ', '.join(f'{one}=…' for one in others)}"
                )
            return function(*args, **kwargs)

        return called

    return decorated


def hinted(kind: Kind) -> Kind:
    """A class whose errors about names of other libraries say what to write.

    >>> from headstart.policies import OFUL
    >>> OFUL(delta=0.1)
    Traceback (most recent call last):
    TypeError: OFUL() takes no delta=…: write failure_probability=…
    """

    def missing(self: object, name: str) -> object:
        hint = (
            ": write hs.simulate(environment, learners, n_tasks, horizon) to play, or "
            "hs.MetaBandit to decide and learn live"
        )
        raise AttributeError(
            f"{type(self).__name__} has no {name!r}{hint if name in _METHODS else ''}",
            name=name,
            obj=self,
        )

    # Through setattr, since a type checker knows the class as it was.
    begin: Callable[..., None] = vars(kind)["__init__"]
    setattr(kind, "__init__", hints(name=kind.__name__)(begin))  # noqa: B010
    setattr(kind, "__getattr__", missing)  # noqa: B010
    return kind
