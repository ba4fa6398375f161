"""Plays single tasks, outside of `simulate`."""

import numpy as np

import headstart as hs
from headstart.arrays import Floats
from headstart.simulation import Learner, Optimal, Rounds, State
from headstart.simulation.rounds import draw_uniforms


def uniforms_for(agent: Learner | Optimal, task: hs.Task, rng: np.random.Generator) -> Floats:
    """The random numbers of an agent in a task, (…, T, n + 1)."""
    return draw_uniforms(task, agent.n_uniforms(task.n_arms, task.dimension), rng)


def play(
    agent: Learner | Optimal, state: State, task: hs.Task, random: Floats | np.random.Generator
) -> hs.Episode:
    """One task, with random numbers that are given or drawn here."""
    if isinstance(random, np.random.Generator):
        random = uniforms_for(agent, task, random)
    rounds = Rounds(task, random)
    if isinstance(agent, Optimal):
        return agent.play_informed(state, rounds, task.means)
    return agent.play(state, rounds)
