"""Learners for rewards that an adversary chooses: exponential weights over arms."""

from __future__ import annotations

from typing import Literal

from numpy.typing import ArrayLike

from headstart.habits import hints
from headstart.learners.meta_lin_exp3 import MetaLinEXP3


@hints()
def lin_exp3(
    *, n_tasks: int = 20, arm_bound: ArrayLike | None = None, name: str = "LinEXP3"
) -> MetaLinEXP3:
    """LinEXP3 (Neu and Olkhovskaya, 2020, as in Li, Xu and Xie, 2026): every task from zero.

    Parameters
    ----------
    n_tasks : int, default 20
        The number of tasks.
    arm_bound : float or array_like of shape (R,), optional
        The largest norm of an arm; by default the largest seen.
    name : str, default "LinEXP3"
        The label in results.

    Returns
    -------
    MetaLinEXP3

    Examples
    --------
    >>> lin_exp3().start
    'none'
    """
    return MetaLinEXP3(name=name, start="none", n_tasks=n_tasks, arm_bound=arm_bound)


@hints()
def meta_lin_exp3(
    *,
    n_tasks: int = 20,
    start: Literal["uniform", "pcrw"] = "pcrw",
    arm_bound: ArrayLike | None = None,
    name: str = "Meta-LinEXP3",
) -> MetaLinEXP3:
    """Meta-LinEXP3 (Li, Xu and Xie, 2026): LinEXP3 with a start learned from completed tasks.

    Parameters
    ----------
    n_tasks : int, default 20
        The number of tasks.
    start : {"uniform", "pcrw"}, default "pcrw"
        How completed tasks are averaged (`MetaLinEXP3`).
    arm_bound : float or array_like of shape (R,), optional
        The largest norm of an arm; by default the largest seen.
    name : str, default "Meta-LinEXP3"
        The label in results.

    Returns
    -------
    MetaLinEXP3

    Examples
    --------
    >>> meta_lin_exp3(n_tasks=100).name
    'Meta-LinEXP3'
    """
    return MetaLinEXP3(name=name, start=start, n_tasks=n_tasks, arm_bound=arm_bound)
