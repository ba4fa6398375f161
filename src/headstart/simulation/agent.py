"""Agent: the protocol of what `simulate` and `evaluate` compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from headstart import checks
from headstart.arrays import Floats
from headstart.interfaces import Environment
from headstart.simulation.rounds import Rounds

# What an agent carries from task to task: named arrays with the replications on the first axis, so
# that replications can be played in chunks. Put objects of another library into an array of dtype
# object and shape (R,).
State = Mapping[str, NDArray[Any]]


@runtime_checkable
class Agent(Protocol):
    """Anything that plays tasks one after another: `begin`, then `play` and `learn` per task.

    All three are pure: they do not modify the state that they get, because `evaluate` plays many
    tasks from one state, and threads play slices of it. All randomness comes from
    `rounds.uniforms`, so that the same seed gives the same numbers. Entries along the first axis
    are independent: a slice of the state plays as it does in the full state.

    >>> class First:
    ...     name = "first"
    ...
    ...     def n_uniforms(self, n_arms, dimension):
    ...         return 0
    ...
    ...     def begin(self, dimension, replications):
    ...         return {}
    ...
    ...     def play(self, state, rounds):
    ...         while not rounds.over:
    ...             rounds.choose(np.zeros(rounds.replications, dtype=int))
    ...
    ...     def learn(self, state, played):
    ...         return state
    >>> isinstance(First(), hs.Agent)
    True
    >>> results = hs.simulate(hs.environments.Synthetic(), [First()], n_tasks=2, horizon=5)
    >>> results.choice.sum().item()
    0
    """

    @property
    def name(self) -> str:
        """The label in results. With the seed, it determines the agent's random numbers."""
        ...

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """How many random numbers a round takes, next to the one that breaks ties.

        Parameters
        ----------
        n_arms : int
            The number of arms of a round, K.
        dimension : int
            The number of features, d.

        Returns
        -------
        int
        """
        ...

    def begin(self, dimension: int, replications: int) -> State:
        """The state before any task.

        Parameters
        ----------
        dimension : int
            The number of features, d.
        replications : int
            The number of replications, R.

        Returns
        -------
        mapping of str to ndarray
            Arrays with the replications first.
        """
        ...

    def play(self, state: State, rounds: Rounds) -> Any:
        """Play all rounds of a task.

        Parameters
        ----------
        state : mapping of str to ndarray
            The state before the task, which must not be modified.
        rounds : Rounds
            The task. It records choices and rewards.

        Returns
        -------
        object
            What `learn` needs to know of the task; passed to `learn` only.
        """
        ...

    def learn(self, state: State, played: Any) -> State:
        """The state after the task.

        Parameters
        ----------
        state : mapping of str to ndarray
            The state before the task, which must not be modified.
        played : object
            What `play` returned.

        Returns
        -------
        mapping of str to ndarray
            A new mapping; `state` is left as it is.
        """
        ...


@runtime_checkable
class InformedAgent(Protocol):
    """An agent that sees the means of all arms: a reference, not a learner.

    Like `Agent`, but with `play_informed` instead of `play`. No other agent sees the means.

    >>> isinstance(hs.Optimal(), hs.InformedAgent)
    True
    """

    @property
    def name(self) -> str:
        """The label in results."""
        ...

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """How many random numbers a round takes, next to the one that breaks ties."""
        ...

    def begin(self, dimension: int, replications: int) -> State:
        """The state before any task."""
        ...

    def play_informed(self, state: State, rounds: Rounds, means: Floats) -> Any:
        """Play all rounds of a task.

        Parameters
        ----------
        state : mapping of str to ndarray
            The state before the task, which must not be modified.
        rounds : Rounds
            The task. It records choices and rewards.
        means : ndarray of shape (R, T, K)
            The expected rewards of all arms.

        Returns
        -------
        object
            What `learn` takes.
        """
        ...

    def learn(self, state: State, played: Any) -> State:
        """The state after the task."""
        ...


# One agent or several, or a function that makes them from the prepared environment, where the
# Oracle's mean parameter may be drawn.
AnyAgent = Agent | InformedAgent
Several = Sequence[AnyAgent] | Callable[[Environment], Sequence[AnyAgent]]
Agents = AnyAgent | Mapping[str, AnyAgent] | Several


def several(agents: Agents) -> Several:
    """A list of one agent, or of anything else; a list or a function unchanged.

    A dict holds agents by name.
    """
    if isinstance(agents, type | str | Agent | InformedAgent):
        return cast(Several, [agents])
    if isinstance(agents, Mapping):
        return [_named(agent, name) for name, agent in agents.items()]
    return agents


def _named(agent: AnyAgent, name: str) -> AnyAgent:
    if getattr(agent, "name", None) == name:
        return agent
    if not is_dataclass(agent) or isinstance(agent, type):
        raise ValueError(
            f"agents named by a dict must be dataclasses or have that name already, got {name!r} "
            f"for {checks.short(agent)}"
        )
    return replace(agent, name=name)


def checked(state: object, replications: int, returned_by: str) -> State:
    """A checked state: named arrays with an entry per replication. Errors name `returned_by`."""
    if isinstance(state, Mapping) and all(
        np.shape(array)[:1] == (replications,) for array in state.values()
    ):
        return state
    got = checks.short(state)
    if isinstance(state, Mapping):
        got = ", ".join(f"{name!r} of shape {np.shape(array)}" for name, array in state.items())
    raise ValueError(
        f"{returned_by} must return the state, named arrays with {replications} "
        f"entr{'y' if replications == 1 else 'ies'} each, one per replication, got {got}"
    )


def take(state: State, part: slice) -> State:
    """The state of some replications; the same object for all of them."""
    if part.start == 0 and all(len(array) <= part.stop for array in state.values()):
        return state
    return {name: array[part] for name, array in state.items()}
