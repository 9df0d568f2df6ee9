"""Learning counts each lesson once, stays within its organization, and leaves no trace where none is wanted."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest

from memoria.edges import NewEdge
from memoria.engine import Engine
from memoria.errors import ForbiddenError, NotFoundError
from memoria.records import Memory, Principal, Recall
from memoria.reward import Feedback, FeedbackResult
from memoria.vocabulary import EdgeType, Scope
from tests.invariants import broken_invariants
from tests.people import Person
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio

QUERY = "when is the deploy key rotated"
TABLES = """
    select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'org_id'
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and has_table_privilege(c.oid, 'select') order by 1
"""
Verb = Callable[[Engine, Principal, int], Awaitable[Any]]
VERBS: dict[str, Verb] = {
    "feedback": lambda engine, who, memory_id: engine.learning.feedback(who, Feedback(memory_id, useful=True)),
    "dampen": lambda engine, who, memory_id: engine.learning.dampen(who, memory_id, QUERY),
    "link": lambda engine, who, memory_id: engine.learning.link(who, NewEdge(memory_id, 1, EdgeType.CAUSAL, 1.0)),
    "unlink": lambda engine, who, memory_id: engine.learning.unlink(who, memory_id, 1, EdgeType.CAUSAL),
}


async def everything(tenant: Tenant) -> dict[str, list[str]]:
    """Read every row of every table of the organization."""
    rows = {}
    for (table,) in await tenant.fetch(TABLES):
        rows[table] = sorted(str(row[0]) for row in await tenant.fetch(f"select t::text from {table} t"))  # noqa: S608
    return rows


async def recalled(tenant: Tenant) -> tuple[Memory, Recall]:
    """Store a memory, and recall it with a trace."""
    memory = await tenant.encode("The deploy key is rotated in May")
    return memory, await tenant.recall(QUERY)


async def mark(tenant: Tenant, memory: Memory, recall: Recall, *, useful: bool = True) -> FeedbackResult:
    """Give feedback on a result."""
    given = Feedback(memory.id, useful, recall.recall_id)
    answer = await tenant.engine.learning.feedback(tenant.principal, given)
    assert isinstance(answer, FeedbackResult)
    return answer


async def test_a_recall_that_shall_not_learn_leaves_no_row_in_any_table(tenant: Tenant) -> None:
    await tenant.encode("The deploy key is rotated in May", context={"session_id": "s"})
    await tenant.encode("Nobody knows why", context={"session_id": "s"})
    before = await everything(tenant)
    assert before["memories"]
    for explain in (False, True):
        tenant.clock.advance(minutes=1)
        assert (await tenant.recall(QUERY, learn=False, explain=explain)).hits
    await tenant.engine.write_lessons()
    assert await everything(tenant) == before
    await tenant.recall(QUERY)
    await tenant.engine.write_lessons()
    after = await everything(tenant)
    assert {table for table in after if after[table] != before[table]} == {"memories", "edges", "recalls"}


async def test_feedback_counts_once_for_a_result_of_a_recall(tenant: Tenant) -> None:
    memory, recall = await recalled(tenant)
    assert (await mark(tenant, memory, recall)).counted
    before = await everything(tenant)
    for useful in (True, False):
        again = await mark(tenant, memory, recall, useful=useful)
        assert (again.counted, again.prediction_error) == (False, 0.0)
        assert again.utility == pytest.approx(0.6)
    assert await everything(tenant) == before


async def test_feedback_given_at_the_same_time_by_two_keys_counts_once(tenant: Tenant) -> None:
    memory, recall = await recalled(tenant)
    colleague = tenant.as_principal(key_id=uuid4())
    answers = await asyncio.gather(*(mark(who, memory, recall) for who in (tenant, colleague) for _ in range(5)))
    assert [answer.counted for answer in answers].count(True) == 1
    assert (await tenant.engine.get(tenant.principal, memory.id)).utility == pytest.approx(0.6)


async def test_feedback_on_several_recalls_at_the_same_time_adds_up(tenant: Tenant) -> None:
    memory = await tenant.encode("The deploy key is rotated in May")
    colleague = tenant.as_principal(key_id=uuid4())
    pairs = [(who, await who.recall(QUERY)) for who in (tenant, colleague) for _ in range(4)]
    answers = await asyncio.gather(*(mark(who, memory, recall) for who, recall in pairs))
    assert all(answer.counted for answer in answers)
    expected = 1 - 0.5 * 0.8 ** len(pairs)
    assert (await tenant.engine.get(tenant.principal, memory.id)).utility == pytest.approx(expected)
    assert await broken_invariants(tenant) == {}


async def test_feedback_beside_recalls_and_their_lessons_loses_nothing(tenant: Tenant) -> None:
    memories = [await tenant.encode(f"The deploy key {n} is rotated", context={"session_id": "s"}) for n in range(5)]
    recalls = [await tenant.recall("deploy key rotated") for _ in range(6)]
    marking = [mark(tenant, memory, recall) for recall in recalls for memory in memories]
    answers = await asyncio.gather(*marking, *(tenant.engine.write_lessons() for _ in range(5)))
    assert all(answer.counted for answer in answers if answer is not None)
    for memory in memories:
        found = await tenant.engine.get(tenant.principal, memory.id)
        assert found.access_count == len(recalls)
        assert found.utility == pytest.approx(1 - 0.5 * 0.8 ** len(recalls))


async def test_a_recall_of_another_organization_is_one_that_never_was(tenant: Tenant, other: Tenant) -> None:
    _, recall = await recalled(tenant)
    await tenant.engine.write_lessons()
    own = await other.encode("The deploy key is rotated in May")
    tenant.clock.advance(minutes=1)
    told = []
    for recall_id in (recall.recall_id, recall.recall_id + 1):
        with pytest.raises(NotFoundError) as caught:
            await other.engine.learning.feedback(other.principal, Feedback(own.id, True, recall_id))
        told.append((caught.value.message, caught.value.details))
    assert told[0] == told[1]
    assert (await other.engine.get(other.principal, own.id)).utility == 0.5


@pytest.mark.parametrize("verb", VERBS)
async def test_another_organization_teaches_nothing(tenant: Tenant, other: Tenant, verb: str) -> None:
    memory, _ = await recalled(tenant)
    await tenant.engine.write_lessons()
    before = await everything(tenant)
    for memory_id in (memory.id, memory.id + 1):
        with pytest.raises(NotFoundError):
            await VERBS[verb](other.engine, other.principal, memory_id)
    assert await everything(tenant) == before


@pytest.mark.parametrize("verb", VERBS)
async def test_a_key_teaches_within_its_scopes_and_namespaces(tenant: Tenant, verb: str) -> None:
    memory, _ = await recalled(tenant)
    reader = tenant.as_principal(scopes=frozenset({Scope.READ}))
    with pytest.raises(ForbiddenError):
        await VERBS[verb](reader.engine, reader.principal, memory.id)
    bound = tenant.as_principal(namespace_patterns=("support/*",))
    with pytest.raises(NotFoundError):
        await VERBS[verb](bound.engine, bound.principal, memory.id)


async def test_what_one_organization_marked_dampens_nothing_of_another(tenant: Tenant, other: Tenant) -> None:
    for each in (tenant, other):
        await each.encode("The deploy key is rotated in May", namespace="shared/name")
    (memory_id,) = await tenant.recalled(QUERY, namespace="shared/name", learn=False)
    await tenant.engine.learning.dampen(tenant.principal, memory_id, QUERY)
    factors = [
        (await each.recall(QUERY, namespace="shared/name", learn=False, explain=True)).hits[0].factors["dampening"]
        for each in (tenant, other)
    ]
    assert factors == [0.5, 1.0]


async def test_a_reading_key_may_recall_and_not_mark(alice: Person, bob: Person) -> None:
    memory_id = (await alice.client.post("/v1/memories", json={"content": "The deploy key is rotated"})).json()["id"]
    recall = (await bob.client.post("/v1/memories/recall", json={"query": "deploy key"})).json()
    body = {"useful": True, "recall_id": recall["recall_id"]}
    assert (await bob.client.post(f"/v1/memories/{memory_id}/feedback", json=body)).status_code == 403
    assert (await alice.client.post(f"/v1/memories/{memory_id}/feedback", json=body)).json()["counted"]


async def test_a_repeated_feedback_request_is_answered_from_the_first(alice: Person) -> None:
    memory_id = (await alice.client.post("/v1/memories", json={"content": "The deploy key is rotated"})).json()["id"]
    path, headers = f"/v1/memories/{memory_id}/feedback", {"Idempotency-Key": "marked"}
    first, second = [await alice.client.post(path, json={"useful": True}, headers=headers) for _ in range(2)]
    assert first.json() == second.json()
    assert second.headers["idempotency-replayed"] == "true"
    assert (await alice.client.get(f"/v1/memories/{memory_id}")).json()["utility"] == pytest.approx(0.6)
