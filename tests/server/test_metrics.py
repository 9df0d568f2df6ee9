"""The numbers of one process, or of several together, are served on a port of their own."""

import os
import socket
import subprocess
import sys

import httpx

from accounts.metrics import serve_metrics
from server.metrics import MULTIPROCESS_VARIABLE, Metrics, serve_summed_metrics

OBSERVE = """
from server.metrics import Metrics
Metrics().observe("GET", "/v1/stats", 200, 0.01)
"""
WANTED = 'memoria_http_requests_total{method="GET",route="/v1/stats",status="200"}'


def free_port() -> int:
    """Find a port that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_a_process_serves_its_own_numbers() -> None:
    metrics, port = Metrics(), free_port()
    metrics.observe("GET", "/v1/stats", 200, 0.01)
    stop = serve_metrics(metrics.registry, "127.0.0.1", port)
    try:
        assert f"{WANTED} 1.0" in httpx.get(f"http://127.0.0.1:{port}/metrics").text
    finally:
        stop()


def test_several_processes_are_summed_even_after_their_end() -> None:
    port = free_port()
    with serve_summed_metrics("127.0.0.1", port):
        for _ in range(2):
            subprocess.run([sys.executable, "-c", OBSERVE], check=True)
        assert f"{WANTED} 2.0" in httpx.get(f"http://127.0.0.1:{port}/metrics").text
    assert MULTIPROCESS_VARIABLE not in os.environ


def test_without_a_port_nothing_is_served() -> None:
    with serve_summed_metrics("127.0.0.1", None):
        assert MULTIPROCESS_VARIABLE not in os.environ
