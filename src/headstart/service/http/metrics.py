"""Metrics: what /metrics shows, for Prometheus.

Each process shows what it has done. The state of a bandit comes from the store: every process says
the same.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from headstart.live.outcomes import Outcome
from headstart.service.engine.counters import OUTCOMES
from headstart.service.engine.measures import MEASURES

# The columns of `minutes` by the outcome of a reward.
_REWARDS = {Outcome.PAID: "rewards", **OUTCOMES}
# The numbers of `Service.status`: those that only grow, and those that go up and down.
_COUNTERS = {
    "transactions": "Transactions that were committed.",
    "rows": "Rows of requests that were committed.",
    "failed_transactions": "Transactions that failed, and were answered with 503.",
    "transaction_seconds": "Seconds that transactions took.",
    "refreshes": "Versions of priors that this process has stored.",
}
_GAUGES = {
    "waiting_rows": "Rows of requests that wait for a transaction.",
    "last_transaction_rows": "Rows of the latest transaction.",
    "last_transaction_seconds": "Seconds that the latest transaction took.",
    "store_reachable": "1 if the latest transaction could be written, else 0.",
    "store_bytes": "Bytes of an SQLite file, without its log.",
    "wal_bytes": "Bytes of the write-ahead log of an SQLite file.",
    "disk_free_bytes": "Bytes that are free on the disk of an SQLite file.",
    "bandits_in_memory": "Bandits that were used since the start.",
    "tasks_in_memory": "Tasks in the cache.",
    "task_bytes_in_memory": "Bytes of the tasks in the cache.",
    "last_refresh": "When this process last stored a version of a prior, in seconds since 1970.",
    "last_refresh_seconds": "Seconds that this version took.",
}

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

# The names in `Service.counts` of each bandit, except rewards.
_BANDIT_COUNTERS = {
    "decisions": "Decisions that were made.",
    "expired": "Decisions whose deadline passed without a reward.",
    "opened": "Tasks that were opened.",
}


class Source(Protocol):
    """Where the numbers come from: the service."""

    @property
    def ready(self) -> bool:
        """Whether requests can be answered."""
        ...

    def status(self) -> Mapping[str, object]:
        """Numbers of this process."""
        ...

    def counts(self) -> Mapping[str, Mapping[str, float]]:
        """What this process has committed for each bandit."""
        ...

    def measures(self) -> Mapping[str, Mapping[str, float]]:
        """The state of each bandit, from the store."""
        ...


class Metrics:
    """Requests by route and status, their seconds, and the status of the service."""

    def __init__(self, source: Source) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "headstart_requests",
            "Requests that were answered.",
            ("route", "method", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "headstart_request_seconds",
            "Seconds from the first byte of a request to the last of its answer.",
            ("route", "method"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        # Finding a child by its labels costs more than counting.
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._registry.register(_SourceCollector(source))
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        at = (route, method, status)
        children = self._children.get(at)
        if children is None:
            children = self._children[at] = (
                self._requests.labels(route, method, str(status)),
                self._seconds.labels(route, method),
            )
        children[0].inc()
        children[1].observe(seconds)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)


class _SourceCollector(Collector):
    """The numbers of a process and of each bandit, and the state of bandits from the store."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def collect(self) -> Iterator[Metric]:
        status = self._source.status()
        for name, words in _COUNTERS.items():
            counter = CounterMetricFamily(f"headstart_{name}", words)
            counter.add_metric([], _number(status.get(name)))
            yield counter
        for name, words in _GAUGES.items():
            gauge = GaugeMetricFamily(f"headstart_{name}", words)
            if status.get(name) is not None:
                gauge.add_metric([], _number(status[name]))
            yield gauge
        words = "1 if requests can be answered, as /readyz says it, else 0."
        yield GaugeMetricFamily("headstart_ready", words, value=float(self._source.ready))
        yield from self._of_bandits()
        standing = self._source.measures()
        for name, words in MEASURES.items():
            gauge = GaugeMetricFamily(f"headstart_{name}", words, labels=["bandit"])
            for bandit, values in standing.items():
                if name in values:
                    gauge.add_metric([bandit], values[name])
            yield gauge

    def _of_bandits(self) -> Iterator[Metric]:
        counts = self._source.counts()
        for name, words in _BANDIT_COUNTERS.items():
            counter = CounterMetricFamily(f"headstart_{name}", words, labels=["bandit"])
            for bandit, sums in counts.items():
                counter.add_metric([bandit], sums[name])
            yield counter
        rewards = CounterMetricFamily(
            "headstart_rewards", "Rewards by outcome.", labels=["bandit", "outcome"]
        )
        for bandit, sums in counts.items():
            for outcome, column in _REWARDS.items():
                rewards.add_metric([bandit, outcome.value], sums[column])
        yield rewards

    def describe(self) -> list[Metric]:
        """Nothing beforehand: the source is asked when it is shown."""
        return []


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
