"""Logs: one line per event, as text or JSON, without names of tasks, features or keys."""

import asyncio
import logging
import sys
import time
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, TextIO

import msgspec

LogFormat = Literal["text", "json"]
# Lines of requests are written together, this often.
_FLUSH_SECONDS = 0.1
_encode = msgspec.json.Encoder().encode


class Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line of the log."""

    time: str
    level: str
    event: str
    method: str = ""
    route: str = ""  # the template of the path, not the path
    status: int = 0
    seconds: float = 0.0
    request_id: str = ""
    detail: str = ""
    traceback: str = ""


class Log:
    """Writes lines. Lines of requests are collected and written ten times per second."""

    def __init__(self, style: LogFormat = "text", stream: TextIO | None = None) -> None:
        self._style = style
        self._stream = sys.stderr if stream is None else stream
        self._waiting: deque[tuple[float, str, str, int, float, str]] = deque()
        self._timed = False  # whether the loop will write what waits

    def request(
        self, method: str, route: str, status: int, seconds: float, request_id: str
    ) -> None:
        """A request that was answered; called in an event loop."""
        self._waiting.append((time.time(), method, route, status, seconds, request_id))
        if not self._timed:
            self._timed = True
            asyncio.get_running_loop().call_later(_FLUSH_SECONDS, self._flush_in_time)

    def event(self, event: str, *, level: str = "info", **fields: Any) -> None:
        """Anything else, from any thread."""
        self.flush()
        self._write(
            [self._text(Line(time=_stamp(time.time()), level=level, event=event, **fields))]
        )

    def flush(self) -> None:
        """Write the collected lines, from any thread."""
        lines = []
        with suppress(IndexError):
            while True:
                lines.append(self._request_text(*self._waiting.popleft()))
        if lines:
            self._write(lines)

    def _flush_in_time(self) -> None:
        self._timed = False
        self.flush()

    def _request_text(
        self, when: float, method: str, route: str, status: int, seconds: float, request_id: str
    ) -> str:
        return self._text(
            Line(
                time=_stamp(when),
                level="info" if status < 500 else "warning",
                event="request",
                method=method,
                route=route,
                status=status,
                seconds=round(seconds, 6),
                request_id=request_id,
            )
        )

    def _text(self, line: Line) -> str:
        if self._style == "json":
            return _encode(line).decode()
        parts = [line.time, line.level, line.event, line.method, line.route]
        if line.status:
            parts += [str(line.status), f"{1e3 * line.seconds:.1f} ms"]
        parts += [line.request_id, line.detail]
        text = " ".join(part for part in parts if part)
        return f"{text}\n{line.traceback}".rstrip()

    def _write(self, lines: list[str]) -> None:
        try:
            self._stream.write("".join(f"{line}\n" for line in lines))
            self._stream.flush()
        except (OSError, ValueError):
            pass  # a log that cannot be written must not end the service


class Handler(logging.Handler):
    """What libraries log, warnings and worse, as lines of the same log."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        self._log.event(
            "log",
            level=record.levelname.lower(),
            detail=f"{record.name}: {record.getMessage()}",
            traceback=self.formatter.formatException(record.exc_info)
            if self.formatter and record.exc_info
            else "",
        )


def _stamp(when: float) -> str:
    second = int(when)
    return f"{_second(second)}.{int(1e3 * (when - second)):03d}+00:00"


@lru_cache(maxsize=4)
def _second(when: int) -> str:
    """A time to the second; thousands of lines share one."""
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%S")
