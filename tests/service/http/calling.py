"""Calls of an application without a server."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpx

from headstart.service.http.app import Application


class Caller:
    """A client of an application; every call has an event loop of its own."""

    def __init__(self, app: Application, **headers: str) -> None:
        self.app = app
        self.headers = headers
        self.cookies = httpx.Cookies()

    def request(
        self, method: str, path: str, *, parts: Iterable[bytes] | None = None, **given: Any
    ) -> httpx.Response:
        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, client=("127.0.0.1", 1))
            async with httpx.AsyncClient(
                transport=transport,
                base_url="http://localhost",
                headers=self.headers,
                cookies=self.cookies,
            ) as client:
                if parts is not None:
                    given["content"] = _stream(parts)
                answer = await client.request(method, path, **given)
                self.cookies = client.cookies
                return answer

        return asyncio.run(call())

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self.request("GET", path, **given)

    def post(self, path: str, **given: Any) -> httpx.Response:
        return self.request("POST", path, **given)

    def put(self, path: str, **given: Any) -> httpx.Response:
        return self.request("PUT", path, **given)

    def patch(self, path: str, **given: Any) -> httpx.Response:
        return self.request("PATCH", path, **given)

    def delete(self, path: str, **given: Any) -> httpx.Response:
        return self.request("DELETE", path, **given)


async def _stream(parts: Iterable[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
