"""Sessions: who is logged in to the dashboard.

A page reads `current(request)` and puts `csrf_token(request)` into the hidden field `csrf` of every
form that is sent by POST; the guard of the pages checks it before the page is called.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass

from sqlalchemy import delete, insert, select
from starlette.requests import HTTPConnection

from headstart.service.messages import Role
from headstart.service.store.database import Database
from headstart.service.store.keys import Key, Keys
from headstart.service.store.schema import sessions

COOKIE = "headstart_session"
LOGIN_COOKIE = "headstart_login"  # ties the form of the login page to the browser
SESSION_SECONDS = 12 * 3600.0
_IN_SCOPE = "headstart.session"
_VISIT_IN_SCOPE = "headstart.visit"


@dataclass(frozen=True, kw_only=True)
class Session:
    """One login. Without keys there is none, and every page is shown as to an admin."""

    key: str  # the id of its key, "" where none is needed
    name: str  # of the key
    role: Role  # read or admin
    csrf: str

    @property
    def may_change(self) -> bool:
        """Whether forms that change something are answered."""
        return self.role == "admin"

    @property
    def can_log_out(self) -> bool:
        """Whether there was a login."""
        return bool(self.key)


@dataclass(frozen=True, kw_only=True)
class Visit:
    """The login page as it is shown: its token, a sentence, and the page to go on to."""

    csrf: str
    notice: str = ""
    next: str = "/"


def current(request: HTTPConnection) -> Session | None:
    """The session of a request; None only on the login page and for static files."""
    found = request.scope.get(_IN_SCOPE)
    return found if isinstance(found, Session) else None


def csrf_token(request: HTTPConnection) -> str:
    """What the hidden field `csrf` of a form must hold."""
    session = current(request)
    return visit(request).csrf if session is None else session.csrf


def visit(request: HTTPConnection) -> Visit:
    """What the login page shows: `notice`, a sentence or "", and `next`, of a hidden field."""
    found = request.scope.get(_VISIT_IN_SCOPE)
    return found if isinstance(found, Visit) else Visit(csrf="")


def attach(scope: MutableMapping[str, object], found: "Session | Visit") -> None:
    """Have `current` or `visit` find it."""
    scope[_IN_SCOPE if isinstance(found, Session) else _VISIT_IN_SCOPE] = found


class Sessions:
    """The table of sessions. A cookie holds 256 random bits, the table their hash."""

    def __init__(self, database: Database, keys: Keys, clock: Callable[[], float]) -> None:
        self._database = database
        self._keys = keys
        self._clock = clock
        # Without keys one token serves all: no other site can read it.
        self._without_keys = Session(key="", name="", role="admin", csrf=secrets.token_urlsafe(32))

    def begin(self, key: Key) -> str:
        """Begin a session; the content of its cookie."""
        cookie, now = secrets.token_urlsafe(32), self._clock()
        row = {
            "hash": _digest(cookie),
            "key": key.id,
            "csrf": secrets.token_urlsafe(32),
            "created": now,
            "expires": now + SESSION_SECONDS,
        }
        with self._database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.expires < now))
            connection.execute(insert(sessions).values(row))
        return cookie

    def find(self, cookie: str | None) -> Session | None:
        """The session of a cookie; None if it ended, or its key was revoked."""
        if not self._keys.needed:
            return self._without_keys
        if not cookie:
            return None
        with self._database.reading() as connection:
            row = connection.execute(
                select(sessions).where(sessions.c.hash == _digest(cookie))
            ).first()
        if row is None or row.expires < self._clock():
            return None
        key = self._keys.by_id(row.key)
        if key is None or not key.may("read"):
            return None
        return Session(key=key.id, name=key.name, role=key.role, csrf=row.csrf)

    def end(self, cookie: str | None) -> None:
        """End a session: its cookie is refused from now on."""
        if cookie:
            with self._database.writing() as connection:
                connection.execute(delete(sessions).where(sessions.c.hash == _digest(cookie)))


def login_token(cookie: str) -> str:
    """The token of the login form, from the random cookie that came with it."""
    return hashlib.sha256(b"login " + cookie.encode()).hexdigest()


def same(given: str, expected: str) -> bool:
    """Whether two secrets are the same, in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def _digest(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).digest()
