"""The service as a program: from a store and an address to a process that serves."""

import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from headstart.processes import use_one_blas_thread
from headstart.service.dashboard import application
from headstart.service.engine.service import Service
from headstart.service.http.app import Application, Limits
from headstart.service.http.logs import Log, LogFormat
from headstart.service.http.proxy import WithPrefix, check_proxies
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
from headstart.service.jobs.process import MOST_BYTES, JobProcess
from headstart.service.messages import ServiceError
from headstart.service.store.database import Database
from headstart.service.store.keys import list_keys


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The options of `headstart serve`."""

    store: str | Path
    host: str
    port: int
    data: Path | None = None  # the folder of logs that jobs may read
    demo: bool = False
    log_format: LogFormat = "text"
    log_requests: bool = True
    limits: Limits = field(default_factory=Limits)
    cache_bytes: int = 256 << 20
    job_bytes: int = MOST_BYTES
    proxies: Sequence[str] = ()  # addresses and networks of trusted proxies
    root_path: str = ""  # the prefix of all addresses, by a proxy


class Users:
    """Simulated users, who come while the service runs."""

    def __init__(self, service: Service, log: Log) -> None:
        self._service = service
        self._log = log
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headstart-demo", daemon=True)

    def start(self) -> None:
        """Let them come."""
        self._thread.start()

    def stop(self) -> None:
        """Let them come no more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        from headstart.service.demo import run_demo  # noqa: PLC0415 - not every service has users

        try:
            run_demo(self._service, self._stop)
        except ServiceError as error:
            self._log.event("demo ended", level="error", detail=error.problem.detail)


def serve(options: ServeOptions, announce: Callable[[str, bool], None]) -> bool:
    """Serve until a signal comes. Returns whether it went well.

    Calls `announce` with where the service listens and whether calls need a key. Raises ValueError
    if the store or the port is in use, or for an address beyond this machine without a key.
    """
    check_proxies(options.proxies)
    with listen(options.host, options.port) as listener:
        return _serve(options, listener, announce)


def _serve(
    options: ServeOptions, listener: socket.socket, announce: Callable[[str, bool], None]
) -> bool:
    service = Service.open(options.store, cache_bytes=options.cache_bytes, compute_apart=True)
    try:
        needs_key = _needs_key(options, service.database, listener)
        log = Log(options.log_format)
        log_libraries(log)
        jobs = Jobs(
            service,
            uploads=uploads_folder(options.store),
            data=options.data,
            begin=partial(JobProcess, most_bytes=options.job_bytes),
        )
        service_app = Application(
            service,
            jobs=jobs,
            pages=application(service, jobs),
            users=Users(service, log) if options.demo else None,
            loopback=is_loopback(listener),
            limits=options.limits,
            log=log,
            log_requests=options.log_requests,
        )
        app = WithPrefix(service_app, options.root_path) if options.root_path else service_app
        server = server_of(app, proxies=options.proxies)
        service_app.on_start = keep_out_of_collection
        service_app.on_failure = server.fail
        announce(address_of(listener), needs_key)
        use_one_blas_thread()
        server.run([listener])
    finally:
        service.stop()
    return not server.failed


def _needs_key(options: ServeOptions, database: Database, listener: socket.socket) -> bool:
    if list_keys(database):
        return True
    wrong = None
    if not is_loopback(listener):
        wrong = f"host must be 127.0.0.1 until the store has a key, got {options.host!r}"
    elif options.proxies or options.root_path:
        wrong = "behind a proxy the store must have a key"
    if wrong is not None:
        raise AddressError(f"{wrong}: make one with headstart keys create")
    return False
