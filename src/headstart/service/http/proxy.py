"""Behind proxies: what trusted proxies say about a caller, and the prefix of all addresses."""

import ipaddress
from collections.abc import Iterable, Sequence
from contextvars import ContextVar

from starlette.types import ASGIApp, Receive, Scope, Send

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Before the path of every link and redirect: "/bandits" if the service is at /bandits/.
prefix: ContextVar[str] = ContextVar("prefix", default="")


def networks(given: Iterable[str]) -> list[Network]:
    """Addresses and networks of proxies, checked."""
    found = []
    for each in given:
        try:
            found.append(ipaddress.ip_network(each))
        except ValueError:
            raise ValueError(
                f"proxy must be an address or a network such as 10.0.0.0/8, got {each!r}"
            ) from None
    return found


def checked_prefix(root_path: str) -> str:
    """A prefix of paths, checked: empty, or with a slash before it and none after it."""
    found = root_path.rstrip("/")
    if found and (not found.startswith("/") or "//" in found or not found.isascii()):
        raise ValueError(f"root_path must be a path such as /bandits, got {root_path!r}")
    return found


class BehindProxies:
    """An application as seen by callers beyond its proxies.

    From a trusted proxy, X-Forwarded-For says who calls (the last address that is not trusted),
    X-Forwarded-Proto how, and X-Forwarded-Host by which name. A path may come with the prefix of
    `root_path`, or without it if the proxy has removed it.
    """

    def __init__(self, app: ASGIApp, *, trusted: Sequence[Network], root_path: str) -> None:
        self._app = app
        self._trusted = trusted
        self._prefix = checked_prefix(root_path)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        if scope["type"] == "http":
            client = scope.get("client")
            if client is not None and self._trusts(client[0]):
                scope = self._forwarded(scope)
            if self._prefix:
                prefix.set(self._prefix)
                scope = self._without_prefix(scope)
        await self._app(scope, receive, send)

    def _trusts(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._trusted)

    def _forwarded(self, scope: Scope) -> Scope:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        changed = dict(scope)
        said = headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")
        others = [each.strip() for each in said if each.strip() and not self._trusts(each.strip())]
        if others:
            changed["client"] = (others[-1], 0)
        proto = _last(headers, b"x-forwarded-proto")
        if proto in (b"http", b"https"):
            changed["scheme"] = proto.decode()
        host = _last(headers, b"x-forwarded-host")
        if host:
            kept = [(name, value) for name, value in scope["headers"] if name != b"host"]
            changed["headers"] = [*kept, (b"host", host)]
        return changed

    def _without_prefix(self, scope: Scope) -> Scope:
        path = scope["path"]
        if path != self._prefix and not path.startswith(self._prefix + "/"):
            return scope
        raw = (scope.get("raw_path") or path.encode())[len(self._prefix) :] or b"/"
        return {**scope, "path": path[len(self._prefix) :] or "/", "raw_path": raw}


def _last(headers: dict[bytes, bytes], name: bytes) -> bytes:
    return headers.get(name, b"").rpartition(b",")[2].strip()
