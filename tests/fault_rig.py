"""Run the service as real processes on databases of its own, and do to them what machines and networks do."""

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import asyncpg
import httpx

from memoria.migrations import migrate
from server.embedded import EmbeddedServers
from server.local import SET_PARENT_DEATH_SIGNAL

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 60.0
STOP_SECONDS = 30.0
POLL_SECONDS = 0.02


def wait_until(holds: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    """Return once the condition holds. Raises AssertionError, in these words, when it does not in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"after {seconds:.0f} s still not so: {what}"
        time.sleep(POLL_SECONDS)


@dataclass(slots=True)
class Machines:
    """Be a Postgres and a Redis that a test may kill, pause and start again; `postgres` is durable."""

    folder: Path
    postgres: EmbeddedServers = field(init=False)
    redis: EmbeddedServers = field(init=False)

    def __post_init__(self) -> None:
        """Name the folders; nothing is started yet."""
        self.postgres = EmbeddedServers(self.folder / "p", redis=False)
        self.redis = EmbeddedServers(self.folder / "r", postgres=False)

    @property
    def database_url(self) -> str:
        """The URL of the database, as its owner."""
        return self.postgres.database_url

    @property
    def redis_url(self) -> str:
        """The URL of Redis."""
        return self.redis.redis_url

    def postmaster(self) -> int:
        """Read the process id of Postgres."""
        return int((self.folder / "p" / "postgres" / "postmaster.pid").read_text().split("\n", 1)[0])

    def redis_process(self) -> int:
        """Read the process id of Redis."""
        return int((self.redis.socket_folder / "redis.pid").read_text())

    def kill_postgres(self) -> None:
        """Kill Postgres as a loss of power does, and let it recover on the same files."""
        os.kill(self.postmaster(), signal.SIGKILL)
        self.postgres.stop()
        self.postgres.start()


@contextlib.contextmanager
def machines() -> Iterator[Machines]:
    """Start a Postgres and a Redis in a folder of their own, and remove all of it afterwards."""
    # Short, because the path of a socket is limited.
    folder = Path(tempfile.mkdtemp(prefix="mem-fault-", dir="/tmp"))
    folder.chmod(0o711)
    started = Machines(folder)
    try:
        with started.postgres, started.redis:
            yield started
    finally:
        shutil.rmtree(folder)


async def migrate_database(url: str) -> None:
    """Bring a database to the newest schema."""
    connection = await asyncpg.connect(url)
    try:
        await migrate(connection)
    finally:
        await connection.close()


def family(pid: int) -> list[int]:
    """List a process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


@contextlib.contextmanager
def paused(pid: int) -> Iterator[None]:
    """Stop a process and its children in their tracks, as a machine that hangs, and let them go on afterwards."""
    stopped = family(pid)
    try:
        for process in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
        yield
    finally:
        for process in reversed(stopped):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


@dataclass(slots=True)
class Running:
    """Be a program of ours that runs; its output goes to `log`."""

    process: subprocess.Popen[bytes]
    log: Path
    url: str = ""

    def events(self, name: str) -> list[dict[str, object]]:
        """Read the events of this name that it has logged."""
        lines = self.log.read_text().splitlines()
        logged = [json.loads(line) for line in lines if line.startswith("{")]
        return [line for line in logged if line.get("event") == name]

    def kill(self) -> None:
        """Kill it with -9, and wait until it is gone."""
        self.process.kill()
        self.process.wait(STOP_SECONDS)

    def stop(self) -> int:
        """Ask it to end, and return its exit code."""
        self.process.terminate()
        return self.process.wait(STOP_SECONDS)


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def program(module: str, folder: Path, url: str = "", **settings: str) -> Iterator[Running]:
    """Run `python -m module` with these settings; whatever happens, nothing of it is left."""
    log = Path(tempfile.mkstemp(prefix=f"{module}-", suffix=".log", dir=folder)[1])
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **settings}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            env=environ,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # Also when the tests themselves are killed.
            preexec_fn=partial(ctypes.CDLL(None).prctl, SET_PARENT_DEATH_SIGNAL, signal.SIGKILL),
        )
    try:
        yield Running(process, log, url)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(STOP_SECONDS)


@contextlib.contextmanager
def server(folder: Path, database_url: str, redis_url: str, **settings: str) -> Iterator[Running]:
    """Run `python -m server` against these databases, with the fake embedder unless told otherwise."""
    port = free_port()
    chosen = {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "MEMORIA_SECRET_KEY": "00" * 32,
        "MEMORIA_EMBEDDER": "fake",
        "MEMORIA_HOME": str(folder / "home"),
        "MEMORIA_LOG_LEVEL": "warning",
        "PORT": str(port),
        **settings,
    }
    with program("server", folder, f"http://127.0.0.1:{port}", **chosen) as running:
        wait_until(lambda: is_healthy(running), f"the server answers: {running.log.read_text()}", START_SECONDS)
        yield running


def is_healthy(running: Running) -> bool:
    """Tell whether a server answers; raise when its process has ended."""
    assert running.process.poll() is None, running.log.read_text()
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{running.url}/v1/health", timeout=START_SECONDS).status_code == 200
    return False


def is_ready(running: Running) -> bool:
    """Tell whether a server says that its database answers."""
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{running.url}/v1/health/ready", timeout=START_SECONDS).status_code == 200
    return False
