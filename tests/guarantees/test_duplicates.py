"""The same thing sent twice is one memory, however often, and however concurrently, it is sent."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from memoria.records import Encoded, NewMemory
from memoria.vocabulary import MemoryState
from tests.invariants import broken_invariants
from tests.tenants import Tenant, once

pytestmark = pytest.mark.anyio

DOCUMENT = "\n\n".join(f"Paragraph {number} tells of deployment step {number}." for number in range(120))


async def test_one_text_sent_by_many_at_once_is_one_memory(tenant: Tenant) -> None:
    new = NewMemory("We deploy on Fridays after 2pm")
    stored = await asyncio.gather(*(tenant.engine.encode(tenant.principal, new) for _ in range(20)))
    answers = [answer for answer in stored if isinstance(answer, Encoded)]
    assert len({answer.memory.id for answer in answers}) == 1
    assert sorted(answer.duplicate for answer in answers) == [False] + [True] * 19
    assert len(await tenant.listed()) == 1
    assert await broken_invariants(tenant) == {}


async def test_a_batch_sent_again_after_a_time_out_stores_nothing_twice(tenant: Tenant) -> None:
    items = [NewMemory(f"Fact number {number} about the billing system") for number in range(50)]
    first, again = await asyncio.gather(tenant.encode_batch(items), tenant.encode_batch(items))
    assert [one.memory.id for one in first] == [two.memory.id for two in again]
    assert len(await tenant.listed(limit=200)) == 50
    assert await broken_invariants(tenant) == {}


async def test_adding_a_memory_twice_leaves_the_first_in_place(tenant: Tenant) -> None:
    memory = await tenant.encode("The staging key rotates monthly", tags=("ops",), metadata={"ticket": 7})
    tenant.clock.advance(hours=1)
    answer = await tenant.engine.encode(tenant.principal, NewMemory("  The staging key rotates monthly\r\n"))
    assert isinstance(answer, Encoded)
    assert answer.duplicate
    kept = await tenant.engine.get(tenant.principal, memory.id)
    assert kept.last_accessed_at == tenant.clock.now
    assert (kept.content, kept.tags, kept.metadata, kept.version) == (memory.content, ("ops",), {"ticket": 7}, 1)
    assert kept.updated_at == memory.updated_at


async def test_fields_that_a_duplicate_did_not_change_are_named(tenant: Tenant) -> None:
    await tenant.encode("The staging key rotates monthly", title="Keys", salience=0.4)
    new = NewMemory("The staging key rotates monthly", title="Rotation", salience=0.9, tags=("ops",))
    answer = await tenant.engine.encode(tenant.principal, new)
    assert isinstance(answer, Encoded)
    assert set(answer.ignored_fields) == {"title", "salience", "tags"}
    assert answer.memory.title == "Keys"


async def test_a_repetition_within_a_batch_is_the_earlier_item(tenant: Tenant) -> None:
    first, other, again = await tenant.encode_batch([NewMemory("one"), NewMemory("two"), NewMemory("one")])
    assert (first.duplicate, other.duplicate, again.duplicate) == (False, False, True)
    assert first.memory.id == again.memory.id != other.memory.id


@pytest.mark.parametrize(
    "difference", [{"namespace": "other"}, {"project": "p"}, {"context": {"user_id": "ann"}}], ids=str
)
async def test_the_same_text_elsewhere_is_another_memory(tenant: Tenant, difference: dict[str, Any]) -> None:
    here = await tenant.encode("Prefers tea")
    there = await tenant.encode("Prefers tea", **difference)
    assert here.id != there.id


async def test_equals_of_one_batch_may_differ_in_how_they_are_cut(tenant: Tenant) -> None:
    cut, whole = await tenant.encode_batch([NewMemory(DOCUMENT, chunk=True), NewMemory(DOCUMENT)])
    assert whole.duplicate
    assert whole.memory.id == cut.memory.id
    assert cut.chunk_ids
    assert whole.chunk_ids == ()
    whole, cut = await tenant.encode_batch(
        [NewMemory(DOCUMENT, namespace="a"), NewMemory(DOCUMENT, namespace="a", chunk=True)]
    )
    assert cut.duplicate
    assert cut.chunk_ids == whole.chunk_ids == ()
    assert await broken_invariants(tenant) == {}


async def test_equals_of_two_namespaces_keep_their_own_form(tenant: Tenant) -> None:
    items = [
        NewMemory(DOCUMENT, namespace="a", chunk=True),
        NewMemory(DOCUMENT, namespace="b"),
        NewMemory(DOCUMENT, namespace="c", title="A title of its own " * 10),
    ]
    cut, whole, titled = await tenant.encode_batch(items)
    assert not (cut.duplicate or whole.duplicate or titled.duplicate)
    assert await broken_invariants(tenant) == {}


async def test_what_is_sent_again_after_it_expired_is_recalled(tenant: Tenant) -> None:
    memory = await tenant.encode("The build is frozen", ttl_seconds=60)
    tenant.clock.advance(minutes=2)
    assert await tenant.recalled("build frozen") == []
    answer = await tenant.engine.encode(tenant.principal, NewMemory("The build is frozen", ttl_seconds=300))
    assert isinstance(answer, Encoded)
    assert answer.memory.id == memory.id
    assert answer.memory.expires_at == tenant.clock.now + timedelta(minutes=5)
    assert await tenant.recalled("build frozen") == [memory.id]


async def test_a_document_sent_again_after_it_expired_is_recalled(tenant: Tenant) -> None:
    await tenant.encode(DOCUMENT, chunk=True, ttl_seconds=60)
    tenant.clock.advance(minutes=2)
    assert await tenant.recalled("deployment step 7") == []
    await tenant.encode(DOCUMENT, chunk=True)
    assert await tenant.recalled("deployment step 7") != []
    assert await broken_invariants(tenant) == {}


async def test_an_archived_equal_comes_back(tenant: Tenant) -> None:
    memory = await tenant.encode("Old habit")
    await tenant.engine.archive(tenant.principal, memory.id)
    again = await tenant.encode("Old habit")
    assert (again.id, again.state) == (memory.id, MemoryState.ACTIVE)
    assert await tenant.recalled("Old habit") == [memory.id]


async def test_a_duplicate_deleted_meanwhile_is_stored_anew(tenant: Tenant) -> None:
    new = NewMemory("Now you see me")
    for _ in range(5):
        stored = await tenant.encode(new.content)
        await asyncio.gather(
            tenant.engine.forget(tenant.principal, stored.id),
            *(tenant.engine.encode(tenant.principal, new) for _ in range(4)),
            return_exceptions=False,
        )
        assert len(await tenant.listed()) <= 1
    assert await broken_invariants(tenant) == {}


async def test_an_idempotent_repeat_of_a_duplicate_is_answered_alike(tenant: Tenant) -> None:
    await tenant.encode("Known already")
    first = await tenant.engine.encode(tenant.principal, NewMemory("Known already"), once("k"))
    again = await tenant.engine.encode(tenant.principal, NewMemory("Known already"), once("k"))
    assert isinstance(first, Encoded)
    assert not isinstance(again, Encoded)
    assert again.answer == str(first.memory.id).encode()
