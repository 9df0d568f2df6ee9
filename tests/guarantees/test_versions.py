"""An edit keeps the id and everything it does not name, makes a version, and forgets none of the earlier ones."""

import asyncio

import pytest

from memoria.errors import ConflictError, InvalidInputError, NotFoundError
from memoria.records import Encoded, Memory, MemoryPatch, NewMemory
from memoria.vocabulary import EdgeType, MemoryState, Tier
from tests.invariants import broken_invariants
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio

DOCUMENT = "\n\n".join(f"Paragraph {number} tells of deployment step {number}." for number in range(120))


async def test_an_edit_keeps_what_it_does_not_name(tenant: Tenant) -> None:
    memory = await tenant.encode(
        "Deploys run on Fridays",
        metadata={"ticket": 7, "nested": {"a": [1]}},
        tags=("ops",),
        title="Deploys",
        context={"user_id": "ann"},
        salience=0.7,
        url="example.com/a",
    )
    tenant.clock.advance(hours=1)
    edited = await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"content": "Deploys run on Mondays"}))
    assert (edited.id, edited.version, edited.content) == (memory.id, 2, "Deploys run on Mondays")
    for name in ("metadata", "tags", "title", "context", "salience", "url", "created_at", "occurred_at", "tier"):
        assert getattr(edited, name) == getattr(memory, name), name
    assert edited.updated_at == tenant.clock.now > memory.updated_at
    assert edited == await tenant.engine.get(tenant.principal, memory.id)


async def test_every_earlier_version_is_readable(tenant: Tenant) -> None:
    memory = await tenant.encode("one", tags=("a",), metadata={"n": 1})
    for number, content in enumerate(("two", "three"), start=2):
        patch = MemoryPatch({"content": content, "metadata": {"n": number}})
        await tenant.engine.update(tenant.principal, memory.id, patch)
    events = await tenant.engine.history(tenant.principal, memory.id)
    assert [(event.event, event.version) for event in events] == [("edited", 2), ("edited", 3)]
    assert [(event.fields["content"], event.fields["metadata"]) for event in events] == [
        ("one", {"n": 1}),
        ("two", {"n": 2}),
    ]
    assert {event.key_id for event in events} == {tenant.principal.key_id}


async def test_an_edited_text_is_found_by_its_new_words_alone(tenant: Tenant) -> None:
    memory = await tenant.encode("aardvark burrow")
    await tenant.encode("bystander note")
    await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"content": "zebra crossing"}))
    assert (await tenant.recalled("zebra crossing"))[0] == memory.id
    rows = await tenant.fetch("select term from postings where memory_id = $1", memory.id)
    assert len(rows) == 2
    assert await broken_invariants(tenant) == {}


async def test_an_expected_version_that_has_moved_on_is_a_conflict(tenant: Tenant) -> None:
    memory = await tenant.encode("one")
    patch = MemoryPatch({"content": "two"}, expected_version=1)
    await tenant.engine.update(tenant.principal, memory.id, patch)
    with pytest.raises(ConflictError) as caught:
        await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"content": "three"}, expected_version=1))
    assert caught.value.details["version"] == 2
    assert (await tenant.engine.get(tenant.principal, memory.id)).content == "two"


async def test_of_edits_that_expect_the_same_version_one_wins(tenant: Tenant) -> None:
    memory = await tenant.encode("start")
    calls = [
        tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"content": f"by {n}"}, expected_version=1))
        for n in range(6)
    ]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(not isinstance(answer, BaseException) for answer in answers) == 1
    assert {type(answer) for answer in answers if isinstance(answer, BaseException)} == {ConflictError}
    assert await broken_invariants(tenant) == {}


async def test_an_edit_into_another_memorys_text_is_a_conflict(tenant: Tenant) -> None:
    await tenant.encode("taken")
    memory = await tenant.encode("free")
    with pytest.raises(ConflictError) as caught:
        await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"content": "taken"}))
    assert caught.value.details["field"] == "content"
    assert (await tenant.engine.get(tenant.principal, memory.id)).version == 1
    assert await broken_invariants(tenant) == {}


@pytest.mark.parametrize("field", ["content", "type", "confidence", "salience", "occurred_at"])
async def test_a_field_that_cannot_be_empty_is_not_emptied(tenant: Tenant, field: str) -> None:
    memory = await tenant.encode("x")
    with pytest.raises(InvalidInputError) as caught:
        await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({field: None}))
    assert caught.value.details["field"] == field


@pytest.mark.parametrize("field", ["namespace", "chunk", "id", "utility", "salience_hint"])
async def test_a_field_that_cannot_be_changed_is_refused(tenant: Tenant, field: str) -> None:
    memory = await tenant.encode("x")
    with pytest.raises(InvalidInputError) as caught:
        await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({field: "y"}))
    assert caught.value.details["field"] == field


async def test_optional_fields_are_cleared_by_none(tenant: Tenant) -> None:
    memory = await tenant.encode(
        "x", title="t", tags=("a",), category="c", source="agent", url="a.example", related_urls=("b.example",),
        project="p", context={"k": "v"}, metadata={"m": 1}, pinned=True, ttl_seconds=60,
    )  # fmt: skip
    names = ("title", "tags", "category", "source", "url", "related_urls", "project", "context", "metadata", "pinned")
    cleared = await tenant.engine.update(
        tenant.principal, memory.id, MemoryPatch(dict.fromkeys((*names, "expires_at")))
    )
    assert [getattr(cleared, name) for name in (*names, "site", "expires_at")] == [
        None, (), None, None, None, (), None, {}, None, False, None, None,
    ]  # fmt: skip


async def test_a_type_that_is_a_tier_moves_the_memory_there(tenant: Tenant) -> None:
    memory = await tenant.encode("x", type="Semantic")
    moved = await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"type": "core"}))
    assert (moved.type.value, moved.tier) == ("Episodic", Tier.CORE)


@pytest.mark.parametrize("ending", ["", " And more."])
async def test_an_archived_document_stays_out_of_recall_when_edited(tenant: Tenant, ending: str) -> None:
    stored = await tenant.engine.encode(tenant.principal, NewMemory(DOCUMENT, chunk=True))
    assert isinstance(stored, Encoded)
    await tenant.engine.archive(tenant.principal, stored.memory.id)
    patch = MemoryPatch({"title": "Steps", "content": DOCUMENT + ending})
    edited = await tenant.engine.update(tenant.principal, stored.memory.id, patch)
    assert edited.state is MemoryState.ARCHIVED
    assert await tenant.recalled("deployment step 7") == []
    await tenant.engine.restore(tenant.principal, stored.memory.id)
    assert await tenant.recalled("deployment step 7") != []
    assert await broken_invariants(tenant) == {}


async def test_a_document_and_its_parts_are_edited_together(tenant: Tenant) -> None:
    stored = await tenant.engine.encode(tenant.principal, NewMemory(DOCUMENT, chunk=True, context={"session_id": "s"}))
    assert isinstance(stored, Encoded)
    tenant.clock.advance(minutes=1)
    follower = await tenant.encode("Afterwards", context={"session_id": "s"})
    with pytest.raises(ConflictError, match="part of a document"):
        await tenant.engine.update(tenant.principal, stored.chunk_ids[0], MemoryPatch({"title": "x"}))
    await tenant.engine.update(tenant.principal, stored.memory.id, MemoryPatch({"tags": ("guide",)}))
    for chunk_id in stored.chunk_ids:
        with pytest.raises(NotFoundError):
            await tenant.engine.get(tenant.principal, chunk_id)
    hits = (await tenant.recall("deployment step 7", limit=3)).hits
    assert {hit.memory.part_of for hit in hits} == {stored.memory.id}
    assert {hit.memory.tags for hit in hits} == {("guide",)}
    # What came after the document still knows so.
    edges = (await tenant.engine.neighbors(tenant.principal, follower.id)).items
    assert (EdgeType.TEMPORAL, stored.memory.id) in {(one.edge.type, one.memory.id) for one in edges}
    short = await tenant.engine.update(tenant.principal, stored.memory.id, MemoryPatch({"content": "Now short"}))
    assert await tenant.recalled("now short", limit=1) == [short.id]
    assert await broken_invariants(tenant) == {}


async def test_moves_between_states_are_in_the_history(tenant: Tenant) -> None:
    memory = await tenant.encode("x y z")
    archived = await tenant.engine.archive(tenant.principal, memory.id)
    assert archived == await tenant.engine.get(tenant.principal, memory.id)
    await tenant.engine.archive(tenant.principal, memory.id)
    assert await tenant.recalled("x y z") == []
    assert await tenant.recalled("x y z", include=("archived",)) == [memory.id]
    await tenant.engine.restore(tenant.principal, memory.id)
    assert await tenant.recalled("x y z") == [memory.id]
    events = await tenant.engine.history(tenant.principal, memory.id)
    assert [(event.event, event.fields["state_before"]) for event in events] == [
        ("archived", "active"),
        ("restored", "archived"),
    ]


async def test_a_superseded_memory_is_still_superseded_when_restored(tenant: Tenant) -> None:
    memory = await tenant.encode("We deploy on Fridays")
    tenant.clock.advance(days=1)
    await tenant.encode("We deploy on Thursdays now")
    await tenant.engine.archive(tenant.principal, memory.id)
    restored = await tenant.engine.restore(tenant.principal, memory.id)
    assert isinstance(restored, Memory)
    assert restored.state is MemoryState.SUPERSEDED
    assert await tenant.engine.get(tenant.principal, memory.id) == restored
