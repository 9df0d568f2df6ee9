"""One Postgres and one Redis for the whole run; one migrated database and one Redis database for each worker."""

import asyncio
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import asyncpg
import pytest
import redis

from memoria.migrations import migrate
from server.embedded import EmbeddedServers, postgres_binaries

pytest_plugins = ["tests.people", "tests.tenants"]

TEMPLATE_DATABASE = "memoria_template"
SERVERS_FOLDER = pytest.StashKey[Path]()
SERVERS = pytest.StashKey[EmbeddedServers]()


def pytest_configure(config: pytest.Config) -> None:
    """Start the servers once, in the process that starts the workers, and migrate the template database."""
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    # Short, because the path of a socket is limited; its own, because a developer's server may be running.
    folder = Path(tempfile.mkdtemp(prefix="memoria-tests-"))
    folder.chmod(0o711)
    servers = EmbeddedServers(folder, durable=False).start()
    config.stash[SERVERS_FOLDER], config.stash[SERVERS] = folder, servers
    create_database(servers, TEMPLATE_DATABASE)
    asyncio.run(_migrate(servers.database_url_of(TEMPLATE_DATABASE)))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the servers and remove their folder."""
    if servers := config.stash.get(SERVERS, None):
        servers.stop()
        shutil.rmtree(config.stash[SERVERS_FOLDER])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a worker where the servers are."""
    node.workerinput["memoria_servers"] = str(node.config.stash[SERVERS_FOLDER])  # type: ignore[attr-defined]


def create_database(servers: EmbeddedServers, name: str, template: str = "template0") -> None:
    """Create a database as a copy of `template`."""
    command = [postgres_binaries() / "createdb", "--template", template, "--maintenance-db"]
    subprocess.run([*command, servers.database_url, name], check=True, capture_output=True)


async def _migrate(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await migrate(connection)
    finally:
        await connection.close()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run async tests on asyncio alone: it is what the server runs on."""
    return "asyncio"


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest) -> EmbeddedServers:
    """The servers of this run, started by the process that started the workers."""
    worker = getattr(request.config, "workerinput", None)
    if worker is None:
        return request.config.stash[SERVERS]
    return EmbeddedServers(Path(worker["memoria_servers"]), join=True).start()


@pytest.fixture(scope="session")
def owner_url(servers: EmbeddedServers, worker_id: str) -> str:
    """This worker's own migrated database, as the superuser that owns it."""
    create_database(servers, f"memoria_{worker_id}", TEMPLATE_DATABASE)
    return servers.database_url_of(f"memoria_{worker_id}")


@pytest.fixture(scope="session")
def postgres_url(owner_url: str, servers: EmbeddedServers, worker_id: str) -> str:
    """This worker's own migrated database, as the role of the application, which owns nothing."""
    return servers.database_url_of(f"memoria_{worker_id}", role="memoria_app")


@pytest.fixture(scope="session")
def redis_url(servers: EmbeddedServers, worker_id: str) -> str:
    """This worker's own database of Redis, empty at the start."""
    number = 1 + int("".join(re.findall(r"\d+", worker_id)) or 0)
    url = servers.redis_url.replace("db=0", f"db={number}")
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url
