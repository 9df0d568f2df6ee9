"""Recalls teach after they are answered, and only those that are meant to."""

from datetime import timedelta

import pytest

from memoria.learn import co_retrieved, with_documents, write_recalls
from memoria.memories import find_homes
from memoria.recalls import Recalled, Result, delete_outlived_recalls, find_recall
from memoria.records import ContextRequest, Filters, Neighbor
from memoria.reward import Crossing
from memoria.vocabulary import CO_RETRIEVAL_GAIN, EdgeType
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio


async def co_retrieval_of(tenant: Tenant, memory_id: int) -> list[Neighbor]:
    page = await tenant.engine.neighbors(tenant.principal, memory_id)
    return [neighbor for neighbor in page.items if neighbor.edge.type is EdgeType.CO_RETRIEVAL]


def recalled_by(tenant: Tenant, namespace_id: int, memory_id: int) -> Recalled:
    """Note a recall that returned one memory."""
    results = (Result(memory_id, 1.0, memory_id, ()),)
    return Recalled(tenant.principal.org_id, 1, namespace_id, None, "deploy", None, results, tenant.clock.now)


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


async def test_what_is_recalled_again_and_again_is_not_pinned_on_top(tenant: Tenant) -> None:
    popular = [await tenant.encode(f"The deploy key {number} is rotated in May") for number in range(5)]
    right = await tenant.encode("The deploy window is on Friday afternoon")
    tenant.clock.advance(days=60)
    for _ in range(100):
        tenant.clock.advance(minutes=1)
        await tenant.recall("deploy key rotated", limit=5)
    await tenant.engine.write_lessons()
    assert (await tenant.engine.get(tenant.principal, popular[0].id)).access_count == 100
    assert (await tenant.engine.get(tenant.principal, right.id)).access_count == 0
    for query in ("deploy window", "on which afternoon do we deploy", "what about the deploy on Friday"):
        assert (await tenant.recalled(query, learn=False))[0] == right.id


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
    own = await other.encode("Something of their own")
    org_id = other.principal.org_id
    async with other.database.tenant(org_id) as connection:
        home = await find_homes(connection, org_id, [own.id])
        recalled = recalled_by(other, home[own.id][0], memory.id)
        await write_recalls(connection, org_id, [recalled])
    assert (await tenant.engine.get(tenant.principal, memory.id)).access_count == 0


async def test_a_recall_that_is_written_twice_teaches_once(tenant: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May")
    org_id = tenant.principal.org_id
    async with tenant.database.tenant(org_id) as connection:
        home = await find_homes(connection, org_id, [memory.id])
        recalled = recalled_by(tenant, home[memory.id][0], memory.id)
        await write_recalls(connection, org_id, [recalled])
        await write_recalls(connection, org_id, [recalled])
    assert (await tenant.engine.get(tenant.principal, memory.id)).access_count == 1


async def test_a_recall_is_stored_with_its_query_its_results_and_their_paths(tenant: Tenant) -> None:
    seed = await tenant.encode("The deploy key is rotated in May", context={"session_id": "s"})
    reached = await tenant.encode("Nobody knows why", context={"session_id": "s"})
    answer = await tenant.recall("deploy key rotated")
    await tenant.engine.write_lessons()
    async with tenant.database.tenant(tenant.principal.org_id) as connection:
        stored = await find_recall(connection, tenant.principal.org_id, answer.recall_id)
    assert stored is not None
    assert stored.query == "deploy key rotated"
    assert [result.memory_id for result in stored.results] == [hit.memory.id for hit in answer.hits]
    result = stored.result(reached.id)
    assert result is not None
    assert result.path == [Crossing(seed.id, reached.id, EdgeType.TEMPORAL)]


async def test_an_answer_without_results_is_stored_too(tenant: Tenant) -> None:
    await tenant.encode("The deploy key is rotated in May", tags=("x",))
    answer = await tenant.recall("deploy", filters=Filters(tags_all=("y",)))
    await tenant.engine.write_lessons()
    async with tenant.database.tenant(tenant.principal.org_id) as connection:
        stored = await find_recall(connection, tenant.principal.org_id, answer.recall_id)
    assert stored is not None
    assert stored.results == ()


async def test_recalls_of_a_namespace_that_does_not_exist_are_not_stored(tenant: Tenant) -> None:
    await tenant.recall("deploy", namespace="nowhere")
    await tenant.engine.write_lessons()
    assert await tenant.fetch("select 1 from recalls") == []


async def test_a_recall_is_kept_for_30_days(tenant: Tenant) -> None:
    await tenant.encode("The deploy key is rotated in May")
    await tenant.recall("deploy key")
    await tenant.engine.write_lessons()
    org_id = tenant.principal.org_id
    async with tenant.database.tenant(org_id) as connection:
        assert await delete_outlived_recalls(connection, org_id, tenant.clock.now + timedelta(days=29)) == 0
        assert await delete_outlived_recalls(connection, org_id, tenant.clock.now + timedelta(days=30)) == 1


def test_the_five_best_are_paired_once_each() -> None:
    pairs = list(co_retrieved((5, 4, 3, 2, 1, 0)))
    assert len(pairs) == 10
    assert all(low < high for low, high in pairs)
    assert all(0 not in pair for pair in pairs)


def test_a_document_is_used_once_by_a_recall_that_returns_parts_of_it() -> None:
    assert with_documents([1, 2, 5], {1: 9, 2: 9, 5: 8, 7: 6}) == {1, 2, 5, 8, 9}
