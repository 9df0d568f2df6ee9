"""Consolidation makes summaries of what repeats and episodes of bursts, and ties together what is used together."""

import asyncio
from datetime import timedelta

import pytest

from memoria import intentions
from memoria.errors import ConflictError, InvalidInputError, NotFoundError
from memoria.records import Filters, MemoryPatch, NewMemory, SearchRequest
from memoria.vocabulary import Detector, EdgeType, MemoryState, MemoryType, Source, Tier
from tests.invariants import broken_invariants
from tests.sleeping import BASE, REPEATED, consolidate, events, made, states, store
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio

TURNS = (
    "The deploy set the gateway timeout to 2 seconds",
    "Card payments began to fail in the shop",
    "Tom rolled the deploy back and the queue drained",
)
CHANGE = "We deploy on Thursdays now"
EDGES = "select source_id, target_id, type, weight from edges where type = $1 order by source_id, target_id"


async def test_what_is_said_three_times_becomes_one_summary(tenant: Tenant) -> None:
    ids = await store(tenant, *REPEATED)
    other = await tenant.encode("Lunch is at noon on the terrace")
    counts = await consolidate(tenant)
    assert (counts.considered, counts.summaries, counts.repeated) == (4, 1, 3)
    [summary] = await made(tenant)
    assert summary.content in REPEATED
    assert (summary.source, summary.type, summary.state) == (Source.SYSTEM, MemoryType.SEMANTIC, MemoryState.ACTIVE)
    assert await states(tenant, [*ids, other.id]) == [MemoryState.SUPERSEDED] * 3 + [MemoryState.ACTIVE]
    edges = await tenant.fetch(EDGES, EdgeType.SUPERSEDES.value)
    assert [(row["source_id"], row["target_id"]) for row in edges] == [(summary.id, memory_id) for memory_id in ids]
    assert (await tenant.recalled("which port has the staging database?"))[0] == summary.id
    assert await broken_invariants(tenant) == {}


async def test_a_summary_says_what_it_was_made_of(tenant: Tenant) -> None:
    ids = await store(tenant, *REPEATED)
    at = tenant.clock.now
    await consolidate(tenant)
    [summary] = await made(tenant)
    provenance = await tenant.engine.consolidation.provenance(tenant.principal, summary.id)
    assert (provenance.detector, provenance.writer, provenance.made_at) == (Detector.REPETITION, "extract", at)
    assert [member.memory_id for member in provenance.members] == ids
    assert {member.state_before for member in provenance.members} == {MemoryState.ACTIVE}
    assert provenance.cosine is not None
    assert 0.92 <= provenance.cosine <= min(member.cosine or 0.0 for member in provenance.members)
    assert await events(tenant, summary.id) == ["consolidated"]
    assert await events(tenant, ids[0]) == ["superseded"]
    with pytest.raises(NotFoundError):
        await tenant.engine.consolidation.provenance(tenant.principal, ids[0])


async def test_a_summary_inherits_what_its_members_share_and_their_best(tenant: Tenant) -> None:
    for place, text in enumerate(REPEATED):
        await tenant.encode(
            text,
            salience=0.3 + place / 10,
            tags=(f"t{place}",),
            category="preference",
            confidence=0.6,
            context={"user_id": "ann", "session_id": f"s{place}"},
        )
        tenant.clock.advance(hours=1)
    await consolidate(tenant)
    [summary] = await made(tenant)
    assert (summary.salience, summary.tags, summary.category) == (0.5, ("t0", "t1", "t2"), "preference")
    assert dict(summary.context) == {"user_id": "ann"}
    assert summary.tier is Tier.SEMANTIC


async def test_a_fourth_repetition_joins_the_summary_that_is_there(tenant: Tenant) -> None:
    ids = await store(tenant, *REPEATED)
    await consolidate(tenant)
    [before] = await made(tenant)
    tenant.clock.advance(days=7)
    [fourth] = await store(tenant, f"{BASE}:")
    counts = await consolidate(tenant)
    assert (counts.summaries, counts.extended, counts.repeated) == (0, 1, 1)
    [after] = await made(tenant)
    assert (after.id, after.content) == (before.id, before.content)
    provenance = await tenant.engine.consolidation.provenance(tenant.principal, after.id)
    assert [member.memory_id for member in provenance.members] == [*ids, fourth]
    assert await states(tenant, [fourth]) == [MemoryState.SUPERSEDED]
    assert await events(tenant, after.id) == ["consolidated", "extended"]
    assert await broken_invariants(tenant) == {}


async def test_only_the_window_is_looked_at_but_compared_with_everything(tenant: Tenant) -> None:
    await store(tenant, *REPEATED[:2])
    tenant.clock.advance(days=3)
    assert (await consolidate(tenant)).considered == 0
    await store(tenant, REPEATED[2])
    assert (await consolidate(tenant)).summaries == 1


async def test_two_are_no_repetition(tenant: Tenant) -> None:
    await store(tenant, *REPEATED[:2])
    assert (await consolidate(tenant)).summaries == 0
    assert await made(tenant) == []


@pytest.mark.parametrize(
    "fields",
    [{"pinned": True}, {"type": "prospective"}, {"ttl_seconds": 10_000_000}, {"chunk": True, "pinned": True}],
    ids=str,
)
async def test_what_must_stay_as_it_is_is_exempt(tenant: Tenant, fields: dict[str, object]) -> None:
    ids = await store(tenant, *REPEATED, **fields)
    assert (await consolidate(tenant)).summaries == 0
    assert set(await states(tenant, ids)) == {MemoryState.ACTIVE}


@pytest.mark.parametrize("name", ["project", "context", "url"])
async def test_what_belongs_to_others_is_not_merged(tenant: Tenant, name: str) -> None:
    values = {"project": ("a", "b"), "context": ({"user_id": "a"}, {"user_id": "b"}), "url": ("a.example", "b.example")}
    for place, text in enumerate(REPEATED):
        await tenant.encode(text, **{name: values[name][place % 2]})
    assert (await consolidate(tenant)).summaries == 0


async def test_archived_and_quarantined_memories_are_left_out(tenant: Tenant) -> None:
    ids = await store(tenant, *REPEATED)
    await tenant.engine.archive(tenant.principal, ids[1])
    assert (await consolidate(tenant)).summaries == 0


# Episodes


async def test_a_burst_of_one_conversation_becomes_an_episode(tenant: Tenant) -> None:
    ids = await store(tenant, *TURNS, minutes=2, context={"session_id": "friday", "user_id": "ann"})
    counts = await consolidate(tenant)
    assert (counts.episodes, counts.episode_members) == (1, 3)
    [episode] = await made(tenant, MemoryType.EPISODIC)
    assert episode.title == TURNS[0]
    assert set(episode.content.splitlines()) <= set(TURNS)
    assert dict(episode.context) == {"session_id": "friday", "user_id": "ann"}
    edges = await tenant.fetch(EDGES, EdgeType.PART_OF.value)
    assert [(row["source_id"], row["target_id"]) for row in edges] == [(memory_id, episode.id) for memory_id in ids]
    assert set(await states(tenant, ids)) == {MemoryState.ACTIVE}
    provenance = await tenant.engine.consolidation.provenance(tenant.principal, episode.id)
    assert (provenance.detector, provenance.cosine) == (Detector.BURST, None)
    assert [member.memory_id for member in provenance.members] == ids
    assert await broken_invariants(tenant) == {}


async def test_an_episode_gives_way_to_its_members(tenant: Tenant) -> None:
    ids = await store(tenant, *TURNS, minutes=2, context={"session_id": "friday"})
    before = await tenant.recalled("why did card payments fail after the deploy?")
    await consolidate(tenant)
    [episode] = await made(tenant, MemoryType.EPISODIC)
    recall = await tenant.recall("why did card payments fail after the deploy?", explain=True)
    assert [hit.memory.id for hit in recall.hits] == before
    assert episode.id not in {hit.memory.id for hit in recall.candidates}
    page = await tenant.engine.search(tenant.principal, SearchRequest("deploy payments"))
    assert {hit.memory.id for hit in page.items} <= set(ids)
    assert episode.id in await tenant.listed(Filters(source=Source.SYSTEM))


async def test_what_is_further_apart_is_no_episode(tenant: Tenant) -> None:
    await store(tenant, *TURNS, minutes=6, context={"session_id": "friday"})
    assert (await consolidate(tenant)).episodes == 0


async def test_conversations_are_not_mixed(tenant: Tenant) -> None:
    for place, text in enumerate(TURNS):
        await tenant.encode(text, context={"session_id": f"s{place}"})
    assert (await consolidate(tenant)).episodes == 0


async def test_a_burst_without_a_conversation_is_an_episode_but_an_import_is_none(tenant: Tenant) -> None:
    await store(tenant, *TURNS, minutes=1)
    assert (await consolidate(tenant)).episodes == 1
    tenant.clock.advance(hours=5)
    await tenant.encode_batch([NewMemory(f"Row {number} of the table of {number * 7} birds") for number in range(60)])
    assert (await consolidate(tenant)).episodes == 0


async def test_late_turns_join_the_episode_they_fall_into(tenant: Tenant) -> None:
    await store(tenant, *TURNS, minutes=2, context={"session_id": "friday"})
    await consolidate(tenant)
    began = tenant.clock.now - timedelta(minutes=6)
    late = await tenant.encode(
        "Grace wrote the report", context={"session_id": "friday"}, occurred_at=began + timedelta(minutes=9)
    )
    counts = await consolidate(tenant)
    assert (counts.episodes, counts.episode_members) == (0, 1)
    [episode] = await made(tenant, MemoryType.EPISODIC)
    provenance = await tenant.engine.consolidation.provenance(tenant.principal, episode.id)
    assert [member.memory_id for member in provenance.members][-1] == late.id


async def test_a_long_conversation_has_several_episodes(tenant: Tenant) -> None:
    texts = [f"Turn {number} speaks of {number * 13} herons" for number in range(12)]
    await store(tenant, *texts, minutes=2, context={"session_id": "long"})
    counts = await consolidate(tenant)
    assert (counts.episodes, counts.episode_members) == (2, 12)


async def test_new_memories_are_joined_in_time_with_memories_and_not_with_episodes(tenant: Tenant) -> None:
    ids = await store(tenant, *TURNS, minutes=1, context={"session_id": "friday"})
    await consolidate(tenant)
    new = await tenant.encode("Ada asked for the logs", context={"session_id": "friday"})
    page = await tenant.engine.neighbors(tenant.principal, new.id)
    assert [n.memory.id for n in page.items if n.edge.type is EdgeType.TEMPORAL] == [ids[-1]]


# What comes up together


async def test_what_is_recalled_together_three_times_is_joined_more_strongly(tenant: Tenant) -> None:
    first, second = await store(tenant, "Deploys happen on Fridays", "Deploys need two reviews")
    for _ in range(2):
        await tenant.recall("deploys")
    await tenant.engine.write_lessons()
    assert (await consolidate(tenant)).strengthened == 0
    tenant.clock.advance(minutes=5)
    await tenant.recall("deploys")
    await tenant.engine.write_lessons()
    assert (await consolidate(tenant)).strengthened == 1
    [edge] = await tenant.fetch(EDGES, EdgeType.CO_RETRIEVAL.value)
    assert (edge["source_id"], edge["target_id"]) == (first, second)
    assert edge["weight"] == pytest.approx(1 - 0.85**3)
    assert (await consolidate(tenant)).strengthened == 0
    [again] = await tenant.fetch(EDGES, EdgeType.CO_RETRIEVAL.value)
    assert again["weight"] == edge["weight"]


# Calls


async def test_a_namespace_that_does_not_exist_has_nothing_to_consolidate(tenant: Tenant) -> None:
    assert (await consolidate(tenant, namespace="nowhere")).considered == 0
    assert [space.name for space in (await tenant.engine.list_namespaces(tenant.principal)).items] == []


@pytest.mark.parametrize("hours", [0, -1, 1e9, float("nan")])
async def test_a_window_has_bounds(tenant: Tenant, hours: float) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await consolidate(tenant, window_hours=hours)
    assert caught.value.details["field"] == "window_hours"


async def test_undoing_what_somebody_wrote_is_refused(tenant: Tenant) -> None:
    memory = await tenant.encode("Somebody wrote this")
    with pytest.raises(ConflictError):
        await tenant.engine.consolidation.unconsolidate(tenant.principal, memory.id)


# Editing what the service made


async def test_an_edited_summary_is_its_editors(tenant: Tenant) -> None:
    ids = await store(tenant, *REPEATED)
    await consolidate(tenant)
    [summary] = await made(tenant)
    edited = await tenant.engine.update(tenant.principal, summary.id, MemoryPatch({"content": "Heron is on port 5433"}))
    assert (edited.source, edited.version) == (None, 2)
    provenance = await tenant.engine.consolidation.provenance(tenant.principal, summary.id)
    assert provenance.adopted_at == tenant.clock.now
    await store(tenant, f"{BASE}:")
    assert (await consolidate(tenant)).extended == 0
    await tenant.engine.forget(tenant.principal, ids[0])
    assert (await tenant.engine.get(tenant.principal, summary.id)).content == "Heron is on port 5433"
    [entry] = [e for e in await tenant.engine.history(tenant.principal, summary.id) if e.event == "edited"]
    assert BASE not in str(entry.fields)
    await tenant.engine.forget(tenant.principal, summary.id)
    assert await states(tenant, ids[1:]) == [MemoryState.ACTIVE] * 2


async def test_a_summary_with_a_new_title_is_still_the_services(tenant: Tenant) -> None:
    await store(tenant, *REPEATED)
    await consolidate(tenant)
    [summary] = await made(tenant)
    changes = {"title": "Heron", "salience": 0.9, "pinned": True}
    edited = await tenant.engine.update(tenant.principal, summary.id, MemoryPatch(changes))
    assert (edited.source, edited.title, edited.content) == (Source.SYSTEM, "Heron", summary.content)
    provenance = await tenant.engine.consolidation.provenance(tenant.principal, summary.id)
    assert provenance.adopted_at is None
    assert await broken_invariants(tenant) == {}


async def test_an_edited_episode_is_a_memory_like_any_other(tenant: Tenant) -> None:
    await store(tenant, *TURNS, minutes=2, context={"session_id": "friday"})
    await consolidate(tenant)
    [episode] = await made(tenant, MemoryType.EPISODIC)
    edited = await tenant.engine.update(
        tenant.principal, episode.id, MemoryPatch({"content": "The timeout broke the quasar gateway"})
    )
    assert edited.source is None
    assert (await tenant.recalled("quasar gateway"))[0] == episode.id
    assert await broken_invariants(tenant) == {}


async def test_what_contradicts_what_is_written_at_the_same_moment_is_seen_by_the_next_run(tenant: Tenant) -> None:
    await tenant.encode("Lunch is at noon on the terrace")
    [namespace] = await tenant.fetch("select namespace_id from namespaces")
    async with tenant.database.tenant(tenant.principal.org_id) as holder:
        # Both writes wait here for the namespace's counters, the last thing that they touch.
        await intentions.lock_namespace(holder, tenant.principal.org_id, namespace["namespace_id"])
        writes = [asyncio.create_task(tenant.encode(text)) for text in ("We deploy on Fridays", CHANGE)]
        await _until_they_wait(tenant, 2)
    before, after = [(await write).id for write in writes]
    if before > after:  # whichever drew its id first happened first
        before, after = after, before
    assert await states(tenant, [before, after]) == [MemoryState.ACTIVE] * 2
    await consolidate(tenant)
    edges = await tenant.fetch("select source_id, target_id from edges where type in ('Supersedes', 'Contradicts')")
    assert [(row["source_id"], row["target_id"]) for row in edges] == [(after, before)]
    assert await broken_invariants(tenant) == {}


async def _until_they_wait(tenant: Tenant, count: int) -> None:
    async with asyncio.timeout(10):
        while True:
            [waiting] = await tenant.fetch(
                "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%memory_count%'"
            )
            if waiting["count"] == count:
                return
            await asyncio.sleep(0.01)
