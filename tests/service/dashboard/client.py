"""A client of pages, without a server."""

import asyncio
from typing import Any

import httpx
from starlette.types import ASGIApp


class PageClient:
    """Calls of an application of pages; every call has an event loop of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self._call("GET", path, **given)

    def post(self, path: str, **given: Any) -> httpx.Response:
        return self._call("POST", path, **given)

    def _call(self, method: str, path: str, **given: Any) -> httpx.Response:
        async def call() -> httpx.Response:
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(self._app),
                base_url="http://testserver",
                follow_redirects=True,
            ) as client:
                return await client.request(method, path, **given)

        return asyncio.run(call())
