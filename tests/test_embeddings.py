"""The nearest vectors are the same ones by scan, through the graph index, and in between."""

from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import UUID, uuid4

import numpy as np
import pytest

from memoria import embeddings
from memoria.database import Database
from memoria.embeddings import find_nearest, find_nearest_to_each, index_vectors, insert_embeddings
from memoria.namespaces import Namespace
from memoria.vocabulary import EXACT_SCAN_ROWS
from tests.tenants import raw_of

pytestmark = pytest.mark.anyio

MEMORIES = 60
SMALL = Namespace(1, "small", "random", MEMORIES, 0, MEMORIES)
PARTITION = """
    select part from generate_series(0, 15) part
    where satisfies_hash_partition('embeddings'::regclass, 16, part, $1::uuid)
"""
LARGE = replace(SMALL, embedding_count=EXACT_SCAN_ROWS + 1)  # makes the store go through the graph


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(postgres_url, pool_size=2)
    yield opened
    await opened.close()


def draw_vectors(count: int, seed: int = 7) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, 384)).astype(np.float32)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    stored: np.ndarray = unit.astype(np.float16).astype(np.float32)  # as they are stored, so that ranks are the same
    return stored


async def partition_of(database: Database, org_id: UUID) -> int:
    """Number the partition that holds an organization's vectors."""
    async with database.untenanted() as connection:
        partition: int = await raw_of(connection).fetchval(PARTITION, org_id)
        return partition


async def test_every_vector_is_found_while_a_part_of_them_is_in_the_graph(database: Database) -> None:
    org_id, vectors = uuid4(), draw_vectors(MEMORIES)
    query = draw_vectors(1, seed=8)[0]
    async with database.tenant(org_id) as connection:
        await insert_embeddings(connection, org_id, SMALL.id, [(i, vectors[i : i + 1]) for i in range(MEMORIES)])
    best = np.argsort(-(vectors @ query), kind="stable")[:10].tolist()
    for indexed in (25, 25, 10, 0):
        async with database.tenant(org_id) as connection:
            assert await index_vectors(connection, org_id, SMALL.id, 25) == indexed
            by_scan = await find_nearest(connection, org_id, SMALL, query, 10)
            by_graph = await find_nearest(connection, org_id, LARGE, query, 10)
        assert by_scan.ids.tolist() == by_graph.ids.tolist() == best
        assert by_scan.cosines == pytest.approx(by_graph.cosines)


@pytest.mark.parametrize("namespace", [SMALL, LARGE], ids=["multiplied", "searched"])
async def test_a_batch_finds_what_its_vectors_find_alone(
    database: Database, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings, "SLICE_ROWS", 7)  # so that the passages of a memory lie across a border
    monkeypatch.setattr(embeddings, "MULTIPLIED_ROWS_A_VECTOR", 1)
    org_id, vectors, asked = uuid4(), draw_vectors(MEMORIES), draw_vectors(5, seed=9)
    passages = [(i, vectors[2 * i : 2 * i + 2]) for i in range(MEMORIES // 2)]
    async with database.tenant(org_id) as connection:
        await insert_embeddings(connection, org_id, SMALL.id, passages)
        await index_vectors(connection, org_id, SMALL.id, MEMORIES)
        together = await find_nearest_to_each(connection, org_id, namespace, asked, 6)
        alone = [await find_nearest(connection, org_id, SMALL, vector, 6) for vector in asked]
    assert [found.ids.tolist() for found in together] == [found.ids.tolist() for found in alone]
    for one, other in zip(together, alone, strict=True):
        assert one.cosines == pytest.approx(other.cosines, abs=1e-3)


async def test_a_batch_finds_nothing_where_nothing_is(database: Database) -> None:
    org_id = uuid4()
    async with database.tenant(org_id) as connection:
        found = await find_nearest_to_each(connection, org_id, SMALL, draw_vectors(2), 6)
    assert [len(near.ids) for near in found] == [0, 0]


async def test_the_graph_answers_too_few_passages_and_the_scan_fills_up(database: Database) -> None:
    # One memory whose passages are all nearer than any other memory.
    org_id, query = uuid4(), draw_vectors(1, seed=8)[0]
    near = np.repeat(query[None, :], 50, axis=0)
    others = draw_vectors(10)
    async with database.tenant(org_id) as connection:
        await insert_embeddings(connection, org_id, SMALL.id, [(1, near)])
        await insert_embeddings(connection, org_id, SMALL.id, [(2 + i, others[i : i + 1]) for i in range(10)])
        await index_vectors(connection, org_id, SMALL.id, 100)
        found = await find_nearest(connection, org_id, LARGE, query, 10)
    assert found.ids[0] == 1
    assert len(set(found.ids.tolist())) == 10


async def test_a_small_tenant_is_found_in_the_graph_of_a_large_one(database: Database) -> None:
    query, crowd = draw_vectors(1, seed=8)[0], draw_vectors(1500, seed=3)
    large, small = uuid4(), uuid4()
    while await partition_of(database, small) != await partition_of(database, large):
        small = uuid4()
    async with database.tenant(large) as connection:
        await insert_embeddings(connection, large, SMALL.id, [(i, crowd[i : i + 1]) for i in range(len(crowd))])
        await index_vectors(connection, large, SMALL.id, len(crowd))
    async with database.tenant(small) as connection:
        await insert_embeddings(connection, small, SMALL.id, [(i, draw_vectors(20)[i : i + 1]) for i in range(20)])
        await index_vectors(connection, small, SMALL.id, 20)
        assert len((await find_nearest(connection, small, LARGE, query, 20)).ids) == 20
