"""Simulated comparisons of learners on the same tasks."""

from headstart.simulation.comparison import Contestants, Progress, cores, evaluate, simulate
from headstart.simulation.learner import Learner, Optimal

__all__ = ["Contestants", "Learner", "Optimal", "Progress", "cores", "evaluate", "simulate"]
