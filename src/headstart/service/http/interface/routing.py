"""Routing: one table of routes, from which calls are routed and described."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec.json import Decoder

from headstart.service.engine.service import Service
from headstart.service.http.problems import MethodError, no_path
from headstart.service.jobs.files import Upload
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import LONGEST_NAME, Message, Role, ServiceError, invalid, not_found

VERSION = "v1"
_WILD = ""  # the key of a name in the tree; no segment of a path that is found is empty


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call of a route, decoded: the names in its path, its query and its body."""

    service: Service
    jobs: Jobs | None
    names: Mapping[str, str]
    query: Any
    body: Any
    upload: Upload | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Raw:
    """An answer that is not JSON of a message."""

    content: bytes
    content_type: bytes


class UploadQuery(Message):
    """Where the body is a log: the request itself, as JSON."""

    request: str = "{}"


@dataclass(frozen=True, kw_only=True)
class Rows:
    """One request or a list of them; each row has its answer or its problem."""

    request: type[msgspec.Struct]
    answer: type[msgspec.Struct]
    submit: Callable[[Service, str, Any], Future[list[Any]]]
    one: Decoder[Any] = field(init=False)
    many: Decoder[list[Any]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "one", Decoder(self.request))
        object.__setattr__(self, "many", Decoder(list[self.request]))  # type: ignore[name-defined]


@dataclass(frozen=True, kw_only=True)
class Route:
    """A method and a path, what they need, and what answers them.

    One of three answers: `rows`; `submit`, a future; or `read`, in a thread. role: None if no
    key is needed. body: the type of the body, None if there is none, with `body_optional` if it
    may be absent, and `upload` if a log may take its place. query: a message of the settings after
    the question mark.
    """

    method: str
    path: str
    name: str
    summary: str
    role: Role | None
    rows: Rows | None = None
    submit: Callable[[Call], Future[Any]] | None = None
    read: Callable[[Call], Any] | None = None
    body: Any = None
    body_optional: bool = False
    upload: bool = False
    query: type[msgspec.Struct] | None = None
    answer: Any = None
    status: int = 200
    errors: Sequence[int] = ()
    decoder: Decoder[Any] | None = field(init=False)
    names: tuple[str, ...] = field(init=False)  # in the path

    def __post_init__(self) -> None:
        parts = self.path.split("/")
        object.__setattr__(self, "names", tuple(p[1:-1] for p in parts if p.startswith("{")))
        object.__setattr__(self, "decoder", None if self.body is None else Decoder(self.body))

    @property
    def takes_body(self) -> bool:
        """Whether a body is read."""
        return self.rows is not None or self.body is not None

    @property
    def changes(self) -> bool:
        """Whether a call may change something."""
        return self.method != "GET"


class RouteTable:
    """Routes by method and path. A name in a path is one segment, percent-encoded."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes = tuple(routes)
        self._tree: dict[str, Any] = {}
        for route in self.routes:
            node = self._tree
            for part in route.path.split("/")[1:]:
                node = node.setdefault(_WILD if part.startswith("{") else part, {})
            node.setdefault("/", {})[route.method] = route  # no segment holds a slash

    def knows(self, raw_path: bytes) -> bool:
        """Whether a path is one of the interface, right or wrong; else it is that of a page."""
        first = raw_path.split(b"/", 2)[1:2]
        name = first[0].decode("latin-1") if first else ""
        return name in self._tree or _is_version(name) or name == "bandits"

    def find(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str]]:
        """The route of a call, and the names in its path."""
        node = self._tree
        given: list[str] = []
        for part in raw_path.decode("latin-1").split("/")[1:]:
            further = node.get(part) if part else None
            if further is None:
                further = node.get(_WILD) if part else None
                if further is None:
                    raise _no_route(raw_path)
                given.append(part)
            node = further
        methods = node.get("/")
        if methods is None:
            raise _no_route(raw_path)
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            raise MethodError(method[:20], next(iter(methods.values())).path, list(methods))
        return route, {n: _name(n, text) for n, text in zip(route.names, given, strict=True)}


def _name(name: str, text: str) -> str:
    if "%" in text:
        try:
            text = unquote_to_bytes(text).decode()
        except UnicodeDecodeError:
            raise invalid(f"{name} in the path must be UTF-8, got {text[:200]!r}") from None
    elif not text.isascii():
        raise invalid(f"{name} in the path must be percent-encoded UTF-8, got {text[:200]!r}")
    if not 1 <= len(text) <= LONGEST_NAME or "\x00" in text:
        raise invalid(
            f"{name} in the path must have 1 to {LONGEST_NAME} characters, none of them U+0000, "
            f"got {text[:LONGEST_NAME]!r}"
        )
    return text


def _no_route(raw_path: bytes) -> ServiceError:
    path = raw_path[:200].decode("latin-1")
    first = path.split("/", 2)[1] if "/" in path else ""
    if first != VERSION and (_is_version(first) or first == "bandits"):
        return not_found(f"the path must begin with /{VERSION}/, the version spoken, got {path!r}")
    return no_path(path)


def _is_version(name: str) -> bool:
    return name[:1] == "v" and name[1:].isdigit()
