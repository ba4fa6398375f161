"""Metrics: what a process has done, and the state of bandits in the store."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families
from tests.service.shop import BANDIT, Shop

from headstart.service.http.metrics import Metrics


@dataclass
class Numbers:
    """Numbers of a process, as a service has them."""

    ready = True
    bandits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    standing: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def status(self) -> Mapping[str, object]:
        return {"rows": 10}

    def counts(self) -> Mapping[str, Mapping[str, float]]:
        return self.bandits

    def measures(self) -> Mapping[str, Mapping[str, float]]:
        return self.standing


def test_bandits_have_counters_and_gauges() -> None:
    counted = {"shop": Counter(decisions=7, rewards=4, duplicates=2)}
    standing = {"shop": {"gain": 0.25, "gain_low": 0.125}, "new": {"pending": 3.0}}
    metrics = Metrics(Numbers(counted, standing))
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }
    shop = ("bandit", "shop")
    assert samples["headstart_decisions_total", shop] == 7
    assert samples["headstart_rewards_total", shop, ("outcome", "duplicate")] == 2
    assert samples["headstart_gain", ("bandit", "shop")] == 0.25
    assert samples["headstart_gain_low", ("bandit", "shop")] == 0.125
    assert samples["headstart_pending", ("bandit", "new")] == 3
    assert ("headstart_gain", ("bandit", "new")) not in samples


def test_counters_end_in_total_and_all_have_words() -> None:
    for family in text_string_to_metric_families(Metrics(Numbers()).text().decode()):
        if not family.name.startswith("headstart"):
            continue
        assert family.documentation.endswith("."), family.name
        assert len(family.documentation.split()) >= 3, family.name
        grows = family.name in {"headstart_rows", "headstart_transactions", "headstart_refreshes"}
        assert not grows or family.type == "counter"


def test_a_service_has_all_its_numbers_in_metrics(shared: Shop) -> None:
    text = Metrics(shared.service).text().decode()
    families = {each.name: each for each in text_string_to_metric_families(text)}
    names = {f"headstart_{name}" for name in shared.service.status()}
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
