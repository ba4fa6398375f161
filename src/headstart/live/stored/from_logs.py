"""The memory of a log, apart from that of the tasks of a store."""

from contextlib import nullcontext
from dataclasses import replace

from headstart.live.memory import from_logs
from headstart.live.stored.memory import StoredMemory
from headstart.live.stored.model import Model
from headstart.logs import LogReading
from headstart.progress import Progress


def memory_of_log(
    model: Model,
    reading: LogReading,
    *,
    beside: StoredMemory | None = None,
    counted: Progress | None = None,
) -> StoredMemory:
    """The memory of a log's tasks: that of a new `MetaBandit` after `fit`.

    beside: a memory with which it is to be merged. Its scales are taken if it knows them, else
    those of the log count for both; and the latest tasks of both are equally new. `counted` is told
    how many tasks are counted.
    """
    if beside is not None and beside.scales_known:
        scales = None if beside.scales is None else tuple(beside.scales.tolist())
        model = replace(model, settings=replace(model.settings, scales=scales))
    tasks = model.tasks()
    from_logs.fit(tasks, nullcontext(), reading, keep=False, counted=counted)
    found = replace(StoredMemory.of(tasks.population), scales_known=True)
    if model.settings.half_life_tasks is None:
        return found
    position = 0.0 if beside is None else beside.position
    return replace(found, state=replace(found.state, position=position))
