"""The commands that a person types, run as programs."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from server.embedded import EmbeddedServers
from server.settings import new_secret_key

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home() -> Iterator[Path]:
    with TemporaryDirectory(prefix="memoria-home-") as folder:
        yield Path(folder)


@dataclass(slots=True)
class Started:
    """A server that was started as a program and has said that it is ready."""

    process: subprocess.Popen[str]
    output: str
    url: str

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send the signal, and return the exit code and what was written to stderr."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(home: Path, **settings: str) -> dict[str, str]:
    kept = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    return kept | {"MEMORIA_HOME": str(home), "MEMORIA_EMBEDDER": "fake"} | settings


def run(home: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "server", *words],
        env=environment(home, **settings),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@contextlib.contextmanager
def started(home: Path, last_line: str = "claude mcp add", **settings: str) -> Iterator[Started]:
    """Start a server on a free port and wait until it has printed the line that begins with `last_line`."""
    port = settings.setdefault("PORT", str(free_port()))
    process = subprocess.Popen(
        [sys.executable, "-m", "server"],
        env=environment(home, **settings),
        cwd=home.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            if line.strip().startswith(last_line):
                break
        else:
            pytest.fail(f"the server ended: {''.join(lines)} {process.communicate()[1]}")
        yield Started(process, "".join(lines), f"http://127.0.0.1:{port}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)


def read_dev_env(home: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in (home / "dev.env").read_text().splitlines())


def is_healthy(url: str) -> bool:
    return httpx.get(f"{url}/v1/health", timeout=30).status_code == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_first_start_makes_an_account_and_a_signal_ends_it_cleanly(home: Path, number: signal.Signals) -> None:
    with started(home) as server:
        assert is_healthy(server.url)
        variables = read_dev_env(home)
        code, errors = server.stop(number)
    assert variables.keys() == {"MEMORIA_URL", "MEMORIA_KEY", "MEMORIA_NAMESPACE"}
    assert variables["MEMORIA_URL"] == server.url
    for value in variables.values():
        assert value in server.output
    assert (home / "dev.env").stat().st_mode & 0o777 == 0o600
    assert (home / "secret.key").stat().st_mode & 0o777 == 0o600
    assert code == 0
    assert "Traceback" not in errors
    assert not (home / "postgres" / "postmaster.pid").exists()


def test_a_second_start_keeps_the_key_and_does_not_show_it_again(home: Path) -> None:
    with started(home) as server:
        first = read_dev_env(home)
        server.stop()
    with started(home) as server:
        second = read_dev_env(home)
        assert second["MEMORIA_KEY"] == first["MEMORIA_KEY"]
        assert second["MEMORIA_NAMESPACE"] == first["MEMORIA_NAMESPACE"]
        assert second["MEMORIA_URL"] == server.url
        assert first["MEMORIA_KEY"] not in server.output


@pytest.mark.long
def test_a_second_start_takes_less_than_five_seconds(home: Path) -> None:
    with started(home, MEMORIA_EMBEDDER="minilm") as server:
        server.stop()
    begin = time.monotonic()
    with started(home, MEMORIA_EMBEDDER="minilm"):
        assert time.monotonic() - begin < 5


def test_a_lost_dev_env_is_replaced_with_a_new_key_of_the_same_account(home: Path) -> None:
    with started(home) as server:
        first = read_dev_env(home)
        server.stop()
    (home / "dev.env").unlink()
    with started(home) as server:
        second = read_dev_env(home)
        assert second["MEMORIA_KEY"] in server.output
    assert second["MEMORIA_NAMESPACE"] == first["MEMORIA_NAMESPACE"]
    assert second["MEMORIA_KEY"] != first["MEMORIA_KEY"]


def test_a_killed_server_frees_its_port_and_starts_again(home: Path) -> None:
    with started(home) as server:
        server.stop(signal.SIGKILL)
        first = read_dev_env(home)
    with started(home, PORT=server.url.rpartition(":")[2]) as again:
        assert is_healthy(again.url)
        assert read_dev_env(home) == first


def test_several_processes_serve_and_end_with_a_killed_parent(home: Path) -> None:
    with started(home, MEMORIA_PROCESSES="2") as server:
        assert is_healthy(server.url)
        server.stop(signal.SIGKILL)
    with started(home, MEMORIA_PROCESSES="2", PORT=server.url.rpartition(":")[2]) as again:
        assert is_healthy(again.url)
        code, errors = again.stop()
    assert code == 0
    assert "Traceback" not in errors


def test_two_servers_live_side_by_side(home: Path) -> None:
    with started(home / "one") as one, started(home / "two") as two:
        assert is_healthy(one.url)
        assert is_healthy(two.url)
        assert read_dev_env(home / "one")["MEMORIA_KEY"] != read_dev_env(home / "two")["MEMORIA_KEY"]


def test_a_port_in_use_is_one_sentence_and_nothing_is_started(home: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = run(home, PORT=str(port))
    assert result.returncode == 1
    assert result.stderr == (
        f"PORT {port} on HOST 127.0.0.1 is not free (Address already in use): set PORT to another one.\n"
    )
    assert list(home.iterdir()) == []


def test_a_folder_in_use_is_one_sentence(home: Path) -> None:
    with EmbeddedServers(home, postgres=False):
        result = run(home, PORT=str(free_port()))
    assert result.returncode == 1
    assert result.stderr.startswith(f"MEMORIA_HOME {home} is in use by process {os.getpid()}")
    assert result.stderr.count("\n") == 1


def test_a_wrong_setting_is_one_sentence(home: Path) -> None:
    result = run(home, DATABASE_URL="postgresql://db.example/memoria")
    assert result.returncode == 1
    assert result.stderr.startswith("MEMORIA_SECRET_KEY is required")
    assert result.stderr.count("\n") == 1


def test_a_database_that_is_away_is_one_sentence(home: Path) -> None:
    settings = {
        "DATABASE_URL": f"postgresql://nobody@127.0.0.1:{free_port()}/memoria",
        "MEMORIA_SECRET_KEY": new_secret_key(),
        "REDIS_URL": "redis://127.0.0.1:1",
    }
    result = run(home, "migrate", **settings)
    assert result.returncode == 1
    assert result.stderr.startswith("The database does not answer")
    assert result.stderr.count("\n") == 1


def test_migrate_prepares_a_database_and_says_so(home: Path) -> None:
    first = run(home, "migrate")
    assert first.returncode == 0, first.stderr
    assert "applied 0001_accounts" in first.stdout
    assert run(home, "migrate").stdout == "the schema is up to date\n"


@pytest.mark.parametrize(("words", "code"), [(["--help"], 0), (["create-key", "-h"], 0), ([], 2), (["list"], 2)])
def test_help_and_wrong_commands_of_admin_start_no_server(home: Path, words: list[str], code: int) -> None:
    result = run(home, "admin", *words)
    assert result.returncode == code
    assert "usage: python -m server admin" in result.stdout + result.stderr
    assert list(home.iterdir()) == []


def test_help_names_the_settings(home: Path) -> None:
    result = run(home, "--help")
    assert result.returncode == 0
    assert "DATABASE_URL" in result.stdout
    assert "python -m server migrate" in result.stdout
