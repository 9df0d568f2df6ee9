"""Migrations run once, in order, one process at a time, and notice when files and database do not belong together."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from memoria.errors import UnavailableError
from memoria.migrations import load_migrations, migrate
from server.embedded import EmbeddedServers
from tests.conftest import create_database

pytestmark = pytest.mark.anyio


@pytest.fixture
async def empty_url(servers: EmbeddedServers, worker_id: str, owner_url: str) -> AsyncIterator[str]:
    name = f"empty_{worker_id}"
    create_database(servers, name)
    yield servers.database_url_of(name)
    owner = await asyncpg.connect(owner_url)
    await owner.execute(f"drop database {name} with (force)")
    await owner.close()


def test_migrations_are_numbered_without_a_gap() -> None:
    numbers = [int(migration.name[:4]) for migration in load_migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_processes_that_start_together_migrate_once(empty_url: str) -> None:
    connections = [await asyncpg.connect(empty_url) for _ in range(3)]
    done = await asyncio.gather(*(migrate(connection) for connection in connections))
    names = [migration.name for migration in load_migrations()]
    assert sorted(done, key=len) == [[], [], names]
    ledger = await connections[0].fetch("select name, checksum from schema_migrations order by name")
    assert [tuple(row) for row in ledger] == [(one.name, one.checksum) for one in load_migrations()]
    for connection in connections:
        await connection.close()


async def test_a_changed_migration_is_noticed_and_the_lock_given_back(empty_url: str) -> None:
    connection = await asyncpg.connect(empty_url)
    await migrate(connection)
    await connection.execute("update schema_migrations set checksum = 'other' where name like '0002%'")
    with pytest.raises(UnavailableError, match="0002_memories"):
        await migrate(connection)
    assert await connection.fetchval("select count(*) from pg_locks where locktype = 'advisory' and granted") == 0
    await connection.close()
