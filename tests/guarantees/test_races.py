"""Calls that race for the same memories end in an answer, a conflict or a not-found, and leave the tables whole."""

import asyncio
import random
from collections.abc import Awaitable, Sequence

import pytest

from memoria.errors import ConflictError, NotFoundError
from memoria.records import Encoded, MemoryPatch, NewMemory
from tests.invariants import broken_invariants
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio

TOPICS = ("deploy", "invoice", "outage", "review", "backup")


def batch(numbers: Sequence[int], namespace: str | None = None) -> list[NewMemory]:
    """Make memories that are near each other, some in one conversation."""
    return [
        NewMemory(
            f"The {TOPICS[number % 5]} of week {number} went well",
            namespace=namespace,
            context={"session_id": "talk"} if number % 2 else {},
        )
        for number in numbers
    ]


async def outcomes(calls: Sequence[Awaitable[object]]) -> list[object]:
    """Run calls at once; what fails must be a conflict or a not-found."""
    answers = await asyncio.gather(*calls, return_exceptions=True)
    unexpected = [one for one in answers if isinstance(one, BaseException)]
    assert [one for one in unexpected if not isinstance(one, ConflictError | NotFoundError)] == []
    return answers


async def test_batches_that_overlap_in_opposite_order_all_succeed(tenant: Tenant) -> None:
    numbers = list(range(24))
    calls = [
        tenant.encode_batch(batch(numbers[start : start + 16] if forward else numbers[start : start + 16][::-1]))
        for start in (0, 4, 8)
        for forward in (True, False)
    ]
    answers = await asyncio.gather(*calls)
    assert all(isinstance(one, Encoded) for answer in answers for one in answer)
    assert len(await tenant.listed(limit=200)) == 24
    assert await broken_invariants(tenant) == {}


async def test_batches_over_namespaces_in_opposite_order_all_succeed(tenant: Tenant) -> None:
    there, back = [[*batch(range(6), one), *batch(range(6), two)] for one, two in (("a", "b"), ("b", "a"))]
    await asyncio.gather(*(tenant.encode_batch(items) for items in (there, back) * 3))
    assert [len(await tenant.listed(namespace=name)) for name in ("a", "b")] == [6, 6]
    assert await broken_invariants(tenant) == {}


async def test_a_storm_of_writes_edits_and_deletions_leaves_the_tables_whole(tenant: Tenant) -> None:
    draw = random.Random(11)
    first = await tenant.encode_batch(batch(range(20)))
    ids = [one.memory.id for one in first]
    calls: list[Awaitable[object]] = []
    for number in range(60):
        memory_id = draw.choice(ids)
        calls.append(
            draw.choice(
                (
                    lambda memory_id=memory_id: tenant.engine.forget(tenant.principal, memory_id),
                    lambda memory_id=memory_id, number=number: tenant.engine.update(
                        tenant.principal, memory_id, MemoryPatch({"content": f"The deploy moved to day {number % 6}"})
                    ),
                    lambda number=number: tenant.encode_batch(batch(range(number % 20, number % 20 + 5))),
                    lambda memory_id=memory_id: tenant.engine.archive(tenant.principal, memory_id),
                    lambda memory_id=memory_id: tenant.engine.forget_many(tenant.principal, [memory_id, ids[0]]),
                    lambda: tenant.recall("the deploy of week 3"),
                    lambda memory_id=memory_id: tenant.engine.neighbors(tenant.principal, memory_id),
                    lambda: tenant.listed(),
                )
            )()
        )
    await outcomes(calls)
    assert await broken_invariants(tenant) == {}


async def test_edits_of_one_memory_at_once_lose_none_silently(tenant: Tenant) -> None:
    memory = await tenant.encode("counter")
    calls = [
        tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"title": f"title {number}"}))
        for number in range(8)
    ]
    answers = await outcomes(calls)
    won = sum(not isinstance(answer, ConflictError) for answer in answers)
    assert won >= 1
    assert (await tenant.engine.get(tenant.principal, memory.id)).version == 1 + won
    assert len(await tenant.engine.history(tenant.principal, memory.id)) == won
    assert await broken_invariants(tenant) == {}


async def test_edits_of_a_document_race_with_its_deletion(tenant: Tenant) -> None:
    text = "\n\n".join(f"Paragraph {number} tells of step {number}." for number in range(120))
    for _ in range(5):
        stored = await tenant.engine.encode(tenant.principal, NewMemory(text, chunk=True))
        assert isinstance(stored, Encoded)
        await outcomes(
            [
                tenant.engine.update(tenant.principal, stored.memory.id, MemoryPatch({"tags": ("x",)})),
                tenant.engine.archive(tenant.principal, stored.memory.id),
                tenant.engine.forget(tenant.principal, stored.memory.id),
                tenant.encode_batch([NewMemory(text, chunk=True)]),
            ]
        )
        assert await broken_invariants(tenant) == {}


async def test_a_namespace_first_written_by_many_at_once_is_one(tenant: Tenant) -> None:
    await asyncio.gather(*(tenant.encode(f"note {number}", namespace="code/app") for number in range(12)))
    page = await tenant.engine.list_namespaces(tenant.principal)
    assert [(one.name, one.memories) for one in page.items] == [("code/app", 12)]
    assert await broken_invariants(tenant) == {}
