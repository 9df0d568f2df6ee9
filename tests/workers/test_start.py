"""The command `python -m workers` says what is wrong in one sentence, works, and ends when told to."""

import json
import signal
import subprocess
import sys

import httpx
import pytest

from tests.fault_rig import free_port, wait_until
from workers.settings import read_settings

WORKERS = [sys.executable, "-m", "workers"]


@pytest.mark.parametrize(
    ("environ", "variable"),
    [
        ({}, "DATABASE_URL"),
        ({"DATABASE_URL": "mysql://nowhere"}, "DATABASE_URL"),
        ({"DATABASE_URL": "postgresql://nowhere", "MEMORIA_LOG_LEVEL": "loud"}, "MEMORIA_LOG_LEVEL"),
    ],
)
def test_a_wrong_setting_is_named_in_one_sentence(environ: dict[str, str], variable: str) -> None:
    ended = subprocess.run(WORKERS, env=environ, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert variable in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(("level", "read"), [("", "info"), (" WARNING ", "warning")])
def test_the_log_level_is_read_as_the_server_reads_it(level: str, read: str) -> None:
    environ = {"DATABASE_URL": "postgresql://nowhere", "MEMORIA_LOG_LEVEL": level}
    assert read_settings(environ).log_level == read


def test_the_help_names_every_task_and_setting() -> None:
    ended = subprocess.run([*WORKERS, "--help"], capture_output=True, text=True, timeout=60, check=True)
    for word in ("index_vectors", "purge_answers", "purge_recalls", "DATABASE_URL", "MEMORIA_LOG_LEVEL"):
        assert word in ended.stdout


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_ends_cleanly_when_told_to(postgres_url: str, told: signal.Signals) -> None:
    with subprocess.Popen(WORKERS, env={"DATABASE_URL": postgres_url}, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert json.loads(worker.stdout.readline())["event"] == "worker_started"
        worker.send_signal(told)
        rest = worker.stdout.read().splitlines()
    assert worker.returncode == 0
    assert json.loads(rest[-1])["event"] == "worker_stopped"


def test_a_worker_serves_its_metrics_where_it_is_told_to(postgres_url: str) -> None:
    port = free_port()
    environ = {"DATABASE_URL": postgres_url, "MEMORIA_METRICS_PORT": str(port)}
    with subprocess.Popen(WORKERS, env=environ, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert json.loads(worker.stdout.readline())["event"] == "worker_started"
        wait_until(lambda: "memoria_job" in httpx.get(f"http://127.0.0.1:{port}/metrics").text, "metrics are served")
        worker.terminate()
        worker.communicate(timeout=60)
    assert worker.returncode == 0


def test_a_worker_waits_for_a_database_that_is_away_and_can_be_stopped_meanwhile() -> None:
    url = "postgresql://memoria@127.0.0.1:1/memoria"
    with subprocess.Popen(WORKERS, env={"DATABASE_URL": url}, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert json.loads(worker.stdout.readline())["event"] == "database_away"
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=60)
    assert worker.returncode == 0
