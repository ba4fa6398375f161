"""Memory: what is let go of is free at once, without a garbage collection."""

import gc
import time
import weakref

from tests.service.engine.setting import D, decided, paid, shop

from headstart.live.stored import StoredTasks
from headstart.service.engine.configuration import model_of
from headstart.service.messages import BanditConfiguration


def test_rows_are_free_once_they_are_let_go_of() -> None:
    """Collections are rare in the service, and do not see how large an array is."""
    tasks = StoredTasks(model_of(BanditConfiguration(dimension=D), time.time))
    tasks.open(1, None)
    rows = weakref.ref(tasks._tasks.rows)
    gc.disable()
    try:
        del tasks
        assert rows() is None
    finally:
        gc.enable()


def test_a_bandit_with_too_many_tasks_frees_them(store: str) -> None:
    with shop(store) as service:
        paid(service, [each.id for each in decided(service, *map(str, range(50)))])
        service.refresh("shop")
        (bandit,) = service._registry
        rows = weakref.ref(bandit._rows[False]._tasks.rows)
        gc.disable()
        try:
            bandit.release()
            assert rows() is None
        finally:
            gc.enable()
