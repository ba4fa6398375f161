"""Stored tasks: live use if another store keeps the tasks, the decisions and the memory.

A service with many processes keeps every task as bytes in a database. `StoredTasks` holds the rows
of some tasks, decides and learns; `recount` brings the memory up to date.
"""

from headstart.arrays import floats, packed
from headstart.live._decision_sets import DecisionSet, decision_set
from headstart.live._item_effects import ItemEffects, items_of
from headstart.live._population import Start
from headstart.live._refresh import Pace
from headstart.live.inputs import FeatureNames, default_names
from headstart.live.stored.memory import Model, StoredMemory, memory_of_log
from headstart.live.stored.recount import Recount, StoredTask, recount
from headstart.live.stored.tasks import Chosen, Counted, StoredTasks, statistics_of

__all__ = [
    "Chosen",
    "Counted",
    "DecisionSet",
    "FeatureNames",
    "ItemEffects",
    "Model",
    "Pace",
    "Recount",
    "Start",
    "StoredMemory",
    "StoredTask",
    "StoredTasks",
    "decision_set",
    "default_names",
    "floats",
    "items_of",
    "memory_of_log",
    "packed",
    "recount",
    "statistics_of",
]
