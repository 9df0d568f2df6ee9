"""Machines that the tests of faults may break, and a server on them."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.fault_rig import Machines, Running, machines, migrate_database, server
from tests.live_server import Person, open_people


@pytest.fixture(scope="session")
def rig() -> Iterator[Machines]:
    """A migrated Postgres, durable, and a Redis, for this worker's tests of faults alone."""
    with machines() as started:
        asyncio.run(migrate_database(started.database_url))
        yield started


@pytest.fixture(scope="session")
def running(rig: Machines, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server on these machines that outlives whatever happens to them."""
    folder = tmp_path_factory.mktemp("server")
    with server(folder, rig.database_url, rig.redis_url, MEMORIA_LOG_LEVEL="info") as started:
        yield started


@pytest.fixture
async def caller(rig: Machines) -> Person:
    """Somebody of an organization of their own on these machines."""
    return (await open_people(rig.database_url)).alice
