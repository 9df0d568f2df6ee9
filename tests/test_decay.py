"""A policy moves, archives and deletes what it says and nothing else, in steps that can be broken off."""

from typing import Any

import pytest

from memoria import decay
from memoria.decay import Counts, apply_policy, foresee_policy
from memoria.errors import ConflictError, ForbiddenError, InvalidInputError
from memoria.records import Filters, Memory, MemoryPatch, NewMemory, Policy, PolicyChanges, PruneResult, Replay
from memoria.vocabulary import MemoryState, Scope, Tier
from tests.invariants import broken_invariants
from tests.tenants import Tenant, once

pytestmark = pytest.mark.anyio

LONG = "\n\n".join(f"Chapter {number} tells how server {number} was moved. " * 30 for number in range(4))


async def read(tenant: Tenant, memory: Memory) -> Memory:
    return await tenant.engine.get(tenant.principal, memory.id)


async def prune(tenant: Tenant, *, dry_run: bool = False, namespace: str | None = None, **changes: Any) -> PruneResult:
    result = await tenant.engine.upkeep.prune(
        tenant.principal, PolicyChanges(changes), dry_run=dry_run, namespace=namespace
    )
    assert isinstance(result, PruneResult)
    return result


async def events(tenant: Tenant, memory: Memory) -> list[Any]:
    return [(entry.event, entry.fields) for entry in await tenant.engine.history(tenant.principal, memory.id)]


async def use(tenant: Tenant, query: str, times: int) -> None:
    for _ in range(times):
        await tenant.recall(query, limit=1)
    await tenant.engine.write_lessons()


async def test_what_is_used_goes_up_and_its_history_says_why(tenant: Tenant) -> None:
    memory = await tenant.encode("The gateway is restarted by hand", salience=0.3)
    assert memory.tier is Tier.BUFFER
    await use(tenant, memory.content, 2)
    result = await prune(tenant)
    assert (result.moved_up, result.moved_down, result.archived, result.remaining) == (1, 0, 0, 1)
    assert (await read(tenant, memory)).tier is Tier.EPISODIC
    why = "salience 0.3, 2 accesses, utility 0.5"
    assert await events(tenant, memory) == [("migrated", {"from": "Buffer", "to": "Episodic", "why": why})]
    assert await prune(tenant) == PruneResult(tenant.principal.own_namespace, 0, 0, 0, 0, 1, dry_run=False)


async def test_what_lies_idle_leaves_recall_and_can_be_restored(tenant: Tenant) -> None:
    memory = await tenant.encode("Lunch was late on Tuesday")
    tenant.clock.advance(days=39)
    assert (await prune(tenant)).archived == 0
    tenant.clock.advance(days=1)
    assert (await prune(tenant)).archived == 1
    assert (await read(tenant, memory)).state is MemoryState.ARCHIVED
    assert await tenant.recalled(memory.content, learn=False) == []
    assert await tenant.recalled(memory.content, include=("archived",), learn=False) == [memory.id]
    ((event, fields),) = await events(tenant, memory)
    assert (event, fields["state_before"], fields["by"]) == ("archived", "active", "policy")
    assert fields["why"] == "40.0 days without use leave a retention of 0.0475, below 0.05"
    await tenant.engine.restore(tenant.principal, memory.id)
    assert await tenant.recalled(memory.content, learn=False) == [memory.id]
    assert (await prune(tenant)).archived == 0
    tenant.clock.advance(days=39)
    assert (await prune(tenant)).archived == 0
    assert await broken_invariants(tenant) == {}


async def test_what_is_pinned_sure_or_code_is_left_alone(tenant: Tenant) -> None:
    kept = [
        await tenant.encode("The vault key is with Nadia", pinned=True),
        await tenant.encode("Billing runs on port 8443", confidence=0.9),
        await tenant.encode("def restart(): ...", type="Code"),
    ]
    sure_enough = await tenant.encode("It may have rained", confidence=0.89)
    tenant.clock.advance(days=4000)
    result = await prune(tenant, max_memories=1)
    assert (result.archived, result.remaining) == (1, 2)
    assert [(await read(tenant, memory)).state for memory in kept] == [MemoryState.ACTIVE] * 3
    assert (await read(tenant, sure_enough)).state is MemoryState.ARCHIVED


async def test_a_memory_falls_one_step_a_day(tenant: Tenant) -> None:
    memory = await tenant.encode("An old aside", type="core", salience=0.1)
    tenant.clock.advance(days=731)
    seen = []
    for _ in range(8):
        await prune(tenant)
        await prune(tenant)
        seen.append((await read(tenant, memory)).tier)
        tenant.clock.advance(hours=13)
    assert seen == [Tier.SEMANTIC] * 2 + [Tier.EPISODIC] * 2 + [Tier.BUFFER] * 4
    assert (await read(tenant, memory)).state is MemoryState.ARCHIVED
    names = [event for event, _ in await events(tenant, memory)]
    assert names == ["migrated", "migrated", "migrated", "archived"]


async def test_parts_follow_their_document_and_keep_it_fresh(tenant: Tenant) -> None:
    (stored,) = await tenant.encode_batch([NewMemory(LONG, chunk=True, salience=0.2)])
    parts = [await tenant.engine.get(tenant.principal, part) for part in stored.chunk_ids]
    assert len(parts) > 1
    assert {(part.tier, part.salience) for part in parts} == {(stored.memory.tier, 0.2)}
    tenant.clock.advance(days=30)
    await tenant.recall(parts[0].content, limit=1)
    await tenant.engine.write_lessons()
    tenant.clock.advance(days=20)
    assert (await prune(tenant)).archived == 0
    await use(tenant, parts[0].content, 1)
    assert await prune(tenant) == PruneResult(tenant.principal.own_namespace, 1, 0, 0, 0, 1, dry_run=False)
    assert (await read(tenant, stored.memory)).access_count == 2
    assert {(await read(tenant, part)).tier for part in parts} == {Tier.EPISODIC}
    assert len(await tenant.listed(Filters(tiers=(Tier.EPISODIC,)))) == len(parts) + 1
    for _ in range(2):
        tenant.clock.advance(days=61)
        await prune(tenant)
    assert {(await read(tenant, part)).state for part in (stored.memory, *parts)} == {MemoryState.ARCHIVED}
    await tenant.engine.restore(tenant.principal, stored.memory.id)
    assert {(await read(tenant, part)).state for part in parts} == {MemoryState.ACTIVE}
    assert await broken_invariants(tenant) == {}


async def test_a_part_is_neither_archived_nor_restored_by_itself(tenant: Tenant) -> None:
    (stored,) = await tenant.encode_batch([NewMemory(LONG, chunk=True)])
    for act in (tenant.engine.archive, tenant.engine.restore):
        with pytest.raises(ConflictError):
            await act(tenant.principal, stored.chunk_ids[0])


async def test_an_edit_of_a_document_keeps_its_parts_in_its_tier(tenant: Tenant) -> None:
    (stored,) = await tenant.encode_batch([NewMemory(LONG, chunk=True, type="core", salience=0.1)])
    await tenant.engine.update(tenant.principal, stored.memory.id, MemoryPatch({"content": LONG + " The end."}))
    rows = await tenant.fetch("select tier, salience from memories where part_of = $1", stored.memory.id)
    assert {(row["tier"], row["salience"]) for row in rows} == {("Core", 0.1)}


async def test_over_the_limit_the_least_retained_are_archived(tenant: Tenant) -> None:
    memories = []
    for number in range(6):
        tenant.clock.advance(days=1)
        memories.append(await tenant.encode(f"Note {number}", salience=0.1 * number, pinned=number == 0))
    result = await prune(tenant, max_memories=3)
    assert (result.archived, result.remaining) == (3, 3)
    states = [(await read(tenant, memory)).state for memory in memories]
    assert states == [MemoryState.ACTIVE] + [MemoryState.ARCHIVED] * 3 + [MemoryState.ACTIVE] * 2
    ((_, fields),) = await events(tenant, memories[1])
    assert fields["why"] == "the namespace held more than 3 memories"
    await tenant.engine.restore(tenant.principal, memories[1].id)
    await prune(tenant, max_memories=3)
    assert (await read(tenant, memories[1])).state is MemoryState.ACTIVE
    assert (await prune(tenant, max_memories=1)).remaining == 1


async def test_archived_memories_are_deleted_only_when_asked_for(tenant: Tenant) -> None:
    old = await tenant.encode("The old door code")
    pinned = await tenant.encode("The first contract", pinned=True)
    for memory in (old, pinned):
        await tenant.engine.archive(tenant.principal, memory.id)
    tenant.clock.advance(days=400)
    assert (await prune(tenant)).deleted == 0
    assert (await prune(tenant, delete_archived_after_days=500)).deleted == 0
    assert (await prune(tenant, delete_archived_after_days=30, dry_run=True)).deleted == 1
    assert (await prune(tenant, delete_archived_after_days=30)).deleted == 1
    assert await tenant.listed(include=("archived",)) == [pinned.id]
    assert await broken_invariants(tenant) == {}


async def test_what_the_policy_archives_is_not_deleted_in_the_same_breath(tenant: Tenant) -> None:
    await tenant.encode("A passing remark")
    tenant.clock.advance(days=400)
    result = await prune(tenant, delete_archived_after_days=1)
    assert (result.archived, result.deleted) == (1, 0)


async def test_a_dry_run_says_what_a_run_does_and_changes_nothing(tenant: Tenant) -> None:
    risen = await tenant.encode("The pager is loud")
    for number in range(12):
        await tenant.encode(f"Idle talk {number}", salience=0.1)
    await tenant.encode("Keep this", pinned=True)
    asides = [await tenant.encode(f"Aside {number}", type="Procedural", salience=0.2) for number in range(3)]
    tenant.clock.advance(days=61)
    await use(tenant, risen.content, 2)
    fresh = [await tenant.encode(f"News {number}") for number in range(4)]
    before = await tenant.fetch("select memory_id, tier, state, updated_at from memories order by 1")
    foreseen = await prune(tenant, dry_run=True, max_memories=6)
    assert await tenant.fetch("select memory_id, tier, state, updated_at from memories order by 1") == before
    done = await prune(tenant, max_memories=6)
    assert (foreseen.moved_up, foreseen.moved_down, foreseen.archived, foreseen.remaining) == (1, 3, 15, 6)
    assert done == PruneResult(done.namespace, 1, 3, 15, 0, 6, dry_run=False)
    assert {(await read(tenant, aside)).state for aside in asides} == {MemoryState.ARCHIVED}
    assert {(await read(tenant, memory)).state for memory in fresh} == {MemoryState.ACTIVE}


async def test_an_expired_memory_is_no_affair_of_the_policy(tenant: Tenant) -> None:
    await tenant.encode("Only for today", ttl_seconds=60)
    tenant.clock.advance(days=300)
    assert await prune(tenant) == PruneResult(tenant.principal.own_namespace, 0, 0, 0, 0, 0, dry_run=False)


async def test_a_run_goes_on_after_its_last_step(tenant: Tenant) -> None:
    await tenant.encode_batch([NewMemory(f"Idle talk {number}") for number in range(25)])
    now = tenant.clock.advance(days=50)
    namespace_id = (await tenant.fetch("select namespace_id from namespaces"))[0][0]
    after, done, steps = 0, False, []
    while not done:
        async with tenant.database.tenant(tenant.principal.org_id) as connection:
            step = await apply_policy(
                connection, tenant.principal.org_id, namespace_id, Policy(), now, after=after, limit=10
            )
        after, done = step.after, step.done
        steps.append(step.counts.archived)
    assert steps == [10, 10, 5]
    async with tenant.database.tenant(tenant.principal.org_id) as connection:
        assert await foresee_policy(connection, tenant.principal.org_id, namespace_id, Policy(), now) == Counts()


async def test_what_is_used_after_the_run_began_stays(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = await tenant.encode("The fallback region")
    now = tenant.clock.advance(days=50)
    principal, looked = tenant.principal, decay.standings.read_standings

    async def look_then_wait(*arguments: Any, **options: Any) -> Any:
        found = await looked(*arguments, **options)
        tenant.clock.advance(seconds=1)
        await use(tenant, memory.content, 1)
        return found

    monkeypatch.setattr(decay.standings, "read_standings", look_then_wait)
    namespace_id = (await tenant.fetch("select namespace_id from namespaces"))[0][0]
    async with tenant.database.tenant(principal.org_id) as connection:
        step = await apply_policy(connection, principal.org_id, namespace_id, Policy(), now)
    assert step.counts == Counts()
    assert (await read(tenant, memory)).state is MemoryState.ACTIVE
    assert await events(tenant, memory) == []


async def test_sending_an_archived_memory_again_restores_it(tenant: Tenant) -> None:
    memory = await tenant.encode("The canary has its own queue")
    tenant.clock.advance(days=50)
    await prune(tenant)
    again = await tenant.engine.encode(tenant.principal, NewMemory(memory.content))
    assert not isinstance(again, Replay)
    assert (again.memory.id, again.duplicate, again.memory.state) == (memory.id, True, MemoryState.ACTIVE)
    assert await tenant.recalled(memory.content, learn=False) == [memory.id]
    restored = (await events(tenant, memory))[-1]
    assert restored == ("restored", {"state_before": "archived", "why": "the same content was sent again"})
    assert (await prune(tenant)).archived == 0


async def test_what_was_superseded_comes_back_superseded(tenant: Tenant) -> None:
    memory = await tenant.encode("We deploy on Fridays")
    tenant.clock.advance(days=1)
    await tenant.encode("We deploy on Thursdays now", pinned=True)
    tenant.clock.advance(days=50)
    assert (await prune(tenant)).archived == 1
    assert (await tenant.engine.restore(tenant.principal, memory.id)).state is MemoryState.SUPERSEDED


async def test_an_edit_counts_as_use(tenant: Tenant) -> None:
    memory = await tenant.encode("The pool has 10 connections")
    tenant.clock.advance(days=38)
    await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"tags": ("pool",)}))
    tenant.clock.advance(days=38)
    assert (await prune(tenant)).archived == 0


async def test_a_policy_is_its_namespaces_own(tenant: Tenant) -> None:
    upkeep, principal = tenant.engine.upkeep, tenant.principal
    assert (await upkeep.policy(principal, "a")).policy == Policy()
    changes = PolicyChanges({"half_life_days": {"buffer": 70}, "max_memories": 9, "delete_archived_after_days": 7})
    changed = (await upkeep.set_policy(principal, changes, namespace="a")).policy
    assert changed.half_life_days == Policy().half_life_days | {Tier.BUFFER: 70}
    assert (changed.max_memories, changed.delete_archived_after_days, changed.enabled) == (9, 7, True)
    assert (await upkeep.policy(principal, "a")).policy == changed
    assert (await upkeep.policy(principal, "b")).policy == Policy()
    for name in ("a", "b"):
        await tenant.encode("Idle talk", namespace=name)
    tenant.clock.advance(days=50)
    assert [(await prune(tenant, namespace=name)).archived for name in ("a", "b")] == [0, 1]
    assert (await prune(tenant, namespace="a", half_life_days={"Buffer": 7})).archived == 1
    assert (await upkeep.set_policy(principal, PolicyChanges(), namespace="a")).policy == Policy()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"half_life_days": {"Buffer": 0}}, "half_life_days.Buffer"),
        ({"half_life_days": {"Attic": 7}}, "half_life_days"),
        ({"half_life_days": None}, "half_life_days"),
        ({"prune_threshold": 1.0}, "prune_threshold"),
        ({"prune_threshold": float("nan")}, "prune_threshold"),
        ({"max_memories": 0}, "max_memories"),
        ({"delete_archived_after_days": 0}, "delete_archived_after_days"),
        ({"enabled": None}, "enabled"),
        ({"keep_everything": True}, "keep_everything"),
    ],
)
async def test_a_policy_out_of_bounds_is_refused(tenant: Tenant, changes: dict[str, Any], field: str) -> None:
    for call in (
        tenant.engine.upkeep.set_policy(tenant.principal, PolicyChanges(changes)),
        tenant.engine.upkeep.prune(tenant.principal, PolicyChanges(changes)),
    ):
        with pytest.raises(InvalidInputError) as caught:
            await call
        assert caught.value.details["field"] == field


async def test_who_may_change_a_policy_and_who_may_apply_it(tenant: Tenant) -> None:
    writer = tenant.as_principal(scopes=frozenset({Scope.READ, Scope.WRITE}))
    with pytest.raises(ForbiddenError):
        await writer.engine.upkeep.set_policy(writer.principal, PolicyChanges())
    assert (await prune(writer)).remaining == 0
    reader = tenant.as_principal(scopes=frozenset({Scope.READ}))
    assert (await reader.engine.upkeep.policy(reader.principal)).policy == Policy()
    with pytest.raises(ForbiddenError):
        await prune(reader, dry_run=True)


async def test_a_prune_with_a_key_is_done_once(tenant: Tenant) -> None:
    await tenant.encode("Idle talk")
    tenant.clock.advance(days=50)
    upkeep, principal = tenant.engine.upkeep, tenant.principal
    first = await upkeep.prune(principal, PolicyChanges(), once=once("prune"))
    assert isinstance(first, PruneResult)
    assert isinstance(await upkeep.prune(principal, PolicyChanges(), once=once("prune")), Replay)
    with pytest.raises(ConflictError):
        await upkeep.prune(principal, PolicyChanges({"max_memories": 1}), once=once("prune", b"another"))


async def test_another_organization_has_policies_and_memories_of_its_own(tenant: Tenant, other: Tenant) -> None:
    for each in (tenant, other):
        await each.encode("Idle talk", namespace="shared")
    await other.engine.upkeep.set_policy(other.principal, PolicyChanges({"prune_threshold": 0.9}), namespace="shared")
    assert (await tenant.engine.upkeep.policy(tenant.principal, "shared")).policy == Policy()
    tenant.clock.advance(days=50)
    assert (await prune(other, namespace="shared")).archived == 1
    assert (await prune(tenant, namespace="shared", dry_run=True)).archived == 1
    with pytest.raises(ForbiddenError):
        await prune(other, namespace=tenant.principal.own_namespace)
