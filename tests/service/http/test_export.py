"""Decisions as a log: what is in it, and that fits read it."""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from sqlalchemy import select
from tests.service.client.test_client import Bridge
from tests.service.engine.setting import Clock, D, decided, paid, shop
from tests.service.http.calling import Caller

import headstart as hs
from headstart.live.stored import statistics_of
from headstart.logs import LogReading
from headstart.logs.columns import Columns
from headstart.service.engine import export
from headstart.service.engine.service import Service
from headstart.service.http.app import Application
from headstart.service.store import schema
from headstart_client import Client, ServiceError

PATH = "/v1/bandits/shop/decisions"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Decisions of two days: those of the first are paid."""
    clock = Clock()
    with shop(str(tmp_path_factory.mktemp("export") / "s.db"), clock, exploration=0.3) as service:
        for day in range(2):
            for i in range(10):
                clock.now += 3_600.0
                answers = decided(service, "ann", f"u{i}", exclude=["item0"] if i % 2 else [])
                if day == 0:
                    paid(service, [each.id for each in answers], float(i % 3), weight=0.5)
            clock.now += 40_000.0
        yield service


@pytest.fixture
def caller(service: Service) -> Caller:
    return Caller(Application(service, log_requests=False))


def test_the_log_holds_the_decisions_in_order(caller: Caller, service: Service) -> None:
    answer = caller.get(f"{PATH}.parquet")
    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    whole = pq.read_table(io.BytesIO(answer.content)).to_pandas()
    assert list(whole["id"]) == sorted(whole["id"])
    assert len(whole) == service.bandit("shop").decisions == 40
    for row in whole.sample(5, random_state=0).itertuples():
        record = service.decision("shop", row.id)
        same = ("task", "arm", "time", "propensity", "control", "status", "mean")
        assert all(getattr(row, name) == getattr(record, name) for name in same)
        assert list(row.features) == [part.value for part in record.contributions]
        assert row.reward == record.value or (np.isnan(row.reward) and record.value is None)
    assert whole["offered"].isna().sum() == 20
    # The bits of the items, the first in front: all but item0.
    assert set(whole["offered"].dropna()) == {bytes([0b01111000])}


def test_a_range_of_time_and_rewards(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "scanned", lambda _: 7)  # several parts
    start = Clock().now
    rows = {}
    for query in ("", f"?end={start + 40_000}", f"?start={start + 40_000}", "?rewarded=true"):
        content = caller.get(f"{PATH}.parquet{query}").content
        rows[query] = pq.read_table(io.BytesIO(content)).to_pandas()
    assert [len(each) for each in rows.values()] == [40, 20, 20, 20]
    assert set(rows["?rewarded=true"]["status"]) == {"paid"}
    empty = caller.get(f"{PATH}.parquet?end=5")
    assert len(pq.read_table(io.BytesIO(empty.content))) == 0


def test_a_fit_reads_it(service: Service, tmp_path: Path) -> None:
    transport = Bridge(Application(service, log_requests=False))
    with Client("http://localhost", transport=transport) as client:
        bandit = client.bandit("shop")
        bandit.export(tmp_path / "log.parquet", rewarded=True)
        with pytest.raises(ServiceError, match="nothing"):
            client.bandit("nothing").export(tmp_path / "other.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]
    with service.database.reading() as connection:
        rows = connection.execute(select(schema.tasks)).all()
    columns = Columns(features="features", weight="weight", id="id", time="time")
    tasks = LogReading(str(tmp_path / "log.parquet"), columns, D).statistics()
    for row in rows:
        found, expected = tasks[row.name].statistics, statistics_of(row.state, D)
        assert np.allclose(found.gram, expected.gram, rtol=1e-12)
        assert np.allclose(found.moment, expected.moment, rtol=1e-12)
    fitted = hs.MetaBandit(dimension=D, seed=0).fit(str(tmp_path / "log.parquet"))
    assert fitted.n_finished == len(rows)


def test_problems_come_before_the_log(caller: Caller) -> None:
    assert caller.get("/v1/bandits/nothing/decisions.parquet").status_code == 404
    assert caller.get(f"{PATH}.parquet?start=soon").status_code == 422
    assert caller.request("HEAD", f"{PATH}.parquet").content == b""
