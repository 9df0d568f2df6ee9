"""Feedback moves what recall weighs: the memory, the way to it, and its score for such queries."""

import asyncio
from typing import Any

import pytest

from memoria.errors import ConflictError, InvalidInputError, NotFoundError
from memoria.records import ContextRequest, Memory, MemoryPatch, Replay
from memoria.reward import Feedback, FeedbackResult
from memoria.vocabulary import EdgeType
from tests.tenants import Tenant, once

pytestmark = pytest.mark.anyio


async def mark(tenant: Tenant, memory: Memory, *, useful: bool, **about: Any) -> FeedbackResult:
    """Mark a memory."""
    answer = await tenant.engine.learning.feedback(tenant.principal, Feedback(memory.id, useful, **about))
    assert isinstance(answer, FeedbackResult)
    return answer


async def two_turns(tenant: Tenant) -> tuple[Memory, Memory]:
    """Store two turns of a conversation: the second is reached through the first alone."""
    seed = await tenant.encode("The deploy key is rotated in May", context={"session_id": "s"})
    return seed, await tenant.encode("Nobody knows why", context={"session_id": "s"})


async def weight(tenant: Tenant, source: Memory, target: Memory, edge_type: EdgeType = EdgeType.TEMPORAL) -> float:
    """Read the weight of an edge."""
    page = await tenant.engine.neighbors(tenant.principal, source.id)
    return next(n.edge.weight for n in page.items if n.edge.type is edge_type and n.memory.id == target.id)


async def test_useful_raises_and_not_useful_lowers_utility(tenant: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May")
    raised = await mark(tenant, memory, useful=True)
    assert (raised.counted, raised.prediction_error) == (True, 0.5)
    assert (await tenant.engine.get(tenant.principal, memory.id)).utility == raised.utility == pytest.approx(0.6)
    assert (await mark(tenant, memory, useful=False)).utility == pytest.approx(0.48)


async def test_feedback_changes_no_version_and_no_time(tenant: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May")
    tenant.clock.advance(days=1)
    await mark(tenant, memory, useful=True)
    found = await tenant.engine.get(tenant.principal, memory.id)
    assert (found.version, found.updated_at) == (memory.version, memory.updated_at)
    await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"title": "Key"}, expected_version=1))


async def test_a_surprise_moves_salience_and_is_remembered(tenant: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May", salience=0.4)
    await mark(tenant, memory, useful=False)
    assert await tenant.engine.history(tenant.principal, memory.id) == ()
    surprised = await mark(tenant, memory, useful=True)
    assert surprised.salience == pytest.approx(0.46)
    [event] = await tenant.engine.history(tenant.principal, memory.id)
    assert event.event == "learned"
    assert event.fields["salience_before"] == 0.4


async def test_the_reward_goes_back_along_the_path_of_the_recall(tenant: Tenant) -> None:
    seed, reached = await two_turns(tenant)
    answer = await tenant.recall("deploy key rotated")
    await mark(tenant, reached, useful=False, recall_id=answer.recall_id)
    assert await weight(tenant, seed, reached) == pytest.approx(0.95)
    again = await tenant.recall("deploy key rotated")
    await mark(tenant, reached, useful=True, recall_id=again.recall_id)
    assert await weight(tenant, seed, reached) == 1.0


async def test_a_seed_has_no_path_to_reward(tenant: Tenant) -> None:
    seed, reached = await two_turns(tenant)
    answer = await tenant.recall("deploy key rotated")
    assert answer.hits[0].memory.id == seed.id
    await mark(tenant, seed, useful=False, recall_id=answer.recall_id)
    assert await weight(tenant, seed, reached) == 1.0


async def test_feedback_on_a_recall_that_is_not_written_yet_is_not_lost(tenant: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May")
    answer = await tenant.recall("deploy key")
    assert (await mark(tenant, memory, useful=True, recall_id=answer.recall_id)).counted


async def test_a_recall_that_another_process_writes_meanwhile_is_waited_for(tenant: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May")
    elsewhere = Tenant(
        type(tenant.engine)(tenant.database, tenant.engine._embedder, tenant.clock), tenant.principal, tenant.clock
    )
    answer = await elsewhere.recall("deploy key")
    marking = asyncio.create_task(mark(tenant, memory, useful=True, recall_id=answer.recall_id))
    await asyncio.wait([marking], timeout=0.1)
    await elsewhere.engine.write_lessons()
    assert (await marking).counted


async def test_feedback_on_a_context_refers_to_its_recall(tenant: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May")
    context = await tenant.engine.build_context(tenant.principal, ContextRequest("deploy key"))
    assert (await mark(tenant, memory, useful=True, recall_id=context.recall_id)).counted


async def test_a_recall_that_left_no_trace_is_not_found(tenant: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May")
    answer = await tenant.recall("deploy key", learn=False)
    tenant.clock.advance(minutes=1)
    with pytest.raises(NotFoundError) as caught:
        await mark(tenant, memory, useful=True, recall_id=answer.recall_id)
    assert caught.value.details["field"] == "recall_id"
    assert (await tenant.engine.get(tenant.principal, memory.id)).utility == 0.5


async def test_a_memory_that_the_recall_did_not_return_is_refused(tenant: Tenant) -> None:
    await tenant.encode("The deploy key is rotated in May")
    answer = await tenant.recall("deploy key")
    later = await tenant.encode("The deploy window is on Friday")
    with pytest.raises(InvalidInputError):
        await mark(tenant, later, useful=True, recall_id=answer.recall_id)


async def test_a_recall_of_another_namespace_is_not_found(tenant: Tenant) -> None:
    await tenant.encode("The deploy key is rotated in May")
    answer = await tenant.recall("deploy key")
    elsewhere = await tenant.encode("The deploy key is rotated in May", namespace="elsewhere")
    with pytest.raises(NotFoundError):
        await mark(tenant, elsewhere, useful=True, recall_id=answer.recall_id)


async def test_an_idempotency_key_makes_feedback_without_a_recall_count_once(tenant: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May")
    given = Feedback(memory.id, useful=True)
    await tenant.engine.learning.feedback(tenant.principal, given, once("mark"))
    again = await tenant.engine.learning.feedback(tenant.principal, given, once("mark"))
    assert isinstance(again, Replay)
    assert (await tenant.engine.get(tenant.principal, memory.id)).utility == pytest.approx(0.6)
    with pytest.raises(ConflictError):
        await tenant.engine.learning.feedback(tenant.principal, given, once("mark", b"another request"))


async def factor_of(tenant: Tenant, memory: Memory, query: str) -> float:
    """Read the dampening of one memory in a recall that leaves no trace."""
    answer = await tenant.recall(query, learn=False, explain=True)
    return next(hit.factors["dampening"] for hit in answer.candidates if hit.memory.id == memory.id)


async def test_two_unhelpful_marks_dampen_a_memory_for_such_queries_alone(tenant: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May")
    await mark(tenant, memory, useful=False, query="when is the key rotated")
    assert await factor_of(tenant, memory, "when is the key rotated") == 1.0
    answer = await tenant.recall("when is the key rotated")
    assert (await mark(tenant, memory, useful=False, recall_id=answer.recall_id)).dampening == 0.5
    assert await factor_of(tenant, memory, "when is the key rotated") == 0.5
    assert await factor_of(tenant, memory, "who owns the deploy") == 1.0
    await mark(tenant, memory, useful=True, query="when is the key rotated")
    assert await factor_of(tenant, memory, "when is the key rotated") == 1.0


async def test_a_dampened_memory_falls_behind_and_is_still_there(tenant: Tenant) -> None:
    first = await tenant.encode("The deploy key is rotated in May")
    await tenant.encode("The deploy window is in June")
    query = "deploy key rotated in May"
    assert (await tenant.recalled(query, learn=False))[0] == first.id
    for _ in range(6):
        factor = await tenant.engine.learning.dampen(tenant.principal, first.id, query)
    assert factor == 0.1
    found = await tenant.recall(query, learn=False)
    assert first.id in [hit.memory.id for hit in found.hits]
    assert found.hits[0].memory.id != first.id


async def test_an_edited_memory_stays_dampened_and_a_forgotten_one_leaves_nothing(tenant: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May")
    await tenant.engine.learning.dampen(tenant.principal, memory.id, "key rotated")
    await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"content": "The key is rotated in June"}))
    assert await factor_of(tenant, memory, "key rotated") == 0.5
    await tenant.engine.forget(tenant.principal, memory.id)
    assert await tenant.fetch("select 1 from dampenings") == []


async def test_a_hundred_careless_rounds_pin_nothing(tenant: Tenant) -> None:
    seed, reached = await two_turns(tenant)
    for _ in range(100):
        answer = await tenant.recall("deploy key rotated")
        for memory in (seed, reached):
            await mark(tenant, memory, useful=True, recall_id=answer.recall_id)
    for memory in (seed, reached):
        found = await tenant.engine.get(tenant.principal, memory.id)
        assert 0.01 <= found.utility <= 0.99
        assert 0.01 <= found.salience <= 0.99
    before = await weight(tenant, seed, reached)
    assert before <= 1.0
    answer = await tenant.recall("deploy key rotated")
    back = await mark(tenant, reached, useful=False, recall_id=answer.recall_id)
    assert back.utility < 0.8
    page = await tenant.engine.neighbors(tenant.principal, seed.id)
    assert all(0.01 <= neighbor.edge.weight <= 1.0 for neighbor in page.items)
    crossed = {hit.memory.id: hit.path for hit in answer.hits}[reached.id]
    assert await weight(tenant, seed, reached, crossed[-1].edge_type) < crossed[-1].weight
