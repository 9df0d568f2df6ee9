"""What is deleted is gone from every table and every answer."""

import asyncio

import pytest

from memoria import forget
from memoria.errors import ConflictError, InvalidInputError, NotFoundError
from memoria.records import ContextRequest, Encoded, Filters, ForgetResult, MemoryPatch, NewMemory, SearchRequest
from memoria.vocabulary import MemoryState, Tier
from tests.invariants import broken_invariants, rows_about
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio

DOCUMENT = "\n\n".join(f"Paragraph {number} tells of quasar step {number}." for number in range(120))


async def found_anywhere(tenant: Tenant, query: str) -> set[int]:
    """Look for memories through every door of the engine."""
    context = await tenant.engine.build_context(tenant.principal, ContextRequest(query))
    found = {memory.id for memory in context.memories}
    for sort in ("relevance", "recent", "salience"):
        page = await tenant.engine.search(tenant.principal, SearchRequest(query, sort=sort))
        found |= {hit.memory.id for hit in page.items}
    recall = await tenant.recall(query, explain=True, include=("archived", "expired", "quarantined"))
    found |= {hit.memory.id for hit in (*recall.hits, *recall.candidates)}
    for memory_id in await tenant.listed():
        page_of_neighbors = await tenant.engine.neighbors(tenant.principal, memory_id)
        found |= {neighbor.memory.id for neighbor in page_of_neighbors.items}
    return found | set(await tenant.listed(include=("archived", "expired", "quarantined")))


async def test_a_forgotten_memory_is_in_no_row_and_no_answer(tenant: Tenant) -> None:
    texts = ["The quasar gate opens at nine", "The quasar gate closes at nine", "The quasar gate key is blue"]
    doomed, *kept = [await tenant.encode(text, context={"session_id": "s"}) for text in texts]
    await tenant.engine.update(tenant.principal, doomed.id, MemoryPatch({"title": "Gate"}))
    before = await rows_about(tenant, doomed.id)
    expected = {"memories.memory_id", "memory_events.memory_id", "postings.memory_id", "embeddings.memory_id"}
    assert expected <= {column for column, count in before.items() if count}
    assert before["edges.source_id"] + before["edges.target_id"] > 0
    await tenant.engine.forget(tenant.principal, doomed.id)
    assert {column for column, count in (await rows_about(tenant, doomed.id)).items() if count} == set()
    assert await found_anywhere(tenant, "quasar gate opens at nine") == {memory.id for memory in kept}
    for call in (tenant.engine.get, tenant.engine.history, tenant.engine.neighbors, tenant.engine.forget):
        with pytest.raises(NotFoundError):
            await call(tenant.principal, doomed.id)
    assert await broken_invariants(tenant) == {}


async def test_a_document_goes_with_all_its_parts(tenant: Tenant) -> None:
    stored = await tenant.engine.encode(tenant.principal, NewMemory(DOCUMENT, chunk=True))
    assert isinstance(stored, Encoded)
    assert len(stored.chunk_ids) > 2
    with pytest.raises(ConflictError):
        await tenant.engine.forget(tenant.principal, stored.chunk_ids[0])
    assert await tenant.recalled("quasar step 7") != []
    await tenant.engine.forget(tenant.principal, stored.memory.id)
    for memory_id in (stored.memory.id, *stored.chunk_ids):
        assert sum((await rows_about(tenant, memory_id)).values()) == 0
    assert await found_anywhere(tenant, "quasar step 7") == set()
    assert await broken_invariants(tenant) == {}


async def test_a_hidden_memory_is_deleted_too(tenant: Tenant) -> None:
    archived = await tenant.encode("quasar archived", context={"user_id": "ann"})
    expired = await tenant.encode("quasar expired", context={"user_id": "ann"}, ttl_seconds=1)
    other = await tenant.encode("quasar of another", context={"user_id": "bea"})
    await tenant.engine.archive(tenant.principal, archived.id)
    tenant.clock.advance(seconds=2)
    assert await tenant.engine.delete_by_context(tenant.principal, "user_id", "ann") == 2
    assert await found_anywhere(tenant, "quasar") == {other.id}
    assert sum((await rows_about(tenant, expired.id)).values()) == 0


async def test_a_dry_run_names_and_deletes_nothing(tenant: Tenant) -> None:
    core = await tenant.encode("keep", type="core")
    filters = Filters(tiers=(Tier.CORE,))
    result = await tenant.engine.forget_matching(tenant.principal, filters, dry_run=True)
    assert result == ForgetResult((core.id,), dry_run=True)
    assert await tenant.listed() == [core.id]
    assert await tenant.engine.forget_matching(tenant.principal, filters) == ForgetResult((core.id,), dry_run=False)
    assert await tenant.listed() == []


async def test_a_filter_on_states_deletes_those_alone(tenant: Tenant) -> None:
    active, archived = await tenant.encode("active one"), await tenant.encode("archived one")
    await tenant.engine.archive(tenant.principal, archived.id)
    result = await tenant.engine.forget_matching(tenant.principal, Filters(states=(MemoryState.ARCHIVED,)))
    assert result == ForgetResult((archived.id,), dry_run=False)
    assert await tenant.listed() == [active.id]


async def test_a_namespace_cannot_be_emptied_by_an_empty_filter(tenant: Tenant) -> None:
    await tenant.encode("keep")
    with pytest.raises(InvalidInputError, match="filters"):
        await tenant.engine.forget_matching(tenant.principal, Filters())
    assert len(await tenant.listed()) == 1


async def test_many_ids_may_hold_unknown_ones(tenant: Tenant, other: Tenant) -> None:
    mine, theirs = await tenant.encode("mine"), await other.encode("theirs")
    result = await tenant.engine.forget_many(tenant.principal, [mine.id, theirs.id, 7, mine.id])
    assert result == ForgetResult((mine.id,), dry_run=False)
    assert await other.listed() == [theirs.id]
    for ids in ([], list(range(1001))):
        with pytest.raises(InvalidInputError, match="1 to 1000 ids"):
            await tenant.engine.forget_many(tenant.principal, ids)


async def test_one_memory_deleted_by_many_at_once_is_deleted_by_one(tenant: Tenant) -> None:
    memory = await tenant.encode("contested")
    results = await asyncio.gather(*(tenant.engine.forget_many(tenant.principal, [memory.id]) for _ in range(8)))
    assert [len(result.ids) for result in results if isinstance(result, ForgetResult)].count(1) == 1
    assert await broken_invariants(tenant) == {}


async def test_a_thousand_memories_are_deleted_in_one_call(tenant: Tenant) -> None:
    for start in (0, 500):
        words = [f"note {number} says {number % 7} {number % 11} and more" for number in range(start, start + 500)]
        await tenant.encode_batch([NewMemory(text, tags=("bulk",)) for text in words])
    kept = await tenant.encode("note that stays")
    result = await tenant.engine.forget_matching(tenant.principal, Filters(tags_any=("bulk",)))
    assert isinstance(result, ForgetResult)
    assert len(result.ids) == 1000
    assert await found_anywhere(tenant, "note says more") == {kept.id}
    assert await broken_invariants(tenant) == {}


async def test_a_deletion_in_slices_deletes_all_that_matches_and_nothing_else(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forget, "SLICE_MEMORIES", 3)
    kept = await tenant.encode("The quasar gate opens at nine")
    items = [NewMemory(f"The quasar gate has step {number}", context={"run": "7"}) for number in range(8)]
    await tenant.encode_batch([*items, NewMemory(DOCUMENT, chunk=True, context={"run": "7"})])
    assert await tenant.engine.delete_by_context(tenant.principal, "run", "7") == 9
    assert await tenant.listed() == [kept.id]
    assert await broken_invariants(tenant) == {}
