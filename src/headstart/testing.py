"""The laws that every agent keeps, for tests of your own agents.

Each law is a function of an agent and an environment that it can play, and raises an AssertionError
where it is broken; `check_agent` holds an agent to all of them.
"""

import copy
from collections.abc import Callable, Sequence
from unittest import mock

import numpy as np
import xarray as xr

import headstart as hs
from headstart.arrays import Floats, Integers
from headstart.interfaces import Environment, PreparableEnvironment
from headstart.simulation import Agent, InformedAgent, Rounds, State
from headstart.simulation.rounds import draw_uniforms

AnyAgent = Agent | InformedAgent
Law = Callable[[AnyAgent, Environment], None]

N_TASKS, HORIZON, REPLICATIONS, SEED = 3, 8, 5, 7


def same_seed_same_numbers(agent: AnyAgent, environment: Environment) -> None:
    """Two simulations with one seed are identical."""
    xr.testing.assert_identical(_simulate([agent], environment), _simulate([agent], environment))


def chunks_and_threads_change_nothing(agent: AnyAgent, environment: Environment) -> None:
    """Replications one by one, on one thread or three, give what they give together."""
    whole = _simulate([agent], environment)
    with mock.patch("headstart.simulation.run.CHUNK_BYTES", 1):
        for workers in (1, 3):
            xr.testing.assert_identical(whole, _simulate([agent], environment, workers))


def other_agents_change_nothing(agent: AnyAgent, environment: Environment) -> None:
    """An agent's numbers are the same whether it plays alone, before others or after them."""
    others = [hs.Learner(f"{agent.name} {i}", hs.policies.Thompson(), _AVERAGE) for i in (1, 2)]
    alone = _simulate([agent], environment)
    together = _simulate([others[0], agent, others[1]], environment)
    xr.testing.assert_identical(alone, together.sel(learner=[agent.name]))


def states_are_not_modified(agent: AnyAgent, environment: Environment) -> None:
    """`play` and `learn` leave the state as it was: it can be played from again."""
    for state, task, uniforms in _situations(agent, environment):
        before = copy.deepcopy(dict(state))
        choices, played = _play(agent, state, task, uniforms)
        agent.learn(state, played)
        for name, array in before.items():
            if array.dtype != object:
                np.testing.assert_array_equal(state[name], array, err_msg=f"state {name!r}")
        again, _ = _play(agent, state, task, uniforms)
        np.testing.assert_array_equal(choices, again, err_msg="choices from the same state")


def states_have_replications_first(agent: AnyAgent, environment: Environment) -> None:
    """Every array of a state has the replications on its first axis."""
    for state, _, _ in _situations(agent, environment):
        for name, array in state.items():
            assert array.shape[:1] == (REPLICATIONS,), f"state {name!r} is {array.shape}"


def no_reward_is_seen_before_its_round(agent: AnyAgent, environment: Environment) -> None:
    """A choice depends on no reward of its round or a later one, and on no later arms."""
    for state, task, uniforms in _situations(agent, environment):
        choices, _ = _play(agent, state, task, uniforms)
        for t in range(HORIZON):
            arms, rewards = task.arms.copy(), task.rewards.copy()
            rewards[:, t:] = _other(rewards[:, t:])
            arms[:, t + 1 :] = _other(arms[:, t + 1 :])
            changed = hs.Task(arms=arms, rewards=rewards, means=task.means)
            again, _ = _play(agent, state, changed, uniforms)
            np.testing.assert_array_equal(
                choices[:, : t + 1], again[:, : t + 1], err_msg=f"choices up to round {t + 1}"
            )


def no_reward_is_seen_of_arms_not_chosen(agent: AnyAgent, environment: Environment) -> None:
    """Neither choices nor what is learned depend on what the other arms would have given."""
    for state, task, uniforms in _situations(agent, environment):
        chosen = _play(agent, state, task, uniforms)[0][..., None]
        rewards = _other(task.rewards)
        np.put_along_axis(rewards, chosen, np.take_along_axis(task.rewards, chosen, -1), -1)
        changed = hs.Task(arms=task.arms, rewards=rewards, means=task.means)
        _assert_played_alike(agent, state, task, changed, uniforms)


def means_are_never_seen(agent: AnyAgent, environment: Environment) -> None:
    """Neither choices nor what is learned depend on the means or on the true parameter."""
    for state, task, uniforms in _situations(agent, environment):
        changed = hs.Task(arms=task.arms, rewards=task.rewards, means=_other(task.means))
        _assert_played_alike(agent, state, task, changed, uniforms)


__all__ = ["LAWS", "check_agent"]

LAWS: Sequence[Law] = (
    same_seed_same_numbers,
    chunks_and_threads_change_nothing,
    other_agents_change_nothing,
    states_are_not_modified,
    states_have_replications_first,
    no_reward_is_seen_before_its_round,
    no_reward_is_seen_of_arms_not_chosen,
    means_are_never_seen,
)

_WORLD = hs.environments.Synthetic(dimension=3, n_arms=4)
_AVERAGE = hs.priors.Average()


def check_agent(agent: AnyAgent, environment: Environment | None = None) -> None:
    """Hold an agent to all laws; of one that is informed, all but that the means are never seen.

    Parameters
    ----------
    agent : Agent
        The agent.
    environment : Environment, optional
        One that it can play, by default a small synthetic one.

    Raises
    ------
    AssertionError
        Names the law and says what differed.

    Examples
    --------
    >>> import headstart as hs
    >>> from headstart.testing import check_agent
    >>> check_agent(hs.learners.itl())
    """
    played = _WORLD if environment is None else environment
    for law in LAWS:
        if law is means_are_never_seen and isinstance(agent, InformedAgent):
            continue
        try:
            law(agent, played)
        except AssertionError as error:
            raise AssertionError(f"{agent.name} breaks {law.__name__}: {error}") from error


def _simulate(agents: Sequence[AnyAgent], environment: Environment, workers: int = 1) -> xr.Dataset:
    return hs.simulate(
        environment,
        agents,
        n_tasks=N_TASKS,
        horizon=HORIZON,
        replications=REPLICATIONS,
        seed=SEED,
        workers=workers,
    )


def _situations(agent: AnyAgent, environment: Environment) -> list[tuple[State, hs.Task, Floats]]:
    """The states before the first, the second and the third task, with task and numbers."""
    rng = np.random.default_rng(SEED)
    if isinstance(environment, PreparableEnvironment):
        environment = environment.prepare(REPLICATIONS, rng)
    state, found = agent.begin(environment.dimension, REPLICATIONS), []
    for _ in range(N_TASKS):
        task = environment.sample(HORIZON, REPLICATIONS, rng)
        uniforms = draw_uniforms(task, agent.n_uniforms(task.n_arms, task.dimension), rng)
        found.append((state, task, uniforms))
        # From a copy: an agent that modifies a state must not do it here.
        begun = copy.deepcopy(dict(state))
        state = agent.learn(begun, _play(agent, begun, task, uniforms)[1])
    return found


def _play(
    agent: AnyAgent, state: State, task: hs.Task, uniforms: Floats
) -> tuple[Integers, object]:
    """The choices (R, T), and what the agent learns from."""
    rounds = Rounds(task, uniforms)
    played = _play_rounds(agent, state, task, rounds)
    return rounds.choices, played


def _play_rounds(agent: AnyAgent, state: State, task: hs.Task, rounds: Rounds) -> object:
    if isinstance(agent, InformedAgent):
        return agent.play_informed(state, rounds, task.means)
    return agent.play(state, rounds)


def _assert_played_alike(
    agent: AnyAgent, state: State, task: hs.Task, changed: hs.Task, uniforms: Floats
) -> None:
    """The same choices in both tasks, and the same state after them or one that chooses alike."""
    choices, played = _play(agent, state, task, uniforms)
    choices_changed, played_changed = _play(agent, state, changed, uniforms)
    np.testing.assert_array_equal(choices, choices_changed, err_msg="choices")
    one, two = agent.learn(state, played), agent.learn(state, played_changed)
    assert one.keys() == two.keys(), f"states {sorted(one)} and {sorted(two)}"
    for name, array in one.items():
        if array.dtype != object:
            np.testing.assert_array_equal(array, two[name], err_msg=f"state {name!r}")
    choices, _ = _play(agent, one, task, uniforms)
    choices_changed, _ = _play(agent, two, task, uniforms)
    np.testing.assert_array_equal(choices, choices_changed, err_msg="choices after learning")


def _other(values: Floats) -> Floats:
    """Different values of a similar scale; 0/1 rewards turn into their opposites."""
    return 1.0 - values
