"""Running the service: from a store and an address to a process that serves."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from headstart.service.dashboard import application
from headstart.service.demo import run_demo
from headstart.service.engine.service import Service
from headstart.service.http.app import Application, Limits
from headstart.service.http.keys import list_keys
from headstart.service.http.logs import Log, LogFormat
from headstart.service.http.server import (
    AddressError,
    address_of,
    is_loopback,
    keep_out_of_collection,
    listen,
    log_libraries,
    server_of,
)
from headstart.service.jobs.jobs import Jobs, uploads_folder


@dataclass(frozen=True, kw_only=True)
class Running:
    """How a process serves."""

    store: str | Path
    host: str
    port: int
    data: Path | None = None  # the folder whose logs jobs may read
    demo: bool = False
    reuse_port: bool = False
    log_format: LogFormat = "text"
    log_requests: bool = True
    limits: Limits = field(default_factory=Limits)
    cache_bytes: int = 256 << 20


def run(settings: Running, announce: Callable[[str, bool], None]) -> bool:
    """Serve until a signal comes; whether it went well.

    announce is told where the service listens, and whether calls need a key. A store that is in
    use, a port that is, or an address beyond this machine without a key is a ValueError.
    """
    listener = listen(settings.host, settings.port, reuse_port=settings.reuse_port)
    stop = threading.Event()
    with listener:
        service = Service.open(settings.store, cache_bytes=settings.cache_bytes)
        try:
            needs_key = bool(list_keys(service.database))
            if not needs_key and not is_loopback(listener):
                raise AddressError(
                    f"host must be 127.0.0.1 until the store has a key, got {settings.host!r}: "
                    "make one with headstart keys create"
                )
            log = Log(settings.log_format)
            log_libraries(log)
            app = Application(
                service,
                jobs=Jobs(service, uploads=uploads_folder(settings.store), data=settings.data),
                pages=application(service),
                loopback=is_loopback(listener),
                limits=settings.limits,
                log=log,
                log_requests=settings.log_requests,
            )
            server = server_of(app)
            users = threading.Thread(target=run_demo, args=(service, stop), daemon=True)

            def started() -> None:
                keep_out_of_collection()
                if settings.demo:
                    users.start()

            app.lifespan.on_start = started
            app.lifespan.on_failure = server.fail
            announce(address_of(listener), needs_key)
            server.run([listener])
        finally:
            stop.set()
            service.stop()
    return not server.failed
