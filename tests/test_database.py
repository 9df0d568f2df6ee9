"""The pool confines every transaction to its tenant, and a database that is away is an answer, not a crash."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import uuid4

import asyncpg
import numpy as np
import pytest

from memoria import database as database_module
from memoria.database import Database, encode_half_vector, unpack_ids
from memoria.embedding import FakeEmbedder
from memoria.engine import Engine
from memoria.errors import UnavailableError
from tests.tenants import Tenant, raw_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def small_pool(postgres_url: str) -> AsyncIterator[Database]:
    database = await Database.open(postgres_url, pool_size=1)
    yield database
    await database.close()


async def terminate(owner_url: str, pid: int) -> None:
    """End a server process, as an administrator or a restart does."""
    owner = await asyncpg.connect(owner_url)
    await owner.fetchval("select pg_terminate_backend($1)", pid)
    await owner.close()


async def test_without_a_tenant_no_row_is_seen(tenant: Tenant) -> None:
    await tenant.encode("secret")
    async with tenant.database.untenanted() as connection:
        for table in ("namespaces", "memories", "postings", "embeddings", "edges", "memory_events"):
            assert await raw_of(connection).fetchval(f"select count(*) from {table}") == 0  # noqa: S608


async def test_the_tenant_does_not_outlive_its_transaction(small_pool: Database) -> None:
    org_id = uuid4()
    async with small_pool.tenant(org_id) as connection:
        assert await raw_of(connection).fetchval("select current_setting('app.org_id')") == str(org_id)
    async with small_pool.untenanted() as connection:
        assert await raw_of(connection).fetchval("select current_setting('app.org_id', true)") in (None, "")
    with pytest.raises(RuntimeError, match="on purpose"):
        async with small_pool.tenant(org_id):
            raise RuntimeError("on purpose")
    async with small_pool.untenanted() as connection:
        assert await raw_of(connection).fetchval("select current_setting('app.org_id', true)") in (None, "")


async def test_a_superusers_url_is_confined_too(owner_url: str, tenant: Tenant) -> None:
    await tenant.encode("secret")
    database = await Database.open(owner_url, pool_size=1)
    async with database.tenant(uuid4()) as connection:
        assert await raw_of(connection).fetchval("select current_user") == "memoria_app"
        assert await raw_of(connection).fetchval("select count(*) from memories") == 0
    await database.close()


async def test_the_graph_is_searched_widely_and_beyond_what_a_filter_leaves_out(small_pool: Database) -> None:
    async with small_pool.untenanted() as connection:
        await raw_of(connection).fetchval("select '[1]'::halfvec <=> '[1]'::halfvec")
        assert await raw_of(connection).fetchval("show hnsw.ef_search") == "100"
        assert await raw_of(connection).fetchval("show hnsw.iterative_scan") == "relaxed_order"


async def test_a_connection_lost_between_transactions_is_replaced(small_pool: Database, owner_url: str) -> None:
    async with small_pool.untenanted() as connection:
        pid = await raw_of(connection).fetchval("select pg_backend_pid()")
    await terminate(owner_url, pid)
    for _ in range(2):  # the loss may be noticed by the first call, and only then
        try:
            async with small_pool.untenanted() as connection:
                assert await raw_of(connection).fetchval("select pg_backend_pid()") != pid
        except UnavailableError:
            continue
    async with small_pool.untenanted() as connection:
        assert await connection.fetch_value("ping") == 1


async def test_a_connection_lost_in_a_transaction_is_unavailable_and_then_back(
    small_pool: Database, owner_url: str
) -> None:
    with pytest.raises(UnavailableError):
        async with small_pool.untenanted() as connection:
            pid = await raw_of(connection).fetchval("select pg_backend_pid()")
            await terminate(owner_url, pid)
            await connection.fetch_value("ping")
    async with small_pool.untenanted() as connection:
        assert await connection.fetch_value("ping") == 1


async def test_an_empty_pool_is_unavailable(small_pool: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "QUEUE_TIMEOUT_SECONDS", 0.05)
    async with small_pool.untenanted():
        with pytest.raises(UnavailableError, match="TimeoutError"):
            async with small_pool.untenanted():
                pass
    async with small_pool.untenanted() as connection:
        assert await connection.fetch_value("ping") == 1


async def test_a_cancelled_call_leaves_no_transaction_open(small_pool: Database) -> None:
    started = asyncio.Event()

    async def wait_in_a_transaction() -> None:
        async with small_pool.tenant(uuid4()) as connection:
            started.set()
            await raw_of(connection).fetchval("select pg_sleep(30)")

    task = asyncio.create_task(wait_in_a_transaction())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with small_pool.untenanted() as connection:
        assert await raw_of(connection).fetchval("select current_setting('app.org_id', true)") in (None, "")


async def test_a_value_that_does_not_fit_is_our_mistake_and_not_an_outage(small_pool: Database) -> None:
    with pytest.raises(asyncpg.DataError):
        async with small_pool.tenant(uuid4()) as connection:
            await connection.fetch("list_memory_events", org_id=uuid4(), memory_id=2**70)


@pytest.mark.parametrize("url", ["postgresql://127.0.0.1:1/none", "postgresql:///none?host=/nowhere"])
async def test_a_server_that_is_away_is_unavailable(url: str) -> None:
    with pytest.raises(UnavailableError):
        await Database.open(url)


async def test_an_engine_answers_again_after_its_connections_were_cut(
    tenant: Tenant, small_pool: Database, owner_url: str
) -> None:
    tenant = replace(tenant, engine=Engine(small_pool, FakeEmbedder(), tenant.clock))
    memory = await tenant.encode("still here")
    await terminate(owner_url, (await tenant.fetch("select pg_backend_pid()"))[0][0])
    answers = await asyncio.gather(*(tenant.recalled("still here") for _ in range(20)), return_exceptions=True)
    assert {type(answer) for answer in answers if isinstance(answer, BaseException)} <= {UnavailableError}
    assert await tenant.recalled("still here") == [memory.id]


def test_a_half_vector_has_pgvectors_binary_form() -> None:
    assert encode_half_vector(np.array([1.0, -2.0], np.float32)) == bytes.fromhex("000200003c00c000")
    assert unpack_ids(None).tolist() == []
    assert unpack_ids((5).to_bytes(8, "big") + (2**62).to_bytes(8, "big")).tolist() == [5, 2**62]
