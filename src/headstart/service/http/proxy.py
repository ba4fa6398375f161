"""Behind proxies: their addresses, and the prefix that they put before all paths."""

import ipaddress
from collections.abc import Iterable
from contextvars import ContextVar

from starlette.types import ASGIApp, Receive, Scope, Send

# Before the path of every link and redirect: "/bandits" if the service is at /bandits/.
prefix: ContextVar[str] = ContextVar("prefix", default="")


def check_proxies(given: Iterable[str]) -> None:
    """Raise if a proxy is neither an address nor a network."""
    for each in given:
        try:
            ipaddress.ip_network(each)
        except ValueError:
            raise ValueError(
                f"proxy must be an address or a network such as 10.0.0.0/8, got {each!r}"
            ) from None


class WithPrefix:
    """An application whose paths may come with a prefix, or without it if a proxy removes it."""

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self._app, self._prefix = app, root_path.rstrip("/")
        if not self._prefix.startswith("/") or "//" in self._prefix or not self._prefix.isascii():
            raise ValueError(f"root_path must be a path such as /bandits, got {root_path!r}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        if scope["type"] == "http":
            prefix.set(self._prefix)
            path = scope["path"]
            if path == self._prefix or path.startswith(self._prefix + "/"):
                raw = (scope.get("raw_path") or path.encode())[len(self._prefix) :] or b"/"
                scope = {**scope, "path": path[len(self._prefix) :] or "/", "raw_path": raw}
        await self._app(scope, receive, send)
