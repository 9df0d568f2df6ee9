"""The hot queries use the indexes that were made for them, also once Postgres plans them without their values."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import numpy as np
import pytest

from memoria.database import Connection, Database, encode_half_vector
from memoria.edges import NewEdge, insert_edges
from memoria.embeddings import index_vectors, insert_embeddings
from memoria.intents import AUTHOR_KEYS
from memoria.postings import MemoryTerms, insert_postings
from memoria.spreading import EDGE_TYPES
from memoria.standings import TIER_NAMES
from memoria.statements import load_statements
from memoria.vocabulary import EdgeType
from tests.tenants import START, raw_of

pytestmark = pytest.mark.anyio

NAMESPACE = 1
MEMORIES = 2000
GRAPH_SIZE = 1000
INSERT_MEMORIES = """
    insert into memories (org_id, memory_id, namespace_id, content, type, tier, salience, utility, confidence,
        occurred_at, created_at, updated_at, last_accessed_at, content_hash, duplicate_hash, context)
    select $1, i, $2, 'memory ' || i, 'Episodic', 'Buffer', 0.3, 0.5, 0.8, $3, $3, $3, $3, ''::bytea,
        sha256(i::text::bytea), jsonb_build_object('user_id', (i % 300)::text)
    from generate_series(1, $4::bigint) i
"""

# Organizations whose vectors lie in the same partition: an index is worth its while only beside others' rows.
SAME_PARTITION = """
    with drawn as materialized (select gen_random_uuid() as candidate from generate_series(1, 2000))
    select candidate as org_id from drawn
    where exists (
        select from generate_series(0, 15) part
        where satisfies_hash_partition('embeddings'::regclass, 16, part, candidate)
          and satisfies_hash_partition('embeddings'::regclass, 16, part, $1::uuid))
    limit 6
"""
COPY_EMBEDDINGS = """
    insert into embeddings (org_id, namespace_id, memory_id, passage, embedding)
    select $2, namespace_id, memory_id, passage, embedding from embeddings where org_id = $1
"""


@pytest.fixture(scope="module")
async def filled(postgres_url: str, owner_url: str, anyio_backend: str) -> AsyncIterator[tuple[Database, UUID]]:
    """A namespace of a few thousand memories beside another one, analysed and vacuumed."""
    database = await Database.open(postgres_url, pool_size=1)
    org_id = uuid4()
    vectors = np.random.default_rng(1).standard_normal((MEMORIES, 384)).astype(np.float32)
    async with database.tenant(org_id) as connection:
        raw = raw_of(connection)
        await raw.execute(
            "insert into organizations (org_id, name, own_namespace) values ($1, 'p', $2)",
            org_id,
            f"org:plans-{org_id.hex[:6]}",
        )
        await raw.execute("insert into namespaces values ($1, $2, 'plans', 'fake', 0, 0, 0, now())", org_id, NAMESPACE)
        await raw.execute(INSERT_MEMORIES, org_id, NAMESPACE, START, MEMORIES)
        await insert_embeddings(connection, org_id, NAMESPACE, [(i + 1, vectors[i : i + 1]) for i in range(MEMORIES)])
        terms = [MemoryTerms(i, {i % 50: 1, 1000 + i % 700: 2, 5000 + i: 1}, 4) for i in range(1, MEMORIES + 1)]
        await insert_postings(connection, org_id, NAMESPACE, terms)
        edges = [
            NewEdge(i, 1 + (i * 7 + step) % MEMORIES, EdgeType.SEMANTIC, 0.7)
            for i in range(1, MEMORIES + 1)
            for step in (1, 2)
        ]
        await insert_edges(connection, org_id, NAMESPACE, [e for e in edges if e.source_id != e.target_id], START)
    async with database.tenant(org_id) as connection:
        assert await index_vectors(connection, org_id, NAMESPACE, GRAPH_SIZE) == GRAPH_SIZE
    owner = await asyncpg.connect(owner_url)
    for neighbor in await owner.fetch(SAME_PARTITION, org_id):
        await owner.execute(COPY_EMBEDDINGS, org_id, neighbor["org_id"])
    await owner.execute("vacuum (analyze) memories, postings, embeddings, edges")
    await owner.close()
    yield database, org_id
    await database.close()


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """List every node of a plan."""
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]


async def explain(connection: Connection, mode: str, name: str, **parameters: object) -> list[dict[str, Any]]:
    """Plan a named query as Postgres would, knowing its values (custom) or after five executions (generic)."""
    statement = load_statements("postgres")[name]
    raw = raw_of(connection)
    await raw.execute(f"set local plan_cache_mode = force_{mode}_plan")
    values = statement.arguments(parameters)
    plan = await raw.fetchval(f"explain (analyze, format json) {statement.sql}", *values)
    root: dict[str, Any] = json.loads(plan)[0]["Plan"]
    return nodes(root)


def scans(plan: list[dict[str, Any]], node_type: str) -> set[str]:
    """Name the indexes (for partitions, by what they are indexes of) that nodes of a type used."""
    return {node["Index Name"] for node in plan if node["Node Type"] == node_type}


def scanned_whole(plan: list[dict[str, Any]]) -> list[str]:
    """Name tables that were read from end to end."""
    return [node["Relation Name"] for node in plan if node["Node Type"] == "Seq Scan" and node["Actual Loops"]]


VECTOR = encode_half_vector(np.random.default_rng(2).standard_normal(384).astype(np.float32))
IDS = list(range(1, 1200, 5))
MODES = pytest.mark.parametrize("mode", ["custom", "generic"])


@MODES
async def test_the_graph_is_used_for_what_is_in_it_and_the_tail_for_the_rest(
    filled: tuple[Database, UUID], mode: str
) -> None:
    database, org_id = filled
    async with database.tenant(org_id) as connection:
        plan = await explain(
            connection, mode, "nearest_by_graph", org_id=org_id, namespace_id=NAMESPACE, vector=VECTOR, limit=100
        )
    run = [node for node in plan if node.get("Actual Loops")]
    ordered = [node for node in run if "Order By" in node]
    assert len(ordered) == 1, plan
    assert ordered[0]["Node Type"] == "Index Scan"
    assert scanned_whole(run) == []
    tail = [node for node in run if node["Node Type"] == "Index Only Scan"]
    assert [node["Actual Rows"] for node in tail] == [MEMORIES - GRAPH_SIZE]


@MODES
@pytest.mark.parametrize("name", ["nearest_by_scan", "nearest_among", "read_cosines"])
async def test_vectors_are_read_from_the_covering_index(filled: tuple[Database, UUID], mode: str, name: str) -> None:
    database, org_id = filled
    given = {"vector": VECTOR, "ids": IDS, "limit": 50}
    wanted = load_statements("postgres")[name].parameters
    async with database.tenant(org_id) as connection:
        plan = await explain(
            connection,
            mode,
            name,
            org_id=org_id,
            namespace_id=NAMESPACE,
            **{key: value for key, value in given.items() if key in wanted},
        )
    run = [node for node in plan if node.get("Actual Loops")]
    assert scanned_whole(run) == []
    assert [node["Node Type"] for node in run if "Index Name" in node] == ["Index Only Scan"]


@MODES
async def test_what_happened_then_is_found_over_the_index_on_time(filled: tuple[Database, UUID], mode: str) -> None:
    database, org_id = filled
    bounds = {"since": START - timedelta(hours=1), "until": None, "compared": 500}
    async with database.tenant(org_id) as connection:
        plan = await explain(
            connection, mode, "nearest_in_time", org_id=org_id, namespace_id=NAMESPACE, vector=VECTOR, **bounds
        )
    run = [node for node in plan if node.get("Actual Loops")]
    assert scanned_whole(run) == []
    assert "memories_occurred_idx" in scans(run, "Index Scan") | scans(run, "Bitmap Index Scan")


@MODES
async def test_postings_are_read_from_the_covering_index(filled: tuple[Database, UUID], mode: str) -> None:
    database, org_id = filled
    async with database.tenant(org_id) as connection:
        plan = await explain(
            connection, mode, "read_postings", org_id=org_id, namespace_id=NAMESPACE, terms=[3, 1003, 5003, 99_999]
        )
    assert scanned_whole(plan) == []
    assert scans(plan, "Index Only Scan") == {"postings_pkey"}


@MODES
async def test_edges_are_walked_over_their_covering_indexes(filled: tuple[Database, UUID], mode: str) -> None:
    database, org_id = filled
    types = [edge_type.value for edge_type in EDGE_TYPES]
    async with database.tenant(org_id) as connection:
        plan = await explain(
            connection, mode, "read_edges", org_id=org_id, namespace_id=NAMESPACE, ids=IDS[:64], types=types, limit=64
        )
    assert scanned_whole(plan) == []
    assert scans(plan, "Index Only Scan") == {"edges_pkey", "edges_target_idx"}


@MODES
@pytest.mark.parametrize("name", ["read_memories", "read_candidates", "read_terms"])
async def test_memories_are_read_by_their_key(filled: tuple[Database, UUID], mode: str, name: str) -> None:
    database, org_id = filled
    vector = encode_half_vector(np.ones(384, np.float32))
    of_candidates = {"author_keys": AUTHOR_KEYS, "viewpoint": datetime(2026, 5, 1, tzinfo=UTC)}
    of_candidates |= {"dampened_by": vector, "dampening_distance": 0.15, "vector": vector, "compared": IDS[:50]}
    place = {"namespace_id": NAMESPACE, **of_candidates} if name == "read_candidates" else {}
    async with database.tenant(org_id) as connection:
        plan = await explain(connection, mode, name, org_id=org_id, ids=IDS[:50], **place)
    assert "memories" not in scanned_whole(plan)


@MODES
async def test_a_step_of_decay_reads_no_more_than_it_looks_at(filled: tuple[Database, UUID], mode: str) -> None:
    database, org_id = filled
    looked_at = {
        "namespace_id": NAMESPACE,
        "now": START,
        "after": 500,
        "limit": 100,
        "tiers": TIER_NAMES,
        "exempt_confidence": 0.9,
        "rested_since": START,
    }
    async with database.tenant(org_id) as connection:
        plan = await explain(connection, mode, "read_standings", org_id=org_id, **looked_at)
    assert scanned_whole(plan) == []
    assert [node["Actual Rows"] for node in plan if "Index Name" in node] == [100]


@MODES
@pytest.mark.parametrize("name", ["lock_movable", "move_to_tier"])
async def test_memories_are_moved_by_their_key(filled: tuple[Database, UUID], mode: str, name: str) -> None:
    database, org_id = filled
    given = {"ids": IDS[:50], "accessed_by": START, "tier": "Buffer", "now": START}
    wanted = load_statements("postgres")[name].parameters
    async with database.tenant(org_id) as connection:
        values = {key: value for key, value in given.items() if key in wanted}
        plan = await explain(connection, mode, name, org_id=org_id, **values)
    assert "memories" not in scanned_whole(plan)
    assert "memories_pkey" in {node.get("Index Name") for node in plan}


@MODES
async def test_hidden_memories_are_found_by_their_partial_index(filled: tuple[Database, UUID], mode: str) -> None:
    database, org_id = filled
    async with database.tenant(org_id) as connection:
        plan = await explain(connection, mode, "list_hidden_ids", org_id=org_id, namespace_id=NAMESPACE, now=START)
    assert {node["Index Name"] for node in plan if "Index Name" in node} == {"memories_hidden_idx"}


@MODES
async def test_neighbours_in_time_are_found_by_index(filled: tuple[Database, UUID], mode: str) -> None:
    database, org_id = filled
    async with database.tenant(org_id) as connection:
        plan = await explain(
            connection,
            mode,
            "find_temporal_neighbors",
            org_id=org_id,
            namespace_id=NAMESPACE,
            new_ids=[10**6, 10**6 + 1],
            sessions=["s", None],
            occurred=[START, START],
            minutes=30,
        )
    assert scanned_whole(plan) == []


@MODES
async def test_the_edges_of_one_memory_are_found_by_index(filled: tuple[Database, UUID], mode: str) -> None:
    database, org_id = filled
    async with database.tenant(org_id) as connection:
        for name, page in (("list_neighbors", {"limit": 50, "offset": 0}), ("count_neighbors", {})):
            plan = await explain(connection, mode, name, org_id=org_id, namespace_id=NAMESPACE, memory_id=77, **page)
            assert scanned_whole(plan) == []
            assert max(node["Actual Rows"] for node in plan) < 100


@MODES
async def test_rewarded_edges_are_found_by_index(filled: tuple[Database, UUID], mode: str) -> None:
    database, org_id = filled
    steps = {"from_ids": [77, 85], "to_ids": [77 * 7 + 2, 85 * 7 + 2], "types": ["Semantic"] * 2, "rewards": [0.01] * 2}
    async with database.tenant(org_id) as connection:
        plan = await explain(connection, mode, "reward_edges", org_id=org_id, least_weight=0.01, **steps)
    assert scanned_whole(plan) == []
