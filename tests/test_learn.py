"""Recalls teach after they are answered, and only those that are meant to."""

import pytest

from memoria.learn import Recalled, co_retrieved, write_recalls
from memoria.records import ContextRequest, Neighbor
from memoria.vocabulary import CO_RETRIEVAL_GAIN, EdgeType
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio


async def co_retrieval_of(tenant: Tenant, memory_id: int) -> list[Neighbor]:
    page = await tenant.engine.neighbors(tenant.principal, memory_id)
    return [neighbor for neighbor in page.items if neighbor.edge.type is EdgeType.CO_RETRIEVAL]


async def test_a_recall_raises_the_access_count_of_its_results(tenant: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May")
    tenant.clock.advance(hours=1)
    await tenant.recall("deploy key")
    await tenant.recall("deploy key")
    await tenant.engine.write_lessons()
    found = await tenant.engine.get(tenant.principal, memory.id)
    assert found.access_count == 2
    assert found.last_accessed_at == tenant.clock.now
    assert found.updated_at == memory.updated_at


async def test_a_recall_that_shall_not_learn_leaves_no_trace(tenant: Tenant) -> None:
    first = await tenant.encode("The deploy key is rotated in May")
    await tenant.encode("The deploy window is on Friday")
    await tenant.recall("deploy", learn=False)
    await tenant.engine.write_lessons()
    assert await tenant.engine.get(tenant.principal, first.id) == first
    assert await co_retrieval_of(tenant, first.id) == []


async def test_what_comes_up_together_is_joined_a_little_more_each_time(tenant: Tenant) -> None:
    first = await tenant.encode("The deploy key is rotated in May")
    second = await tenant.encode("The deploy window is on Friday")
    await tenant.recall("deploy")
    await tenant.engine.write_lessons()
    once = (await co_retrieval_of(tenant, first.id))[0]
    assert once.memory.id == second.id
    assert once.edge.weight == pytest.approx(CO_RETRIEVAL_GAIN)
    await tenant.recall("deploy")
    await tenant.recall("deploy")
    await tenant.engine.write_lessons()
    thrice = (await co_retrieval_of(tenant, first.id))[0]
    assert thrice.edge.weight == pytest.approx(1 - (1 - CO_RETRIEVAL_GAIN) ** 3)


async def test_a_context_teaches_what_it_holds(tenant: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May")
    await tenant.engine.build_context(tenant.principal, ContextRequest("deploy key"))
    await tenant.engine.write_lessons()
    assert (await tenant.engine.get(tenant.principal, memory.id)).access_count == 1


async def test_a_memory_forgotten_meanwhile_does_not_stop_the_lesson(tenant: Tenant) -> None:
    kept = await tenant.encode("The deploy key is rotated in May")
    gone = await tenant.encode("The deploy window is on Friday")
    await tenant.recall("deploy")
    await tenant.engine.forget(tenant.principal, gone.id)
    await tenant.engine.write_lessons()
    assert (await tenant.engine.get(tenant.principal, kept.id)).access_count == 1
    assert await co_retrieval_of(tenant, kept.id) == []


async def test_another_tenants_memories_learn_nothing(tenant: Tenant, other: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May")
    org_id = other.principal.org_id
    async with other.database.tenant(org_id) as connection:
        await write_recalls(connection, org_id, [Recalled(org_id, (memory.id,), other.clock.now)])
    assert (await tenant.engine.get(tenant.principal, memory.id)).access_count == 0


def test_the_five_best_are_paired_once_each() -> None:
    pairs = list(co_retrieved((5, 4, 3, 2, 1, 0)))
    assert len(pairs) == 10
    assert all(low < high for low, high in pairs)
    assert all(0 not in pair for pair in pairs)
