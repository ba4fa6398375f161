"""The pages of a filled store."""

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.service.dashboard.client import PageClient
from tests.service.shop import Shop

from headstart.service.dashboard import application
from headstart.service.http import sessions
from headstart.service.store.keys import Key


def logged_in(app: ASGIApp) -> ASGIApp:
    """The pages as an admin sees them, without the guard."""
    key = Key(id="k", name="test", role="admin", created=0.0, revoked=None)

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        sessions.attach(scope, key)
        await app(scope, receive, send)

    return inner


def pages_of(shop: Shop) -> PageClient:
    """The pages as an admin sees them."""
    return PageClient(logged_in(application(shop.service, shop.jobs)))


@pytest.fixture
def reader(shared: Shop) -> PageClient:
    """The pages of a filled store that tests only read."""
    return pages_of(shared)


@pytest.fixture
def client(shop: Shop) -> PageClient:
    """The pages of a filled store of the test's own."""
    return pages_of(shop)
