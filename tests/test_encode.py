"""Encoding gives a memory its salience, tier, passages, postings and edges."""

from datetime import timedelta
from typing import Any

import pytest

from memoria.records import Encoded, NewMemory
from memoria.vocabulary import EdgeType, MemoryType, Tier
from tests.invariants import broken_invariants
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio

DOCUMENT = "\n\n".join(f"Paragraph {number} tells of deployment step {number}." for number in range(120))


async def edges_of(tenant: Tenant, memory_id: int) -> set[tuple[EdgeType, int, bool]]:
    """Read the edges at a memory as (type, other end, whether it points away)."""
    page = await tenant.engine.neighbors(tenant.principal, memory_id, limit=200)
    return {(one.edge.type, one.memory.id, one.outgoing) for one in page.items}


@pytest.mark.parametrize(
    ("fields", "salience", "tier"),
    [
        ({}, 0.3, Tier.BUFFER),
        ({"salience": 0.5}, 0.5, Tier.EPISODIC),
        ({"type": "Semantic"}, 0.3, Tier.EPISODIC),
        ({"type": "Semantic", "salience_hint": 0.5}, 0.5, Tier.SEMANTIC),
        ({"type": "core"}, 0.3, Tier.CORE),
        ({"type": "buffer", "salience": 1}, 1, Tier.BUFFER),
    ],
)
async def test_salience_and_first_tier(tenant: Tenant, fields: dict[str, Any], salience: float, tier: Tier) -> None:
    memory = await tenant.encode("plain words", **fields)
    assert (memory.salience, memory.tier) == (salience, tier)


async def test_stakes_are_read_from_title_and_content(tenant: Tenant) -> None:
    assert (await tenant.encode("the outage of May")).salience == 0.9
    assert (await tenant.encode("what happened in May", title="Incident")).salience == 0.9


async def test_what_is_unlike_everything_known_is_novel(tenant: Tenant) -> None:
    await tenant.encode_batch([NewMemory(f"the daily standup note number {number}") for number in range(20)])
    like, unlike = await tenant.encode_batch([NewMemory("the daily standup note again"), NewMemory("zebras galloping")])
    assert like.memory.salience == 0.3
    assert unlike.memory.salience > 0.5


async def test_near_memories_are_joined_by_at_most_five_edges(tenant: Tenant) -> None:
    for number in range(8):
        await tenant.encode(f"the invoice of customer a b c d is paid {number}")
    memory = await tenant.encode("the invoice of customer a b c d is paid today")
    semantic = {edge for edge in await edges_of(tenant, memory.id) if edge[0] is EdgeType.SEMANTIC}
    assert len(semantic) == 5
    assert {outgoing for _, _, outgoing in semantic} == {True}
    stranger = await tenant.encode("zebras galloping over plains", occurred_at=tenant.clock.now - timedelta(days=9))
    assert await edges_of(tenant, stranger.id) == set()


async def test_a_batch_is_joined_like_single_memories(tenant: Tenant, other: Tenant) -> None:
    texts = [f"the invoice of customer {number % 3} is paid on day {number}" for number in range(9)]
    batch = [one.memory for one in await tenant.encode_batch([NewMemory(text) for text in texts])]
    singles = [await other.encode(text) for text in texts]
    places = {memory.id: index for group in (batch, singles) for index, memory in enumerate(group)}
    for one, two in zip(batch, singles, strict=True):
        mine, theirs = await edges_of(tenant, one.id), await edges_of(other, two.id)
        assert {(kind, places[i], out) for kind, i, out in mine} == {(kind, places[i], out) for kind, i, out in theirs}
        assert (one.salience, one.tier) == (two.salience, two.tier)


async def test_memories_of_a_conversation_are_joined_in_time(tenant: Tenant) -> None:
    context = {"session_id": "talk"}
    first = await tenant.encode("alpha", context=context)
    tenant.clock.advance(days=2)
    third = await tenant.encode("gamma", context=context)
    between = await tenant.encode("beta", context=context, occurred_at=tenant.clock.now - timedelta(days=1))
    assert (EdgeType.TEMPORAL, first.id, False) in await edges_of(tenant, between.id)
    assert (EdgeType.TEMPORAL, third.id, True) in await edges_of(tenant, between.id)
    elsewhere = await tenant.encode("delta", context={"session_id": "other"})
    assert await edges_of(tenant, elsewhere.id) == set()


async def test_without_a_conversation_half_an_hour_joins(tenant: Tenant) -> None:
    first = await tenant.encode("alpha")
    tenant.clock.advance(minutes=30)
    second = await tenant.encode("beta")
    tenant.clock.advance(minutes=31)
    third = await tenant.encode("gamma")
    assert (EdgeType.TEMPORAL, first.id, False) in await edges_of(tenant, second.id)
    assert await edges_of(tenant, third.id) == set()


async def test_archived_memories_are_not_joined(tenant: Tenant) -> None:
    archived = await tenant.encode("the invoice is paid")
    await tenant.engine.archive(tenant.principal, archived.id)
    memory = await tenant.encode("the invoice is paid today")
    assert await edges_of(tenant, memory.id) == set()


async def test_a_document_is_one_memory_with_searchable_parts(tenant: Tenant) -> None:
    before = await tenant.encode("what came before", context={"session_id": "s"})
    new = NewMemory(DOCUMENT, chunk=True, title="Guide", tags=("t",), metadata={"m": 1}, context={"session_id": "s"})
    stored = await tenant.engine.encode(tenant.principal, new)
    assert isinstance(stored, Encoded)
    parts = [await tenant.engine.get(tenant.principal, chunk_id) for chunk_id in stored.chunk_ids]
    assert "".join(part.content for part in parts) == DOCUMENT == stored.memory.content
    assert {(part.part_of, part.title, part.tags, part.metadata) for part in parts} == {
        (stored.memory.id, "Guide", ("t",), None)
    }
    document_edges = await edges_of(tenant, stored.memory.id)
    assert {(EdgeType.PART_OF, part.id, False) for part in parts} < document_edges
    assert (EdgeType.TEMPORAL, before.id, False) in document_edges
    tenant.clock.advance(minutes=5)
    after = await tenant.encode("what came after", context={"session_id": "s"})
    assert (EdgeType.TEMPORAL, stored.memory.id, False) in await edges_of(tenant, after.id)
    assert await broken_invariants(tenant) == {}


async def test_a_short_text_stored_with_chunk_is_an_ordinary_memory(tenant: Tenant) -> None:
    stored = await tenant.engine.encode(tenant.principal, NewMemory("short", chunk=True))
    assert isinstance(stored, Encoded)
    assert stored.chunk_ids == ()
    assert await tenant.recalled("short") == [stored.memory.id]


async def test_one_batch_may_fill_several_namespaces(tenant: Tenant) -> None:
    stored = await tenant.encode_batch([NewMemory(str(number), namespace=f"n{number % 3}") for number in range(6)])
    assert [one.memory.namespace for one in stored] == ["n0", "n1", "n2"] * 2
    stats = await tenant.engine.stats(tenant.principal, "n1")
    assert (stats.memories, dict(stats.by_type)) == (2, {MemoryType.EPISODIC: 2})


def test_a_preview_of_chunks_stores_nothing(tenant: Tenant) -> None:
    chunks = tenant.engine.chunk(DOCUMENT, 100)
    assert "".join(chunk.content for chunk in chunks) == DOCUMENT
