"""Metrics of several processes at one port: whichever is asked shows all of them, each once."""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from tests.service.shop import BANDIT, Shop

from headstart.service.http.metrics import Metrics


@dataclass
class Numbers:
    """Numbers of a process, as a service has them."""

    process: int
    ready = True
    bandits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    standing: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def status(self) -> Mapping[str, object]:
        return {"process": self.process, "rows": 10 + self.process}

    def counts(self) -> Mapping[str, Mapping[str, float]]:
        return self.bandits

    def measures(self) -> Mapping[str, Mapping[str, float]]:
        return self.standing


def test_one_process_shows_those_beside_it(tmp_path: Path) -> None:
    first, second = (Metrics(Numbers(n), tmp_path) for n in (0, 1))
    first.count("/v1/bandits", "GET", 200, 0.01)
    second.count("/v1/bandits", "GET", 200, 0.01)
    second.count("/v1/bandits", "GET", 200, 0.01)
    first.write()
    second.write()
    text = first.text().decode()
    label = 'method="GET",process="{}",route="/v1/bandits",status="200"'
    assert f"headstart_requests_total{{{label.format(0)}}} 1.0" in text
    assert f"headstart_requests_total{{{label.format(1)}}} 2.0" in text
    assert 'headstart_rows_total{process="0"} 10.0' in text
    assert 'headstart_rows_total{process="1"} 11.0' in text
    assert text.count("# TYPE headstart_requests_total counter") == 1
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    names = [line.rpartition(" ")[0] for line in lines]
    assert len(names) == len(set(names))


def test_a_process_that_is_gone_is_no_longer_shown(tmp_path: Path) -> None:
    first, second, third = (Metrics(Numbers(n), tmp_path) for n in (0, 1, 2))
    second.write()
    third.start()
    third.stop()
    path = tmp_path / "1.json"
    os.utime(path, (path.stat().st_mtime - 60,) * 2)
    text = first.text().decode()
    assert 'process="0"' in text
    assert 'process="1"' not in text
    assert 'process="2"' not in text
    assert not (tmp_path / "2.json").exists()


def test_bandits_have_counters_by_process_and_gauges_by_the_store(tmp_path: Path) -> None:
    counted = {"shop": Counter(decisions=7, rewards=4, duplicates=2)}
    standing = {"shop": {"gain": 0.25, "gain_low": 0.125}, "new": {"pending": 3.0}}
    first, second = (Metrics(Numbers(n, counted, standing), tmp_path) for n in (0, 1))
    second.write()
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(first.text().decode())
        for sample in family.samples
    }
    for process in ("0", "1"):
        own = (("bandit", "shop"), ("process", process))
        assert samples["headstart_decisions_total", *own] == 7
        by_outcome = (own[0], ("outcome", "duplicate"), own[1])
        assert samples["headstart_rewards_total", *by_outcome] == 2
    assert samples["headstart_gain", ("bandit", "shop")] == 0.25
    assert samples["headstart_gain_low", ("bandit", "shop")] == 0.125
    assert samples["headstart_pending", ("bandit", "new")] == 3
    assert ("headstart_gain", ("bandit", "new")) not in samples


def test_counters_end_in_total_and_all_have_words() -> None:
    for family in text_string_to_metric_families(Metrics(Numbers(0)).text().decode()):
        if not family.name.startswith("headstart"):
            continue
        assert family.documentation.endswith("."), family.name
        assert len(family.documentation.split()) >= 3, family.name
        grows = family.name in {"headstart_rows", "headstart_transactions", "headstart_refreshes"}
        assert not grows or family.type == "counter"


def test_a_service_has_all_its_numbers_in_metrics(shared: Shop) -> None:
    text = Metrics(shared.service).text().decode()
    families = {each.name: each for each in text_string_to_metric_families(text)}
    names = {f"headstart_{name}" for name in shared.service.status() if name != "process"}
    assert names <= set(families)
    lag, version, share = (
        families[f"headstart_{name}"].samples[0]
        for name in ("prior_lag_seconds", "prior_version", "top_item_share")
    )
    assert lag.labels == {"bandit": BANDIT}
    assert version.value == shared.service.prior(BANDIT).version
    assert 1 / 7 < share.value <= 1.0
    gain = shared.service.gain(BANDIT)
    assert families["headstart_gain_low"].samples[0].value == gain.low
