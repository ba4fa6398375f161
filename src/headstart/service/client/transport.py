"""One exchange: what to send, when to send it again, and what an answer means.

`exchange` does no input or output, so that one source serves both clients: it yields what to do,
a call to send or seconds to wait, and is sent what came of it.
"""

import random
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
import msgspec

from headstart import __version__
from headstart.service.client.calls import HttpCall
from headstart.service.client.decoding import decoded
from headstart.service.messages import Problem, ServiceError

T = TypeVar("T")
_AGAIN = (502, 503, 504)
_LONGEST_WAIT = 30.0


class ConnectionFailedError(Exception):
    """The service could not be reached, however often it was tried.

    >>> from headstart.service.client import Client, ConnectionFailedError, Retries
    >>> client = Client("http://127.0.0.1:1", retries=Retries(number=0))
    >>> try:
    ...     client.bandits()
    ... except ConnectionFailedError:
    ...     print("is the service running?")
    is the service running?
    """


@dataclass(frozen=True, kw_only=True)
class Retries:
    """How often a call is sent again, and after how many seconds.

    The i-th wait is drawn uniformly up to min(longest, first·2^i), or as long as the service asks.

    >>> from headstart.service.client import Retries
    >>> retries = Retries(number=2, first=0.1)
    >>> 0.0 <= retries.seconds(0, asked=0.0) <= 0.1
    True
    """

    number: int = 4
    first: float = 0.1
    longest: float = 5.0

    def seconds(self, attempt: int, asked: float) -> float:
        """The wait before the next attempt."""
        drawn = random.uniform(0.0, min(self.longest, self.first * 2.0**attempt))
        return max(min(asked, _LONGEST_WAIT), drawn)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where a service is, and how it is called."""

    address: str
    key: str | None
    timeout: float

    def options(self) -> dict[str, Any]:
        """What a client of httpx is made with."""
        headers = {"content-type": "application/json", "user-agent": f"headstart/{__version__}"}
        if self.key is not None:
            headers["authorization"] = f"Bearer {self.key}"
        limits = httpx.Limits(max_connections=100, max_keepalive_connections=100)
        return {
            "base_url": self.address,
            "headers": headers,
            "timeout": self.timeout,
            "limits": limits,
            "follow_redirects": False,
        }


# What to do next: send, or wait so many seconds. What came of it: an answer, an error, or nothing.
Step = HttpCall[Any] | float
Came = httpx.Response | httpx.TransportError | None


def exchange(call: HttpCall[T], retries: Retries) -> Generator[Step, Came, Any]:
    """Send a call until it is answered or there are no more attempts; its answer."""
    for attempt in range(retries.number + 1):
        came = yield call
        last = attempt == retries.number or (call.once and _arrived(came))
        if isinstance(came, httpx.Response):
            if came.status_code not in _AGAIN or last:
                return _answer(call, came)
            asked = _asked(came)
        elif last:
            reason = type(came).__name__
            raise ConnectionFailedError(f"the service could not be reached: {reason}") from came
        else:
            asked = 0.0
        yield retries.seconds(attempt, asked)
    raise AssertionError("the last attempt returns or raises")


def _arrived(came: Came) -> bool:
    """Whether a call may have been done, though it was not answered."""
    if isinstance(came, httpx.Response):
        return came.status_code != 503
    return not isinstance(came, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)


def _asked(response: httpx.Response) -> float:
    """The seconds of Retry-After, 0 if there are none."""
    try:
        return max(0.0, float(response.headers.get("retry-after", "0")))
    except ValueError:
        return 0.0  # a date


def _answer(call: HttpCall[T], response: httpx.Response) -> Any:
    if response.status_code >= 300:
        raise _problem(response)
    if call.rows:
        raws = msgspec.json.decode(response.content, type=list[msgspec.Raw])
        return [_row(raw, call.answer) for raw in raws]
    return None if call.answer is None else decoded(response.content, call.answer)


def _row(raw: msgspec.Raw, answer: Any) -> Any:
    """An answer, or the problem in its place: only a problem has a detail."""
    content = bytes(raw)
    if b'"detail"' in content and "detail" in msgspec.json.decode(content):
        return decoded(content, Problem)
    return decoded(content, answer)


def _problem(response: httpx.Response) -> ServiceError:
    try:
        problem = decoded(response.content, Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        detail = f"got status {response.status_code} without an explanation"
        return ServiceError(response.status_code, "Error", detail)
    error = ServiceError(problem.status, problem.title, problem.detail)
    error.problem = problem
    return error
