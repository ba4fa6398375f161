"""Transport: what a call sends, when it is sent again, and what its answer means.

Nothing here waits or connects, so that both clients share it.
"""

import os
import random
import tempfile
import types
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from headstart_client.messages import (
    DecisionRequest,
    Item,
    ItemChange,
    ObservationRequest,
    Problem,
    ServiceError,
    read,
)

__version__ = "0.1.0"

T = TypeVar("T")
Keyed = TypeVar("Keyed", DecisionRequest, ObservationRequest)
Task = str | int
Vector = Sequence[float] | Any  # or an array of one dimension
# What is known of an item, of the context or of a task, by name.
Attributes = Mapping[str, object]
Arms = Mapping[str, Vector | Attributes] | Iterable[str] | None
# The result of one attempt.
Outcome = httpx.Response | httpx.TransportError

_AGAIN = (502, 503, 504)
_LONGEST_WAIT = 30.0
_LOG_TYPES = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet"}


class ConnectionFailedError(Exception):
    """The service could not be reached in any attempt.

    >>> from headstart_client import Client, ConnectionFailedError, Retries
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

    Parameters
    ----------
    number : int, default 4
        How often a call is sent again at most.
    first : float, default 0.1
        The longest first wait, in seconds.
    longest : float, default 5.0
        The longest wait, in seconds.

    Examples
    --------
    >>> from headstart_client import Retries
    >>> retries = Retries(number=2, first=0.1)
    >>> 0.0 <= retries.seconds(0, asked=0.0) <= 0.1
    True
    """

    number: int = 4
    first: float = 0.1
    longest: float = 5.0

    def seconds(self, attempt: int, asked: float) -> float:
        """The wait before the next attempt, if the service asked for so many seconds."""
        drawn = random.uniform(0.0, min(self.longest, self.first * 2.0**attempt))
        return max(min(asked, _LONGEST_WAIT), drawn)

    def pause(self, attempt: int, outcome: Outcome, *, once: bool) -> float | None:
        """Seconds until a call is sent again, None if this attempt was the last.

        once: whether the call must not happen twice; it is then sent again only if it did not
        arrive.
        """
        if attempt >= self.number or (once and _may_have_arrived(outcome)):
            return None
        if not isinstance(outcome, httpx.Response):
            return self.seconds(attempt, asked=0.0)
        if outcome.status_code not in _AGAIN:
            return None
        return self.seconds(attempt, _retry_after(outcome))


def _may_have_arrived(outcome: Outcome) -> bool:
    if isinstance(outcome, httpx.Response):
        return outcome.status_code != 503
    return not isinstance(outcome, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)


def _retry_after(response: httpx.Response) -> float:
    try:
        return max(0.0, float(response.headers.get("retry-after", "0")))
    except ValueError:
        return 0.0  # a date


def options(address: str, key: str | None, timeout: float) -> dict[str, Any]:
    """What a client of httpx is made with."""
    headers = {"content-type": "application/json", "user-agent": f"headstart-client/{__version__}"}
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    return {
        "base_url": address,
        "headers": headers,
        "timeout": timeout,
        "limits": httpx.Limits(max_connections=100, max_keepalive_connections=100),
        "follow_redirects": False,
    }


def path(names: Sequence[Task]) -> str:
    """The path of a bandit, or of a part of it; each name is one segment, whatever it holds."""
    return "/v1/bandits" + "".join(f"/{_segment(str(name))}" for name in names)


def _segment(name: str) -> str:
    quoted = quote(name, safe="")
    # . and .. would mean other segments.
    return quoted.replace(".", "%2E") if quoted in (".", "..") else quoted


@contextmanager
def whole_file(file: Path) -> Iterator[IO[bytes]]:
    """A file to write, which is complete in the end, or as it was before."""
    handle, part = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with open(handle, "wb") as opened:
            yield opened
        os.replace(part, file)
    except BaseException:
        os.unlink(part)
        raise


def keyed(request: Keyed) -> Keyed:
    """The request with an idempotency key, so that sending it again is safe."""
    if request.idempotency_key is not None:
        return request
    return msgspec.structs.replace(request, idempotency_key=uuid.uuid4().hex)


def job_content(
    request: msgspec.Struct, log: str | Path | None
) -> tuple[bytes, str, dict[str, str]]:
    """Body, content type and query of a job: the request, or a log with the request as query."""
    content = encode(request)
    if log is None:
        return content, "application/json", {}
    kind = _LOG_TYPES.get(Path(log).suffix.lower())
    if kind is None:
        raise ValueError(f"the log must end in .csv or .parquet, got {str(log)!r}")
    return Path(log).read_bytes(), kind, {"request": content.decode()}


def _plain(value: Any) -> Any:
    """A value of NumPy or pandas as JSON."""
    for convert in ("tolist", "to_list"):  # of arrays, of NumPy's numbers and texts, of series
        if hasattr(value, convert):
            return getattr(value, convert)()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    raise TypeError(f"a request must hold values of JSON, NumPy or pandas, got {value!r:.200}")


# The JSON of a request.
encode = msgspec.json.Encoder(enc_hook=_plain).encode


def vector(values: Vector | None) -> list[float] | None:
    """A list of floats."""
    return None if values is None else [float(x) for x in values]


def attributes(values: Attributes | Any | None) -> dict[str, object] | None:
    """Attributes in the form of a request."""
    return None if values is None else {str(name): value for name, value in dict(values).items()}


def _is_named(given: Vector | Attributes) -> bool:
    """Whether these are attributes, in a mapping or a row of a table, rather than features."""
    return hasattr(given, "keys")


def arm(given: Vector | Attributes) -> list[float] | dict[str, object]:
    """Attributes or numbers in the form of a request."""
    return (attributes(given) if _is_named(given) else vector(given)) or []


def arms_of(arms: Arms) -> dict[str, list[float] | dict[str, object]] | list[str] | None:
    """Arms in the form of a request: by id, with features or attributes; ids; None for all."""
    if isinstance(arms, Mapping):
        return {str(name): arm(given) for name, given in arms.items()}
    return None if arms is None else [str(name) for name in arms]


def items_of(items: Mapping[str, Vector | Attributes] | Iterable[Item]) -> list[Item]:
    """Items, from items, or features or attributes by id."""
    if not isinstance(items, Mapping):
        return list(items)
    return [
        Item(id=str(name), attributes=attributes(given))
        if _is_named(given)
        else Item(id=str(name), features=vector(given) or [])
        for name, given in items.items()
    ]


def changes_of(
    changes: Mapping[str, Vector | Attributes] | Iterable[Item | ItemChange],
) -> list[Item | ItemChange]:
    """Items and changes, from these, or from features or attributes by id."""
    if not isinstance(changes, Mapping):
        return list(changes)
    return [
        ItemChange(id=str(name), attributes=attributes(given))
        if _is_named(given)
        else ItemChange(id=str(name), features=vector(given))
        for name, given in changes.items()
    ]


def content_of(outcome: Outcome) -> bytes:
    """The content of an answer, or the error of the last attempt."""
    if not isinstance(outcome, httpx.Response):
        reason = type(outcome).__name__
        raise ConnectionFailedError(f"cannot reach the service: {reason}") from outcome
    if outcome.status_code >= 300:
        raise _error(outcome)
    return outcome.content


def _error(response: httpx.Response) -> ServiceError:
    try:
        problem = decoded(response.content, Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        detail = f"got status {response.status_code} without an explanation"
        return ServiceError(response.status_code, "Error", detail)
    error = ServiceError(problem.status, problem.title, problem.detail)
    error.problem = problem
    return error


def decoded(content: bytes, kind: type[T]) -> T:
    """The message of an answer; unknown fields are ignored."""
    if kind is types.NoneType:
        return None  # type: ignore[return-value]  # an answer without content
    return read(content, kind)


def decoded_row(content: bytes, kind: type[T]) -> T | Problem:
    """One answer of a batch, or its problem: only a problem has a detail."""
    if b'"detail"' in content and "detail" in msgspec.json.decode(content):
        return decoded(content, Problem)
    return decoded(content, kind)
