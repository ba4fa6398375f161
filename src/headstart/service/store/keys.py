"""API keys: made once, kept as hashes, and checked without a query per request."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from sqlalchemy import insert, select, update

from headstart import checks
from headstart.service.messages import Role
from headstart.service.store.database import Database
from headstart.service.store.schema import keys, schema_version

# How often the table is read: creating or revoking a key takes effect after at most this time.
REFRESH_SECONDS = 3.0
ROLES: tuple[Role, ...] = ("decide", "read", "admin")
_SECRET_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key, without its secret."""

    id: str
    name: str
    role: Role
    created: float
    revoked: float | None

    def may(self, role: Role) -> bool:
        """Whether the key has a role; admin has all."""
        return self.role in ("admin", role)


def create_key(database: Database, *, name: str, role: Role, now: float) -> str:
    """Add a key `hs_<id>_<secret>` and return it. It cannot be read again."""
    if role not in ROLES:
        raise ValueError(f"role must be decide, read or admin, got {role!r}")
    if not 1 <= len(name) <= 200 or "\x00" in name:
        raise ValueError(f"name must have 1 to 200 characters, got {checks.short(name)}")
    identity = secrets.token_hex(6)
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    row = {"id": identity, "name": name, "role": role, "hash": _digest(secret), "created": now}
    with database.writing() as connection:
        connection.execute(insert(keys).values(row))
    return f"hs_{identity}_{secret}"


def list_keys(database: Database) -> list[Key]:
    """All keys, including revoked ones, oldest first."""
    return [key for key, _ in _rows(database)]


def revoke_key(database: Database, identity: str, *, now: float) -> bool:
    """Revoke a key. Returns whether there is one with this id."""
    is_it = keys.c.id == identity
    with database.writing() as connection:
        connection.execute(update(keys).where(is_it, keys.c.revoked.is_(None)).values(revoked=now))
        return connection.execute(select(keys.c.id).where(is_it)).first() is not None


class Keys:
    """The keys of a store, as of the last call of `refresh`.

    Once a store has had a key, every call needs one, so revoking the last key does not open it.
    """

    def __init__(self, database: Database, *, always_needed: bool) -> None:
        self._database = database
        self._always_needed = always_needed
        self._active: dict[str, tuple[Key, bytes]] = {}
        self.needed = True
        with database.reading() as connection:
            secret = connection.execute(select(schema_version.c.secret)).scalar_one()
        self.secret = bytes(secret)  # signs the cookies of the dashboard
        self.refresh()

    def refresh(self) -> None:
        """Read the table."""
        rows = _rows(self._database)
        self._active = {key.id: (key, digest) for key, digest in rows if key.revoked is None}
        self.needed = self._always_needed or bool(rows)

    def find(self, text: str) -> Key | None:
        """The key with this text, `hs_<id>_<secret>`; None if it is not one, or revoked."""
        parts = text.split("_", 2)
        if len(parts) != 3 or parts[0] != "hs":
            return None
        key, digest = self._active.get(parts[1], (None, b""))
        return key if hmac.compare_digest(_digest(parts[2]), digest) else None

    def by_id(self, identity: str) -> Key | None:
        """The key with this id, unless it is revoked."""
        return self._active.get(identity, (None, b""))[0]


def _rows(database: Database) -> list[tuple[Key, bytes]]:
    with database.reading() as connection:
        rows = connection.execute(select(keys).order_by(keys.c.created, keys.c.id)).all()
    return [
        (
            Key(id=r.id, name=r.name, role=r.role, created=r.created, revoked=r.revoked),
            bytes(r.hash),
        )
        for r in rows
    ]


def _digest(secret: str) -> bytes:
    # The secret has 256 random bits and cannot be guessed, so one SHA-256 is enough.
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
