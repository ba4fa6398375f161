"""Keys and roles; what a browser may be made to send where none is needed."""

import time
from pathlib import Path
from typing import cast

import pytest
from tests.service.http.calling import Caller
from tests.service.http.fake import FakeService

from headstart.service.engine.service import Service
from headstart.service.http.app import Application
from headstart.service.messages import Role
from headstart.service.store.database import Database
from headstart.service.store.keys import create_key, list_keys, revoke_key

NEWS = "/v1/bandits/news"
DECISION = {"task": "u"}


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_a_key_is_stored_only_as_a_hash(fake: FakeService, tmp_path: Path) -> None:
    key = create_key(fake.database, name="app", role="decide", now=1.0)
    _, identity, secret = key.split("_", 2)
    assert len(secret) >= 43  # 256 bits in base 64
    assert [each.id for each in list_keys(fake.database)] == [identity]
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("fake.db*"))
    assert identity.encode() in stored
    assert secret.encode() not in stored


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ("decide", (200, 403, 403)),
        ("read", (403, 200, 403)),
        ("admin", (200, 200, 200)),
    ],
)
def test_roles(client: Caller, fake: FakeService, role: Role, allowed: tuple[int, ...]) -> None:
    client.headers = bearer(create_key(fake.database, name="k", role=role, now=1.0))
    client.app._security.keys.refresh()
    answers = (
        client.post(f"{NEWS}/decisions", json=DECISION),
        client.get(NEWS),
        client.put(NEWS, json={"dimension": 2}),
    )
    assert tuple(answer.status_code for answer in answers) == allowed
    refused = [answer.json()["detail"] for answer in answers if answer.status_code == 403]
    assert all(said.endswith(f"got one with {role}") for said in refused)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Basic aHM6eA==",
        "Bearer ",
        "Bearer hs_",
        "Bearer hs_000000000000_x",
        "Bearer {id}_{secret}",
        "Bearer hs_{id}_{secret}x",
        "Bearer hs_{id}_",
        "Bearer hs_{id}",
        "Bearer hs__{secret}",
        "Bearer hs_{id}_\xe9",
    ],
)
def test_a_wrong_key_is_401(client: Caller, fake: FakeService, header: str | None) -> None:
    _, identity, secret = create_key(fake.database, name="k", role="admin", now=1.0).split("_", 2)
    client.app._security.keys.refresh()
    shown = (header or "").format(id=identity, secret=secret).encode("latin-1")
    given = {} if header is None else {b"authorization": shown}
    answer = client.post(f"{NEWS}/decisions", json=DECISION, headers=given)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert fake.seen == []


def test_a_revoked_key_is_refused_and_opens_nothing(client: Caller, fake: FakeService) -> None:
    key = create_key(fake.database, name="k", role="admin", now=1.0)
    keys = client.app._security.keys
    keys.refresh()
    assert client.get(NEWS, headers=bearer(key)).status_code == 200
    assert revoke_key(fake.database, key.split("_")[1], now=time.time())
    keys.refresh()
    assert client.get(NEWS, headers=bearer(key)).status_code == 401
    assert client.get(NEWS).status_code == 401
    assert not revoke_key(fake.database, "nothing", now=2.0)


def test_beyond_this_machine_a_key_is_always_needed(fake: FakeService) -> None:
    client = Caller(Application(cast(Service, fake), loopback=False, log_requests=False))
    assert client.get("/v1/bandits").status_code == 401
    assert client.get("/metrics").status_code == 401
    for path in ("/healthz", "/openapi.json"):
        assert client.get(path).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000"])
def test_without_keys_the_host_is_this_machine(client: Caller, host: str) -> None:
    assert client.get(NEWS, headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:80", "localhost.evil:8000"]
)
def test_another_host_is_refused(client: Caller, host: str) -> None:
    answer = client.get(NEWS, headers={"host": host})
    assert answer.status_code == 403
    assert repr(host) in answer.json()["detail"]


def test_another_site_cannot_change_anything(client: Caller, fake: FakeService) -> None:
    for origin in ("http://evil.example", "null", "http://localhost:9"):
        answer = client.post(f"{NEWS}/decisions", json=DECISION, headers={"origin": origin})
        assert answer.status_code == 403
    assert fake.seen == []
    own = client.post(f"{NEWS}/decisions", json=DECISION, headers={"origin": "http://localhost"})
    assert own.status_code == 200


def test_keys_are_made_while_the_service_has_the_file(fake: FakeService, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"fake\.db"):
        Database.open(tmp_path / "fake.db")
    beside = Database.open(tmp_path / "fake.db", alone=False)
    create_key(beside, name="k", role="read", now=1.0)
    beside.close()
    assert [key.role for key in list_keys(fake.database)] == ["read"]


def test_bad_roles_and_names_are_refused(fake: FakeService) -> None:
    with pytest.raises(ValueError, match="got 'root'"):
        create_key(fake.database, name="k", role=cast(Role, "root"), now=1.0)
    with pytest.raises(ValueError, match="200"):
        create_key(fake.database, name="", role="read", now=1.0)
    assert list_keys(fake.database) == []
