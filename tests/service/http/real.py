"""A real service behind a real server, in threads of the tests."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import select
from tests.waiting import running, until

from headstart.service.engine.service import Service
from headstart.service.http.app import Application, Limits
from headstart.service.http.logs import Log
from headstart.service.http.server import address_of, listen, server_of
from headstart.service.jobs.jobs import Jobs
from headstart.service.store import schema
from headstart.service.store.database import Database


@contextmanager
def serving(
    store: str | Path, folder: Path, limits: Limits | None = None
) -> Iterator[tuple[str, Service]]:
    """The address of a service that is ready, and the service."""
    service = Service.open(store)
    with (folder / "log").open("a") as stream:
        app = Application(
            service,
            jobs=Jobs(service, uploads=folder / "uploads"),
            limits=limits or Limits(),
            log=Log("json", stream),
        )
        listener = listen("127.0.0.1", 0)
        address = address_of(listener)
        server = server_of(app)

        def stop() -> None:
            server.should_exit = True

        with running(lambda: server.run([listener]), stop) as thread:
            until(lambda: service.ready, by=thread)
            yield address, service


# What refused calls must not change. Counts of bad rewards (`minutes`) and what the background
# does to tasks and priors are left out.
KEPT = (
    schema.bandits.c["id", "name", "configuration", "catalogue_version"],
    schema.items.c["bandit", "item", "features", "tags"],
    schema.tasks.c["id", "name", "n_rewards", "reward_sum"],
    schema.decisions.c["id", "arm", "status", "value", "weight"],
    schema.idempotency.c["bandit", "key", "answer"],
    schema.keys.c["id", "revoked"],
    schema.jobs.c["id", "bandit", "request"],
    schema.fits.c["id", "status"],
)


def digest(database: Database) -> str:
    """A digest of what the store holds."""
    found = hashlib.sha256()
    with database.reading() as connection:
        for columns in KEPT:
            rows = sorted(repr(tuple(row)) for row in connection.execute(select(*columns)))
            found.update("\n".join(rows).encode())
    return found.hexdigest()
