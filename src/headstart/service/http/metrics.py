"""Metrics: what /metrics shows, for Prometheus."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from headstart.service.http.interface.routing import Raw

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Requests by route and status, their seconds, and the status of the service."""

    def __init__(self, status: Callable[[], Mapping[str, object]]) -> None:
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
        self._registry.register(_Status(status))
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        at = (route, method, status)
        found = self._children.get(at)
        if found is None:
            found = self._children[at] = (
                self._requests.labels(route, method, str(status)),
                self._seconds.labels(route, method),
            )
        found[0].inc()
        found[1].observe(seconds)

    def text(self) -> Raw:
        """All of them, as Prometheus reads them."""
        return Raw(
            content=generate_latest(self._registry), content_type=CONTENT_TYPE_LATEST.encode()
        )


class _Status(Collector):
    """Every number of the service's status as a gauge; numbers by name get a label."""

    def __init__(self, status: Callable[[], Mapping[str, object]]) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        for name, value in self._status().items():
            if isinstance(value, int | float):
                gauge = GaugeMetricFamily(f"headstart_{name}", name.replace("_", " "))
                gauge.add_metric([], float(value))
                yield gauge
            elif isinstance(value, Mapping):
                gauge = GaugeMetricFamily(
                    f"headstart_{name}", name.replace("_", " "), labels=["name"]
                )
                for label, number in value.items():
                    if isinstance(number, int | float):
                        gauge.add_metric([str(label)], float(number))
                yield gauge

    def describe(self) -> list[Metric]:
        """Nothing beforehand: the status is asked for when it is shown."""
        return []
