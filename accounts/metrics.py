"""Serve a process's metrics to Prometheus on a port of their own."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, start_http_server


def serve_metrics(registry: CollectorRegistry, host: str, port: int) -> Callable[[], None]:
    """Serve a registry from a thread; return what stops it."""
    server, thread = start_http_server(port, addr=host, registry=registry)

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop
