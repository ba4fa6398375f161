"""Running the service: from a store and an address to a process that serves."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from headstart.live.stored import one_blas_thread
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
from headstart.service.messages import ServiceError


@dataclass(frozen=True, kw_only=True)
class Running:
    """How a process serves."""

    store: str | Path
    host: str
    port: int
    data: Path | None = None  # the folder whose logs jobs may read
    demo: bool = False
    beside: Path | None = None  # the folder of the processes at this port, if there are several
    log_format: LogFormat = "text"
    log_requests: bool = True
    limits: Limits = field(default_factory=Limits)
    cache_bytes: int = 256 << 20


class Users:
    """Simulated users, who come while the service runs."""

    def __init__(self, service: Service, log: Log) -> None:
        self._service = service
        self._log = log
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headstart-demo", daemon=True)

    def start(self) -> None:
        """Have them come."""
        self._thread.start()

    def stop(self) -> None:
        """Let them come no more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            run_demo(self._service, self._stop)
        except ServiceError as error:
            self._log.event("demo ended", level="error", detail=error.problem.detail)


def run(settings: Running, announce: Callable[[str, bool], None]) -> bool:
    """Serve until a signal comes; whether it went well.

    announce is told where the service listens, and whether calls need a key. A store that is in
    use, a port that is, or an address beyond this machine without a key is a ValueError.
    """
    listener = listen(settings.host, settings.port, reuse_port=settings.beside is not None)
    with listener:
        service = Service.open(settings.store, cache_bytes=settings.cache_bytes, compute_apart=True)
        try:
            needs_key = bool(list_keys(service.database))
            if not needs_key and not is_loopback(listener):
                raise AddressError(
                    f"host must be 127.0.0.1 until the store has a key, got {settings.host!r}: "
                    "make one with headstart keys create"
                )
            log = Log(settings.log_format)
            log_libraries(log)
            jobs = Jobs(service, uploads=uploads_folder(settings.store), data=settings.data)
            app = Application(
                service,
                jobs=jobs,
                pages=application(service, jobs),
                users=Users(service, log) if settings.demo else None,
                loopback=is_loopback(listener),
                limits=settings.limits,
                log=log,
                log_requests=settings.log_requests,
                metrics_folder=settings.beside,
            )
            server = server_of(app)
            app.lifespan.on_start = keep_out_of_collection
            app.lifespan.on_failure = server.fail
            announce(address_of(listener), needs_key)
            with one_blas_thread:  # so that no decision has to set the number
                server.run([listener])
        finally:
            service.stop()
    return not server.failed
