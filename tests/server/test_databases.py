"""A database URL that leads to the wrong place stops the start with one sentence that names it."""

from collections.abc import Iterator

import asyncpg
import pytest

from accounts.environment import SettingsError
from memoria.errors import UnavailableError
from memoria.migrations import missing_migrations
from server.databases import connect, require_schema
from server.embedded import EmbeddedServers
from tests.conftest import create_database
from tests.live_server import settings_for_tests

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def empty_url(servers: EmbeddedServers, worker_id: str) -> Iterator[str]:
    name = f"memoria_empty_{worker_id}"
    create_database(servers, name)
    yield servers.database_url_of(name)


async def test_a_database_that_was_migrated_is_accepted_as_the_role_of_the_service(
    postgres_url: str, redis_url: str
) -> None:
    await require_schema(settings_for_tests(postgres_url, redis_url))


async def test_a_database_that_was_never_migrated_is_refused(empty_url: str, redis_url: str) -> None:
    with pytest.raises(SettingsError, match=r"^The database of DATABASE_URL lacks 0001_accounts.*server migrate"):
        await require_schema(settings_for_tests(empty_url, redis_url))


async def test_a_database_of_a_newer_release_lacks_nothing(owner_url: str) -> None:
    connection = await asyncpg.connect(owner_url)
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute("insert into schema_migrations (name, checksum) values ('9999_later', '')")
        assert await missing_migrations(connection) == []
        await connection.execute("delete from schema_migrations where name = '0001_accounts'")
        assert await missing_migrations(connection) == ["0001_accounts"]
    finally:
        await transaction.rollback()
        await connection.close()


async def test_a_database_that_does_not_exist_is_named_with_its_variable(servers: EmbeddedServers) -> None:
    with pytest.raises(SettingsError, match=r'^MEMORIA_OWNER_DATABASE_URL is refused by the database: .*"nowhere"'):
        await connect(servers.database_url_of("nowhere"), "MEMORIA_OWNER_DATABASE_URL")


async def test_a_server_that_is_away_is_no_fault_of_the_setting() -> None:
    with pytest.raises(UnavailableError, match="does not answer"):
        await connect("postgresql://nobody@127.0.0.1:1/nothing", "DATABASE_URL")
