"""Transport: what a call sends, when it is sent again, and what its answer means.

Nothing here waits or connects, so that both clients share it.
"""

import random
import types
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, Union, get_args, get_origin
from urllib.parse import quote

import httpx
import msgspec

from headstart import __version__
from headstart.service.messages import (
    BanditView,
    DecisionRequest,
    Item,
    ItemChange,
    ObservationRequest,
    Problem,
    ServiceError,
)

T = TypeVar("T")
Keyed = TypeVar("Keyed", DecisionRequest, ObservationRequest)
Task = str | int
Vector = Sequence[float] | Any  # or an array of one dimension
# What is known of an item, of the context or of a task, by name.
Attributes = Mapping[str, object]


class Table(Protocol):
    """A DataFrame, of pandas or Polars."""

    @property
    def columns(self) -> Any:
        """The names of its columns."""
        ...

    def __getitem__(self, name: Any, /) -> Any:
        """A column."""
        ...


Arms = Mapping[str, Vector | Attributes] | Iterable[str] | None
# The result of one attempt.
Outcome = httpx.Response | httpx.TransportError

_AGAIN = (502, 503, 504)
_LONGEST_WAIT = 30.0
_LOG_TYPES = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet"}


class ConnectionFailedError(Exception):
    """The service could not be reached in any attempt.

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
    >>> from headstart.service.client import Retries
    >>> retries = Retries(number=2, first=0.1)
    >>> 0.0 <= retries.seconds(0, asked=0.0) <= 0.1
    True
    """

    number: int = 4
    first: float = 0.1
    longest: float = 5.0

    def seconds(self, attempt: int, asked: float) -> float:
        """The wait before the next attempt.

        Parameters
        ----------
        attempt : int
            How many attempts there were, less 1.
        asked : float
            The seconds that the service asked for.

        Returns
        -------
        float
        """
        drawn = random.uniform(0.0, min(self.longest, self.first * 2.0**attempt))
        return max(min(asked, _LONGEST_WAIT), drawn)

    def pause(self, attempt: int, outcome: Outcome, *, once: bool) -> float | None:
        """Seconds until a call is sent again, None if this attempt was the last.

        Parameters
        ----------
        attempt : int
            How many attempts there were, less 1.
        outcome : httpx.Response or httpx.TransportError
            How the attempt ended.
        once : bool
            Whether the call must not happen twice: it is then sent again only if it did not arrive.

        Returns
        -------
        float or None
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
    headers = {"content-type": "application/json", "user-agent": f"headstart/{__version__}"}
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
    if is_table(arms):
        raise ValueError(
            "arms must be features or attributes by id, or ids, got a table: `items.put` takes one"
        )
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


def is_table(items: object) -> bool:
    """Whether this is a DataFrame, of pandas or Polars."""
    return hasattr(items, "columns")


def rows_of(table: Table, bandit: BanditView) -> Mapping[str, Vector | Attributes]:
    """The rows of a DataFrame by id: its column `id`, or else the index.

    Columns are attributes if the bandit has a schema, else its features, by name.
    """
    columns = {str(name): table[name].to_list() for name in table.columns}
    ids = columns.pop("id", None)
    if ids is None:
        if not hasattr(table, "index"):
            raise ValueError(f"items must have a column 'id', got {list(columns)}")
        ids = table.index.to_list()
    if len(set(map(str, ids))) < len(ids):
        raise ValueError(f"items must have different ids, got {len(ids) - len(set(ids))} twice")
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    by_id = dict(zip(map(str, ids), rows, strict=True))
    if bandit.configuration.features is not None:
        return by_id
    names = bandit.feature_names
    if set(columns) != set(names):
        raise ValueError(f"items must have the columns {names}, got {list(columns)}")
    return {item: [row[name] for name in names] for item, row in by_id.items()}


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
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError:
        return msgspec.convert(_without_new_fields(msgspec.json.decode(content), kind), kind)


def decoded_row(content: bytes, kind: type[T]) -> T | Problem:
    """One answer of a batch, or its problem: only a problem has a detail."""
    if b'"detail"' in content and "detail" in msgspec.json.decode(content):
        return decoded(content, Problem)
    return decoded(content, kind)


def _without_new_fields(value: Any, kind: Any) -> Any:
    if _is_struct(kind):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        if isinstance(value, dict):
            return {
                name: _without_new_fields(value[name], fields[name])
                for name in value
                if name in fields
            }
    elif isinstance(value, list) and get_origin(kind) is list:
        return [_without_new_fields(row, get_args(kind)[0]) for row in value]
    elif get_origin(kind) in (Union, types.UnionType):
        structs = [member for member in get_args(kind) if _is_struct(member)]
        return _without_new_fields(value, structs[0]) if len(structs) == 1 else value
    return value


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
