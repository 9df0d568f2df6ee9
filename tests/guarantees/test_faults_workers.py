"""Workers that are killed, doubled or without a database do the same work once and end when they are told to."""

import asyncio
from contextlib import AbstractContextManager
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests.fault_rig import Machines, Running, program, wait_until

VECTORS = 2500
COUNTED = 6000  # as large as makes the graph index worth while
DIMENSIONS = 384


async def run_sql(url: str, sql: str, *values: object) -> int:
    """Run a statement as the owner and return the number in its first row, 0 without one."""
    connection = await asyncpg.connect(url)
    try:
        return int(await connection.fetchval(sql, *values) or 0)
    finally:
        await connection.close()


async def make_large_namespace(url: str, org_id: UUID) -> None:
    """Make a namespace that counts as large, with vectors outside the graph index."""
    await run_sql(
        url,
        "insert into organizations (org_id, name, own_namespace)"
        " values ($1::uuid, 'w', 'org:w-' || left($1::uuid::text, 6))",
        org_id,
    )
    await run_sql(
        url,
        "insert into namespaces (org_id, namespace_id, name, embedder, embedding_count, created_at)"
        " values ($1, 1, 'large', 'fake', $2, now())",
        org_id,
        COUNTED,
    )
    await run_sql(
        url,
        "insert into embeddings (org_id, namespace_id, memory_id, passage, embedding)"
        " select $1, 1, n, 0, (select array_agg(sin(n * d + d))::real[]::vector::halfvec from generate_series(1, $3) d)"
        " from generate_series(1, $2) n",
        org_id,
        VECTORS,
        DIMENSIONS,
    )


async def remove(url: str, org_id: UUID) -> None:
    """Remove what was made: it is not whole, and other tests look for that."""
    await run_sql(url, "delete from embeddings where org_id = $1", org_id)
    await run_sql(url, "delete from namespaces where org_id = $1", org_id)
    await run_sql(url, "delete from organizations where org_id = $1", org_id)


def count_indexed(url: str, org_id: UUID) -> int:
    """Count the vectors that are in the graph index."""
    return asyncio.run(run_sql(url, "select count(*) from embeddings where org_id = $1 and in_graph", org_id))


def worker(folder: Path, database_url: str) -> AbstractContextManager[Running]:
    """Run `python -m workers` on this database."""
    return program("workers", folder, DATABASE_URL=database_url)


def indexed_by(running: Running) -> int:
    """Sum what a worker says that it has put into the graph index."""
    return sum(int(str(event["done"])) for event in running.events("round") if event["task"] == "index_vectors")


def test_workers_killed_in_the_middle_and_doubled_index_every_vector_once(rig: Machines, tmp_path: Path) -> None:
    url, org_id = rig.database_url, uuid4()
    asyncio.run(make_large_namespace(url, org_id))
    try:
        with worker(tmp_path, url) as first:
            wait_until(lambda: count_indexed(url, org_id) > 0, "a worker indexes vectors")
            first.kill()
        begun = count_indexed(url, org_id)
        with worker(tmp_path, url) as second, worker(tmp_path, url) as third:
            wait_until(lambda: count_indexed(url, org_id) == VECTORS, "two workers index the rest", 60)
            wait_until(
                lambda: indexed_by(second) + indexed_by(third) >= VECTORS - begun, "the workers say what they have done"
            )
            assert (second.stop(), third.stop()) == (0, 0)
            assert indexed_by(second) + indexed_by(third) == VECTORS - begun
            assert not any(running.events("round_failed") for running in (second, third))
            assert second.events("worker_stopped")
    finally:
        asyncio.run(remove(url, org_id))


@pytest.mark.long
def test_a_worker_outlives_its_database_and_starts_before_it(rig: Machines, tmp_path: Path) -> None:
    url, org_id = rig.database_url, uuid4()
    rig.postgres.stop()
    try:
        with worker(tmp_path, url) as running:
            wait_until(lambda: bool(running.events("database_away")), "the worker says that the database is away")
            rig.postgres.start()
            wait_until(lambda: bool(running.events("worker_started")), "the worker has found its database")
            rig.postgres.stop()
            rig.postgres.start()
            asyncio.run(make_large_namespace(url, org_id))
            wait_until(lambda: count_indexed(url, org_id) == VECTORS, "the worker works again", 60)
            assert running.stop() == 0
            assert not running.events("round_failed")
    finally:
        rig.postgres.stop()
        rig.postgres.start()
        asyncio.run(remove(url, org_id))
