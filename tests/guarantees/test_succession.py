"""What has changed is superseded, what differs is contradicted, and neither is lost: whichever door it came through."""

import asyncio
from datetime import timedelta

import pytest

from memoria.embedding import Embedder
from memoria.engine import Engine
from memoria.records import Memory, MemoryPatch, NewMemory, PolicyChanges
from memoria.vocabulary import CONTRADICTED_FACTOR, SUPERSEDED_FACTOR, EdgeType, MemoryState
from tests.invariants import broken_invariants
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio

FRIDAYS = "We deploy on Fridays"
THURSDAYS_NOW = "We deploy on Thursdays now"
QUESTION = "When do we deploy?"


@pytest.fixture
async def team(tenant: Tenant, minilm_embedder: Embedder) -> Tenant:
    """Be a tenant whose memories are embedded by the bundled model."""
    return Tenant(Engine(tenant.database, minilm_embedder, tenant.clock), tenant.principal, tenant.clock)


async def read(team: Tenant, memory: Memory) -> Memory:
    return await team.engine.get(team.principal, memory.id)


async def factor(team: Tenant, memory: Memory, name: str) -> float:
    recall = await team.recall(QUESTION, explain=True, learn=False)
    return next(hit.factors[name] for hit in recall.candidates if hit.memory.id == memory.id)


async def edges_of(team: Tenant, memory: Memory) -> set[tuple[EdgeType, bool]]:
    page = await team.engine.neighbors(team.principal, memory.id)
    return {(neighbor.edge.type, neighbor.outgoing) for neighbor in page.items}


async def test_a_stated_change_supersedes_what_was(team: Tenant) -> None:
    old = await team.encode(FRIDAYS)
    team.clock.advance(days=1)
    new = await team.encode(THURSDAYS_NOW)
    assert (await read(team, old)).state is MemoryState.SUPERSEDED
    assert await factor(team, old, "superseded") == SUPERSEDED_FACTOR
    assert (await team.recalled(QUESTION))[0] == new.id
    assert (EdgeType.SUPERSEDES, True) in await edges_of(team, new)
    [event] = [each for each in await team.engine.history(team.principal, old.id) if each.event == "superseded"]
    assert event.fields["state_before"] == "active"
    assert await broken_invariants(team) == {}


async def test_another_value_contradicts_the_older_one(team: Tenant) -> None:
    old = await team.encode(FRIDAYS)
    team.clock.advance(days=1)
    new = await team.encode("We deploy on Thursdays")
    assert (await read(team, old)).state is MemoryState.ACTIVE
    assert await factor(team, old, "contradicted") == CONTRADICTED_FACTOR
    assert await factor(team, new, "contradicted") == 1.0
    assert (await team.recalled(QUESTION))[:2] == [new.id, old.id]


async def test_in_one_batch_the_later_line_wins(team: Tenant) -> None:
    old, new = await team.encode_batch([NewMemory(FRIDAYS), NewMemory(THURSDAYS_NOW)])
    assert (await read(team, old.memory)).state is MemoryState.SUPERSEDED
    assert (await read(team, new.memory)).state is MemoryState.ACTIVE


async def test_the_answer_to_the_write_names_what_it_denies(team: Tenant) -> None:
    old, new = await team.encode_batch([NewMemory(FRIDAYS), NewMemory(THURSDAYS_NOW)])
    other, again = await team.encode_batch([NewMemory("We deploy on Mondays"), NewMemory(FRIDAYS)])
    assert (old.supersedes, old.contradicts) == ((), ())
    assert (new.supersedes, new.contradicts) == ((old.memory.id,), ())
    assert (other.supersedes, other.contradicts) == ((), (new.memory.id,))
    assert again.duplicate
    assert (again.supersedes, again.contradicts) == ((), ())


async def test_what_arrives_late_about_an_earlier_time_takes_nobodys_place(team: Tenant) -> None:
    current = await team.encode(THURSDAYS_NOW)
    late = await team.encode(FRIDAYS, occurred_at=team.clock() - timedelta(days=365))
    assert (await read(team, current)).state is MemoryState.ACTIVE
    assert (await read(team, late)).state is MemoryState.SUPERSEDED


async def test_an_edit_to_a_change_supersedes_too(team: Tenant) -> None:
    old = await team.encode(FRIDAYS)
    team.clock.advance(days=1)
    note = await team.encode("Lunch is at noon")
    await team.engine.update(team.principal, note.id, MemoryPatch({"content": THURSDAYS_NOW}))
    assert (await read(team, old)).state is MemoryState.SUPERSEDED


@pytest.mark.parametrize("leaving", ["forgotten", "archived", "edited", "matched"])
async def test_the_older_one_is_back_in_force_when_the_newer_one_leaves(team: Tenant, leaving: str) -> None:
    old = await team.encode(FRIDAYS)
    team.clock.advance(days=1)
    new = await team.encode(THURSDAYS_NOW, context={"topic": "deploys"})
    if leaving == "forgotten":
        await team.engine.forget(team.principal, new.id)
    elif leaving == "archived":
        await team.engine.archive(team.principal, new.id)
    elif leaving == "matched":
        await team.engine.delete_by_context(team.principal, "topic", "deploys")
    else:
        await team.engine.update(team.principal, new.id, MemoryPatch({"content": "Lunch is at noon"}))
    assert (await read(team, old)).state is MemoryState.ACTIVE
    assert await factor(team, old, "superseded") == 1.0
    assert await broken_invariants(team) == {}


async def test_what_a_policy_archives_gives_its_place_back_until_it_is_sent_again(team: Tenant) -> None:
    old = await team.encode(FRIDAYS, pinned=True)
    team.clock.advance(days=1)
    new = await team.encode(THURSDAYS_NOW)
    await team.engine.upkeep.set_policy(team.principal, PolicyChanges({"max_memories": 1}))
    await team.engine.upkeep.prune(team.principal, PolicyChanges({}))
    assert (await read(team, new)).state is MemoryState.ARCHIVED
    assert (await read(team, old)).state is MemoryState.ACTIVE
    again = await team.encode(THURSDAYS_NOW)
    assert again.id == new.id
    assert (await read(team, old)).state is MemoryState.SUPERSEDED
    assert await broken_invariants(team) == {}


@pytest.mark.parametrize("changed", [THURSDAYS_NOW, "We deploy on Thursdays"])
async def test_a_change_for_a_time_is_over_when_it_expires(team: Tenant, changed: str) -> None:
    old = await team.encode(FRIDAYS)
    team.clock.advance(days=1)
    await team.encode(changed, ttl_seconds=3600)
    assert await factor(team, old, "superseded") * await factor(team, old, "contradicted") < 1.0
    team.clock.advance(hours=2)
    assert await factor(team, old, "superseded") * await factor(team, old, "contradicted") == 1.0


async def test_a_restored_change_supersedes_again(team: Tenant) -> None:
    old = await team.encode(FRIDAYS)
    team.clock.advance(days=1)
    new = await team.encode(THURSDAYS_NOW)
    await team.engine.archive(team.principal, new.id)
    await team.engine.restore(team.principal, new.id)
    assert (await read(team, old)).state is MemoryState.SUPERSEDED


async def test_a_contradiction_ends_with_the_memory_that_contradicts(team: Tenant) -> None:
    old = await team.encode(FRIDAYS)
    team.clock.advance(days=1)
    new = await team.encode("We deploy on Thursdays")
    await team.engine.archive(team.principal, new.id)
    assert await factor(team, old, "contradicted") == 1.0


async def test_a_chain_of_changes_leaves_the_last_one(team: Tenant) -> None:
    days = ["We deploy on Fridays", THURSDAYS_NOW, "We deploy on Mondays now"]
    stored = []
    for text in days:
        stored.append(await team.encode(text))
        team.clock.advance(days=1)
    assert [(await read(team, each)).state for each in stored] == [
        MemoryState.SUPERSEDED,
        MemoryState.SUPERSEDED,
        MemoryState.ACTIVE,
    ]
    await team.engine.forget(team.principal, stored[2].id)
    assert (await read(team, stored[1])).state is MemoryState.ACTIVE
    assert (await read(team, stored[0])).state is MemoryState.SUPERSEDED


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"project": "shop"}, {"project": "bank"}),
        ({"context": {"user_id": "ada"}}, {"context": {"user_id": "grace"}}),
        ({"namespace": "code/one"}, {"namespace": "code/two"}),
        ({"type": "Code"}, {"type": "Code"}),
    ],
)
async def test_other_projects_people_and_namespaces_and_code_are_left_alone(
    team: Tenant, first: dict[str, object], second: dict[str, object]
) -> None:
    old = await team.encode(FRIDAYS, **first)
    team.clock.advance(days=1)
    await team.encode(THURSDAYS_NOW, **second)
    assert (await read(team, old)).state is MemoryState.ACTIVE


async def test_another_conversation_about_the_same_thing_counts(team: Tenant) -> None:
    old = await team.encode(FRIDAYS, context={"session_id": "one"})
    team.clock.advance(days=1)
    await team.encode(THURSDAYS_NOW, context={"session_id": "two"})
    assert (await read(team, old)).state is MemoryState.SUPERSEDED


async def test_another_tenants_change_changes_nothing(team: Tenant, other: Tenant, minilm_embedder: Embedder) -> None:
    old = await team.encode(FRIDAYS, namespace="shared-name")
    theirs = Engine(other.database, minilm_embedder, other.clock)
    await theirs.encode(other.principal, NewMemory(THURSDAYS_NOW, namespace="shared-name"))
    assert (await read(team, old)).state is MemoryState.ACTIVE


async def test_changes_that_arrive_at_once_leave_no_half_of_anything(team: Tenant) -> None:
    old = await team.encode(FRIDAYS)
    team.clock.advance(days=1)
    days = ["Mondays", "Tuesdays", "Wednesdays", "Thursdays"]
    await asyncio.gather(*(team.encode(f"We deploy on {day} now") for day in days))
    assert (await read(team, old)).state is MemoryState.SUPERSEDED
    events = await team.engine.history(team.principal, old.id)
    assert [each.event for each in events].count("superseded") == 1
    assert await broken_invariants(team) == {}


async def test_a_look_back_returns_what_was_valid_then(team: Tenant) -> None:
    old = await team.encode(FRIDAYS)
    then = team.clock()
    team.clock.advance(days=30)
    new = await team.encode(THURSDAYS_NOW)
    team.clock.advance(days=30)
    assert await team.recalled(QUESTION, at=then) == [old.id]
    assert await team.recalled(QUESTION, at=team.clock()) == [new.id]
    assert await team.recalled(QUESTION, at=then - timedelta(seconds=1)) == []
    looked = await team.recall(QUESTION, at=then, explain=True)
    assert looked.hits[0].factors["superseded"] == 1.0


async def test_a_look_back_teaches_nothing(team: Tenant) -> None:
    old = await team.encode(FRIDAYS)
    before = await read(team, old)
    await team.recall(QUESTION, at=team.clock())
    await team.engine.write_lessons()
    assert await read(team, old) == before


async def test_what_had_not_expired_then_is_found_by_a_look_back(team: Tenant) -> None:
    note = await team.encode(FRIDAYS, ttl_seconds=60)
    then = team.clock()
    team.clock.advance(hours=1)
    assert await team.recalled(QUESTION) == []
    assert await team.recalled(QUESTION, at=then) == [note.id]
