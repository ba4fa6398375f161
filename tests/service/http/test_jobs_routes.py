"""Jobs over HTTP: a log that is uploaded, its report, and a fit that is promoted and withdrawn."""

from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.service.http.real import serving

from headstart_client import Client, ServiceError
from headstart_client.messages import BanditConfiguration, FitReport, FitRequest, LogColumns

pytestmark = pytest.mark.slow


def test_a_log_is_uploaded_fitted_promoted_and_withdrawn(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        f"t{task},{x[0]:.4f},{x[1]:.4f},{x @ [1.0, -1.0] + 0.1 * rng.standard_normal():.4f}"
        for task in range(8)
        for x in rng.standard_normal((6, 2))
    ]
    log = tmp_path / "log.csv"
    log.write_text("\n".join(["task,a,b,reward", *rows]))
    columns = LogColumns(features=["a", "b"])
    with (
        serving(tmp_path / "store.db", tmp_path) as (address, _),
        Client(address, timeout=60) as client,
    ):
        news = client.bandit("news")
        news.put(BanditConfiguration(feature_names=["a", "b"]))
        request = FitRequest(columns=columns, dry_run=False)
        done = news.jobs.wait(news.jobs.fit(request, log).id, every=0.05)
        assert isinstance(done.report, FitReport)
        assert (done.status, done.report.log.rows) == ("done", 48)
        [fit] = news.fits.list()
        assert fit.status == "shadow"
        before = news.prior().mean
        assert news.fits.promote(fit.id).fit.status == "promoted"
        assert news.prior().mean == pytest.approx([1.0, -1.0], abs=0.3)
        assert news.fits.withdraw(fit.id).fit.status == "withdrawn"
        assert news.prior().mean == pytest.approx(before)
        assert [job.id for job in news.jobs.list()] == [done.id]
        news.fits.delete(fit.id)
        assert list(news.fits.list()) == []
        with pytest.raises(ServiceError, match="got 'x'"):
            client.send("GET", "news", "fits", "x")
        refused = httpx.post(
            f"{address}/v1/bandits/news/fit", content=b"x", headers={"content-type": "text/html"}
        )
        assert refused.status_code == 415
        bad = httpx.post(
            f"{address}/v1/bandits/news/fit?request=%7B",
            content=b"x",
            headers={"content-type": "text/csv"},
        )
        assert bad.status_code == 400
    assert list((tmp_path / "uploads").iterdir()) == []
