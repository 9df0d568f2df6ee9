"""Fill in what a local server is not given: databases of its own, and a secret key kept in the home folder."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from server.embedded import EmbeddedServers
from server.settings import Settings, new_secret_key, read_secret_key

SET_PARENT_DEATH_SIGNAL = 1  # prctl's number for it
WORKER_STOP_SECONDS = 15.0


@contextmanager
def local_servers(settings: Settings, *, join: bool = False) -> Iterator[Settings]:
    """Run the servers that no URL is set for, and yield the settings with every URL and the secret key filled in.

    `join=True` uses the servers of another process that has the home folder open, for a command beside a
    running server. Raises `EmbeddedError`.
    """
    with_postgres, with_redis = settings.database_url is None, settings.redis_url is None
    if not with_postgres and not with_redis:
        yield settings
        return
    with EmbeddedServers(settings.home, postgres=with_postgres, redis=with_redis, join=join) as servers:
        database_url = settings.database_url or servers.database_url
        yield replace(
            settings,
            database_url=database_url,
            owner_database_url=settings.owner_database_url or database_url,
            redis_url=settings.redis_url or servers.redis_url,
            secret_key=settings.secret_key or kept_secret_key(settings.home),
        )


@contextmanager
def local_worker(settings: Settings) -> Iterator[None]:
    """Run a worker beside a local server, in a process of its own; it ends with this one, however that ends."""
    environ = dict(os.environ)
    environ.pop("MEMORIA_METRICS_PORT", None)  # the server's own
    environ |= {
        "DATABASE_URL": settings.database_url or "",
        "MEMORIA_HOME": str(settings.home),
        "MEMORIA_LOG_LEVEL": settings.log_level,
    }
    worker = subprocess.Popen(
        [sys.executable, "-m", "workers"],
        cwd=Path(__file__).resolve().parent.parent,
        env=environ,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=partial(ctypes.CDLL(None).prctl, SET_PARENT_DEATH_SIGNAL, signal.SIGTERM),
    )
    try:
        yield
    finally:
        worker.terminate()
        try:
            worker.wait(WORKER_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def kept_secret_key(home: Path) -> bytes:
    """Return the secret key in the home folder; make one, readable by its owner alone, the first time."""
    path = home / "secret.key"
    if not path.exists():
        write_private(path, new_secret_key() + "\n")
    return read_secret_key(path.read_text())


def write_private(path: Path, text: str) -> None:
    """Replace the file at once with `text`, readable and writable by its owner alone."""
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    with open(partial, "x", opener=lambda name, flags: os.open(name, flags, 0o600), encoding="utf-8") as file:
        file.write(text)
    partial.replace(path)
