"""Simulated comparisons of agents on the same tasks."""

from headstart.simulation._chunks import cores
from headstart.simulation.agent import Agent, Agents, InformedAgent, State
from headstart.simulation.comparison import evaluate, simulate
from headstart.simulation.learner import Learner, Optimal
from headstart.simulation.rounds import Rounds

__all__ = [
    "Agent",
    "Agents",
    "InformedAgent",
    "Learner",
    "Optimal",
    "Rounds",
    "State",
    "cores",
    "evaluate",
    "simulate",
]
