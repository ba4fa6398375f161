"""Who may call: keys and roles, and protection against other sites in a browser."""

from headstart.service.http.decoding import Headers
from headstart.service.messages import Role, ServiceError
from headstart.service.store.database import Database
from headstart.service.store.keys import Key, Keys

_LOCAL_NAMES = (b"localhost", b"127.0.0.1", b"[::1]")
NO_KEY_NEEDED = Key(id="", name="no key needed", role="admin", created=0.0, revoked=None)


class Security:
    """What a call must show.

    loopback: the service listens on this machine only. Then no key is needed until the store has
    one; but a page in a browser can reach the service as well, so the Host must name this machine,
    and a call that changes something must come from a page of the service, or from none.
    """

    def __init__(self, database: Database, *, loopback: bool) -> None:
        self.keys = Keys(database, always_needed=not loopback)
        self._known_hosts: set[bytes] = set()

    def check(self, headers: Headers, role: Role, *, changes: bool) -> Key:
        """The key of a call that needs a role, or an error."""
        if not self.keys.needed:
            self.check_browser(headers, changes=changes)
            return NO_KEY_NEEDED
        key = self.key_of(headers)
        if not key.may(role):
            raise ServiceError(
                403, "Forbidden", f"the key must have the role {role}, got one with {key.role}"
            )
        return key

    def key_of(self, headers: Headers) -> Key:
        """The key of a call: `Authorization: Bearer hs_…`."""
        scheme, _, text = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not text:
            raise ServiceError(
                401, "Unauthorized", "a key must be sent as Authorization: Bearer hs_…, got none"
            )
        key = self.keys.find(text.strip())
        if key is None:
            raise ServiceError(
                401,
                "Unauthorized",
                "the key is unknown or revoked",
            )
        return key

    def check_browser(self, headers: Headers, *, changes: bool) -> None:
        """Refuse what another site may have made a browser send; only if no key is needed."""
        if self.keys.needed:
            return
        if b"x-forwarded-for" in headers:
            raise ServiceError(
                403,
                "Forbidden",
                "behind a proxy a key is needed: make one with headstart keys create",
            )
        host = headers.get(b"host", b"localhost")
        if host not in self._known_hosts:
            if _without_port(host) not in _LOCAL_NAMES:
                raise ServiceError(
                    403,
                    "Forbidden",
                    f"Host must be localhost or 127.0.0.1, got {host[:200].decode('latin-1')!r}",
                )
            if len(self._known_hosts) < 100:
                self._known_hosts.add(host)
        if changes:
            check_origin(headers)


def check_origin(headers: Headers, *, needed: bool = False) -> None:
    """Refuse what another site's page sends; needed: for forms, which only browsers send."""
    origin = headers.get(b"origin")
    if origin is None and not needed:
        return
    if not origin or origin.partition(b"://")[2] != headers.get(b"host"):
        got = "none" if origin is None else repr(origin[:200].decode("latin-1"))
        raise ServiceError(403, "Forbidden", f"Origin must be the service's own, got {got}")


def _without_port(host: bytes) -> bytes:
    name, colon, port = host.rpartition(b":")
    return (name if colon and port.isdigit() else host).lower()
