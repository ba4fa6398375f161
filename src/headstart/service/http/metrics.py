"""Metrics: what /metrics shows, for Prometheus.

Every sample has the label `process`, a number that one running process of a store holds. Processes
that share a port share a folder too, so that whichever is asked shows all of them.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

Status = Callable[[], Mapping[str, object]]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
# How often a process writes its numbers for the others, and after how long it is taken to be gone.
_WRITE_SECONDS, _GONE_SECONDS = 1.0, 10.0


class Family(msgspec.Struct, array_like=True):
    """The samples of one name."""

    name: str
    documentation: str
    type: str
    samples: list[tuple[str, dict[str, str], float]]


class Metrics:
    """Requests by route and status, their seconds, and the status of the service.

    folder: where the processes at one port leave their numbers for each other; None for one alone.
    """

    def __init__(self, status: Status, folder: Path | None = None) -> None:
        self._status, self._folder = status, folder
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._write_on, name="headstart-metrics", daemon=True
        )
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
        self._registry.register(_StatusCollector(status))
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def start(self) -> None:
        """Begin to write the numbers for the processes beside this one, if there are any."""
        if self._folder is not None:
            self._thread.start()

    def stop(self) -> None:
        """Write no more, and take the numbers away."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

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
        return generate_latest(_AllProcesses([self._of_this(), *self._of_others()]))

    def write(self) -> None:
        """Leave the numbers of this process for the others."""
        path = self._path()
        part = path.with_suffix(".part")
        part.write_bytes(msgspec.json.encode(self._of_this()))
        os.replace(part, path)

    def _write_on(self) -> None:
        while True:
            with contextlib.suppress(OSError):  # where the disk is full, others show the rest
                self.write()
            if self._stopping.wait(_WRITE_SECONDS):
                break
        with contextlib.suppress(OSError):
            self._path().unlink(missing_ok=True)

    def _path(self) -> Path:
        assert self._folder is not None
        return self._folder / f"{self._number()}.json"

    def _number(self) -> str:
        return str(self._status().get("process", 0))

    def _of_this(self) -> list[Family]:
        number = self._number()
        return [
            Family(
                metric.name,
                metric.documentation,
                metric.type,
                [(s.name, {**s.labels, "process": number}, s.value) for s in metric.samples],
            )
            for metric in self._registry.collect()
        ]

    def _of_others(self) -> Iterator[list[Family]]:
        """What the processes at the same port wrote within the last seconds."""
        of_this = None if self._folder is None else self._path()
        for path in sorted(self._folder.glob("*.json")) if self._folder is not None else ():
            try:
                if path != of_this and time.time() - path.stat().st_mtime < _GONE_SECONDS:
                    yield msgspec.json.decode(path.read_bytes(), type=list[Family])
            except OSError:  # a process that ended just now
                continue


class _AllProcesses(CollectorRegistry):
    """Families of several processes, each name once."""

    def __init__(self, processes: Iterable[list[Family]]) -> None:
        super().__init__()
        self._metrics: dict[str, Metric] = {}
        for families in processes:
            for family in families:
                metric = self._metrics.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                for sample in family.samples:
                    metric.add_sample(*sample)

    def collect(self) -> Iterator[Metric]:
        yield from self._metrics.values()


class _StatusCollector(Collector):
    """Every number of the service's status as a gauge; numbers by name get a label."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        for name, value in self._status().items():
            if name == "process":  # which is a label of every sample
                continue
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
