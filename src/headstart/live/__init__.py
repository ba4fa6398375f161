"""Live use: a bandit that an application can hold."""

from headstart.live.bandit import MetaBandit
from headstart.live.catalogue import Catalogue
from headstart.live.decision import Decision, Decisions, TaskView

__all__ = ["Catalogue", "Decision", "Decisions", "MetaBandit", "TaskView"]
