"""Stored tasks: live use where another store keeps the tasks, the decisions and the memory.

A service with many processes keeps every task as bytes in a database. `StoredTasks` holds the rows
of some of them, decides and learns; `recount` brings the memory up to date.
"""

from headstart.live.stored.from_logs import memory_of_log
from headstart.live.stored.memory import StoredMemory
from headstart.live.stored.model import Model
from headstart.live.stored.recounting import Recount, StoredTask, recount
from headstart.live.stored.tasks import Chosen, StoredTasks, statistics_of

__all__ = [
    "Chosen",
    "Model",
    "Recount",
    "StoredMemory",
    "StoredTask",
    "StoredTasks",
    "memory_of_log",
    "recount",
    "statistics_of",
]
