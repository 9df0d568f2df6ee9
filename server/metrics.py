"""Count requests and their time, and serve the numbers to Prometheus on a port of their own."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

from accounts.metrics import serve_metrics

MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Hold the metrics of one application.

    Where several processes serve, each writes to files of the folder that PROMETHEUS_MULTIPROC_DIR names (it must be
    set before the library is imported), and the process that started them serves the sum.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self._requests = Counter("memoria_http_requests", "Requests answered.", labels, registry=self.registry)
        self._seconds = Histogram(
            "memoria_http_request_seconds",
            "Time to answer.",
            ("method", "route"),
            buckets=SECONDS,
            registry=self.registry,
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request. `route` is a template of the route table, never a path that was sent."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)


@contextmanager
def serve_summed_metrics(host: str, port: int | None) -> Iterator[None]:
    """Let the processes that are started meanwhile write to one folder, and serve the sum of what they write."""
    if port is None:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="memoria-metrics-") as folder:
        os.environ[MULTIPROCESS_VARIABLE] = folder
        registry = CollectorRegistry()
        MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]
        stop = serve_metrics(registry, host, port)
        try:
            yield
        finally:
            stop()
            del os.environ[MULTIPROCESS_VARIABLE]
