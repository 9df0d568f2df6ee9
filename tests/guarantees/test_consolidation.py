"""Consolidation loses nothing, joins nothing that differs, can be undone, and keeps no word of what was deleted."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from memoria.consolidate import consolidate as run_consolidation
from memoria.consolidation_records import Consolidated, ConsolidationAnswer, Unconsolidated
from memoria.consolidation_run import Means
from memoria.embedding import Embedder, FakeEmbedder
from memoria.errors import ConflictError, NotFoundError
from memoria.identifiers import IdMaker
from memoria.namespaces import find_namespace
from memoria.records import Filters, MemoryPatch, NewMemory, Replay
from memoria.vocabulary import MemoryState, MemoryType, Scope
from tests.invariants import broken_invariants
from tests.sleeping import BASE, REPEATED, consolidate, made, states, store
from tests.tenants import Tenant, once

pytestmark = pytest.mark.anyio

# Long enough that one word more or less leaves them near: only the value tells them apart.
LONG = "the release of the shop and the billing service of the northern region is deployed by the team on"
TURNS = ("The saffron valve was opened", "Grace read the pressure of the valve", "The valve was closed again")
EVERYTHING = """
    select jsonb_build_array(
        (select jsonb_agg(to_jsonb(m) - 'last_accessed_at' order by m.memory_id) from memories m),
        (select jsonb_agg(e order by e.source_id, e.target_id, e.type) from edges e),
        (select jsonb_agg(s order by s.summary_id) from summaries s),
        (select jsonb_agg(s order by s.summary_id, s.member_id) from summary_members s),
        (select jsonb_agg(e order by e.memory_id, e.event_number) from memory_events e))::text as all
"""
WORDS = """
    select to_jsonb(m)::text as row from memories m
    union all select to_jsonb(e)::text from memory_events e
    union all select to_jsonb(s)::text from summaries s
"""


async def everything(tenant: Tenant) -> str:
    """Read all that consolidation could have changed."""
    row: str = (await tenant.fetch(EVERYTHING))[0]["all"]
    return row


async def rows_with(tenant: Tenant, words: str) -> list[str]:
    """Find the rows in which words stand."""
    return [row["row"] for row in await tenant.fetch(WORDS) if words in row["row"]]


# Nothing that differs is joined


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Friday", "Thursday"),
        ("Friday at 9:00", "Friday at 9:30"),
        ("Friday", "Friday but never in May"),
        ("2026-05-01", "2026-05-02"),
        ("3 servers", "4 servers"),
    ],
)
async def test_what_differs_in_one_value_is_never_merged(tenant: Tenant, first: str, second: str) -> None:
    same = [f"{LONG} {first}", f"{LONG} {first}.", f"{LONG} {first}!"]
    ids = await store(tenant, *same)
    other = await tenant.encode(f"{LONG} {second}")
    await consolidate(tenant)
    for summary in await made(tenant):
        provenance = await tenant.engine.consolidation.provenance(tenant.principal, summary.id)
        assert other.id not in {member.memory_id for member in provenance.members}
        assert {member.memory_id for member in provenance.members} == set(ids)
    assert (await tenant.engine.get(tenant.principal, other.id)).content == f"{LONG} {second}"


async def test_a_later_difference_does_not_join_the_summary(tenant: Tenant) -> None:
    await store(tenant, f"{LONG} Friday", f"{LONG} Friday.", f"{LONG} Friday!")
    await consolidate(tenant)
    await store(tenant, f"{LONG} Thursday")
    counts = await consolidate(tenant)
    assert (counts.extended, counts.summaries) == (0, 0)


async def test_a_contradiction_is_marked_once_and_never_merged(tenant: Tenant) -> None:
    older, newer = await store(tenant, f"{LONG} Friday", f"{LONG} Thursday")
    await tenant.fetch("delete from edges where type = 'Contradicts'")
    assert (await consolidate(tenant)).contradicted == 1
    edges = await tenant.fetch("select source_id, target_id from edges where type = 'Contradicts'")
    assert [(row["source_id"], row["target_id"]) for row in edges] == [(newer, older)]
    assert (await consolidate(tenant)).contradicted == 0
    assert await states(tenant, [older, newer]) == [MemoryState.ACTIVE] * 2


async def test_a_stated_change_supersedes_in_consolidation_too(tenant: Tenant) -> None:
    older, newer = await store(tenant, f"{LONG} Friday", f"{LONG} Thursday now")
    await tenant.fetch("delete from edges where type = 'Supersedes'")
    await tenant.fetch("update memories set state = 'active' where memory_id = $1", older)
    counts = await consolidate(tenant)
    assert (counts.changed, counts.contradicted) == (1, 0)
    assert await states(tenant, [older, newer]) == [MemoryState.SUPERSEDED, MemoryState.ACTIVE]
    assert (await consolidate(tenant)).changed == 0


async def test_a_summary_is_contradicted_by_what_contradicts_its_members(tenant: Tenant) -> None:
    ids = await store(tenant, f"{LONG} Friday", f"{LONG} Friday.", f"{LONG} Friday!")
    newer = await tenant.encode(f"{LONG} Thursday")
    await consolidate(tenant)
    [summary] = await made(tenant)
    edges = await tenant.fetch("select source_id, target_id from edges where type = 'Contradicts'")
    assert (newer.id, summary.id) in {(row["source_id"], row["target_id"]) for row in edges}
    assert (await tenant.recalled(f"{LONG} which day?"))[0] == newer.id
    await tenant.engine.consolidation.unconsolidate(tenant.principal, summary.id)
    edges = await tenant.fetch("select source_id, target_id from edges where type = 'Contradicts'")
    assert {row["target_id"] for row in edges} <= set(ids)


async def test_members_of_a_superseded_summary_stay_superseded_when_it_is_undone(tenant: Tenant) -> None:
    ids = await store(tenant, f"{LONG} Friday", f"{LONG} Friday.", f"{LONG} Friday!")
    await consolidate(tenant)
    [summary] = await made(tenant)
    await tenant.encode(f"{LONG} Thursday now")
    assert await states(tenant, [summary.id]) == [MemoryState.SUPERSEDED]
    undone = await tenant.engine.consolidation.unconsolidate(tenant.principal, summary.id)
    assert isinstance(undone, Unconsolidated)
    assert undone.restored_ids == ()
    assert set(await states(tenant, ids)) == {MemoryState.SUPERSEDED}


async def test_a_summary_says_nothing_that_its_members_do_not_say(tenant: Tenant) -> None:
    await store(tenant, *REPEATED)
    await consolidate(tenant)
    [summary] = await made(tenant)
    assert summary.content in REPEATED


# Twice, at once, and killed


async def test_consolidating_twice_changes_nothing(tenant: Tenant) -> None:
    await store(tenant, *REPEATED, minutes=30)
    await store(tenant, *TURNS, minutes=2, context={"session_id": "s"})
    await consolidate(tenant)
    before = await everything(tenant)
    for _ in range(2):
        tenant.clock.advance(minutes=1)
        counts = await consolidate(tenant)
        assert (counts.summaries, counts.extended, counts.episodes, counts.episode_members) == (0, 0, 0, 0)
    assert await everything(tenant) == before


def means_of(tenant: Tenant, transaction: Callable[[], Any] | None = None) -> Means:
    """Make the means of a run, with transactions of one's own."""

    async def embedder() -> Embedder:
        return FakeEmbedder()

    org_id = tenant.principal.org_id
    return Means(
        org_id=org_id,
        transaction=transaction or (lambda: tenant.database.tenant(org_id)),
        embedder=embedder,
        ids=IdMaker(tenant.clock),
        clock=tenant.clock,
    )


async def namespace_id(tenant: Tenant) -> int:
    async with tenant.database.tenant(tenant.principal.org_id) as connection:
        found = await find_namespace(connection, tenant.principal.org_id, tenant.principal.own_namespace)
    assert found is not None
    return found.id


class KilledError(Exception):
    """End a run like kill -9 would: between two statements."""


@pytest.mark.parametrize("holder", ["the same", "another"])
async def test_a_run_killed_at_any_step_is_finished_by_the_next(tenant: Tenant, holder: str) -> None:
    for number in range(3):
        subject = f"{BASE} beside pump {number}"
        await store(tenant, subject, f"{subject}.", f"{subject}!", minutes=30)
    await store(tenant, *TURNS, minutes=2, context={"session_id": "s"})
    place = await namespace_id(tenant)
    transactions = 0

    @asynccontextmanager
    async def dying(after: int) -> Any:
        nonlocal transactions
        transactions += 1
        async with tenant.database.tenant(tenant.principal.org_id) as connection:
            yield connection
            if transactions == after:
                raise KilledError

    killed = 0
    for after in range(1, 100):
        transactions = 0
        try:
            await run_consolidation(
                means_of(tenant, lambda after=after: dying(after)), place, holder="the same", window=timedelta(days=1)
            )
            break
        except KilledError:
            killed += 1
            assert await broken_invariants(tenant) == {}
            tenant.clock.advance(minutes=2)
    assert killed > 5
    name = "the same" if holder == "the same" else "somebody else"
    await run_consolidation(means_of(tenant), place, holder=name, window=timedelta(days=1))
    assert len(await made(tenant)) == 3
    assert len(await made(tenant, MemoryType.EPISODIC)) == 1
    assert await broken_invariants(tenant) == {}


async def test_two_runs_at_once_merge_everything_once(tenant: Tenant) -> None:
    ids = await store(tenant, *REPEATED)

    async def attempt() -> ConsolidationAnswer | Replay | ConflictError:
        try:
            return await tenant.engine.consolidation.consolidate(tenant.principal, wait=True)
        except ConflictError as refused:
            return refused

    answers = await asyncio.gather(*(attempt() for _ in range(6)))
    done = [answer.done for answer in answers if isinstance(answer, ConsolidationAnswer)]
    assert sum(each.counts.summaries for each in done if isinstance(each, Consolidated)) == 1
    assert len(await made(tenant)) == 1
    assert set(await states(tenant, ids)) == {MemoryState.SUPERSEDED}
    assert await broken_invariants(tenant) == {}


async def test_while_one_run_holds_the_namespace_another_is_refused_until_its_lease_ends(tenant: Tenant) -> None:
    await store(tenant, *REPEATED)
    place = await namespace_id(tenant)
    seen: list[str] = []

    async def report(done: int, total: int) -> None:
        with pytest.raises(ConflictError):
            await consolidate(tenant)
        seen.append("refused")
        tenant.clock.advance(minutes=5)
        await consolidate(tenant)

    means = means_of(tenant)
    with pytest.raises(ConflictError):
        await run_consolidation(
            Means(means.org_id, means.transaction, means.embedder, means.ids, means.clock, report=report),
            place,
            holder="slow",
            window=timedelta(days=1),
        )
    assert seen == ["refused"]
    assert len(await made(tenant)) == 1


async def test_memories_change_while_they_are_consolidated(tenant: Tenant) -> None:
    texts = [f"{BASE} beside pump {number}{end}" for number in range(8) for end in ("", ".", "!")]
    ids = await store(tenant, *texts, minutes=15)

    async def disturb() -> None:
        for memory_id in ids[::3]:
            await tenant.engine.update(tenant.principal, memory_id, MemoryPatch({"content": f"Edited {memory_id}"}))
        for memory_id in ids[1::6]:
            await tenant.engine.forget(tenant.principal, memory_id)

    async def sleep() -> None:
        for _ in range(3):
            await consolidate(tenant)

    await asyncio.gather(disturb(), sleep())
    await consolidate(tenant)
    assert await broken_invariants(tenant) == {}


# Deleting

Door = Callable[[Tenant, int], Awaitable[Any]]
DOORS: dict[str, Door] = {
    "forget": lambda tenant, memory_id: tenant.engine.forget(tenant.principal, memory_id),
    "forget_many": lambda tenant, memory_id: tenant.engine.forget_many(tenant.principal, [memory_id]),
    "forget_matching": lambda tenant, _: tenant.engine.forget_matching(tenant.principal, Filters(tags_any=("doomed",))),
    "delete_by_context": lambda tenant, _: tenant.engine.delete_by_context(tenant.principal, "session_id", "doomed"),
}


@pytest.mark.parametrize("door", DOORS)
async def test_no_word_of_a_deleted_member_stays_in_a_summary(tenant: Tenant, door: str) -> None:
    secret = f"{BASE} of Zebulon"
    ids = await store(tenant, secret, f"{secret}.")
    doomed = await tenant.encode(f"{secret} ZEBULON", tags=("doomed",), context={"session_id": "doomed"})
    assert (await consolidate(tenant)).summaries == 1
    await DOORS[door](tenant, doomed.id)
    assert await made(tenant) == []
    assert await states(tenant, ids) == [MemoryState.ACTIVE] * 2
    assert await rows_with(tenant, "ZEBULON") == []
    assert await broken_invariants(tenant) == {}


@pytest.mark.parametrize("door", DOORS)
async def test_no_word_of_a_deleted_member_stays_in_an_episode(tenant: Tenant, door: str) -> None:
    doomed = await tenant.encode(
        "Zebulon broke the saffron valve", tags=("doomed",), context={"session_id": "doomed"}, occurred_at=None
    )
    others = await store(tenant, *TURNS, minutes=1, context={"session_id": "s"})
    await consolidate(tenant)
    [episode] = await made(tenant, MemoryType.EPISODIC)
    assert "Zebulon" not in episode.content
    late = await tenant.encode("Zebulon broke it", context={"session_id": "s", "x": "y"}, tags=("doomed",))
    await consolidate(tenant)
    assert await rows_with(tenant, "Zebulon broke it") != []
    await DOORS[door](tenant, doomed.id)
    if door in ("forget", "forget_many", "delete_by_context"):
        await tenant.engine.forget(tenant.principal, late.id)
    assert await rows_with(tenant, "Zebulon") == []
    [again] = await made(tenant, MemoryType.EPISODIC)
    assert again.id == episode.id
    provenance = await tenant.engine.consolidation.provenance(tenant.principal, episode.id)
    assert [member.memory_id for member in provenance.members] == others
    assert await broken_invariants(tenant) == {}


async def test_an_episode_with_too_few_members_left_goes(tenant: Tenant) -> None:
    ids = await store(tenant, *TURNS, minutes=1, context={"session_id": "s"})
    await consolidate(tenant)
    await tenant.engine.forget(tenant.principal, ids[0])
    assert await made(tenant, MemoryType.EPISODIC) == []
    assert await rows_with(tenant, TURNS[0]) == []
    assert await broken_invariants(tenant) == {}


async def test_deleting_a_summary_brings_its_members_back(tenant: Tenant) -> None:
    ids = await store(tenant, *REPEATED)
    await consolidate(tenant)
    [summary] = await made(tenant)
    await tenant.engine.forget(tenant.principal, summary.id)
    assert await states(tenant, ids) == [MemoryState.ACTIVE] * 3
    assert (await consolidate(tenant)).summaries == 0


async def test_everything_can_be_deleted_at_once(tenant: Tenant) -> None:
    await store(tenant, *REPEATED, minutes=1, context={"session_id": "s"})
    await store(tenant, *TURNS, minutes=1, context={"session_id": "s"})
    await consolidate(tenant)
    await tenant.engine.forget_matching(tenant.principal, Filters(created_after=tenant.clock.now - timedelta(days=9)))
    assert await tenant.fetch(WORDS) == []
    assert await broken_invariants(tenant) == {}


async def test_editing_a_member_dissolves_its_summary_and_rewrites_its_episode(tenant: Tenant) -> None:
    ids = await store(tenant, *REPEATED)
    turns = await store(tenant, *TURNS, minutes=1, context={"session_id": "s"})
    await consolidate(tenant)
    await tenant.engine.update(tenant.principal, ids[0], MemoryPatch({"content": "Something else"}))
    assert await made(tenant) == []
    assert await states(tenant, ids) == [MemoryState.ACTIVE] * 3
    await tenant.engine.update(tenant.principal, turns[0], MemoryPatch({"content": "The azure valve was opened"}))
    [episode] = await made(tenant, MemoryType.EPISODIC)
    assert "saffron" not in episode.content + str(episode.title)
    assert "azure" in episode.content
    assert await broken_invariants(tenant) == {}


@pytest.mark.parametrize("changes", [{"ttl_seconds": 60}, {"context": {"user_id": "x"}}, {"project": "p"}], ids=str)
async def test_a_member_that_belongs_elsewhere_now_leaves(tenant: Tenant, changes: dict[str, Any]) -> None:
    ids = await store(tenant, *REPEATED, minutes=1, context={"session_id": "s"})
    await store(tenant, *TURNS, minutes=1, context={"session_id": "s"})
    await consolidate(tenant)
    await tenant.engine.update(tenant.principal, ids[0], MemoryPatch(changes))
    assert await made(tenant) == []
    await consolidate(tenant)
    assert await made(tenant) == []


# Undoing


async def test_undoing_brings_everything_back_and_is_remembered(tenant: Tenant) -> None:
    ids = await store(tenant, *REPEATED)
    await consolidate(tenant)
    [summary] = await made(tenant)
    undone = await tenant.engine.consolidation.unconsolidate(tenant.principal, summary.id)
    assert undone == Unconsolidated(summary.id, tuple(ids), tuple(ids))
    assert await states(tenant, ids) == [MemoryState.ACTIVE] * 3
    with pytest.raises(NotFoundError):
        await tenant.engine.get(tenant.principal, summary.id)
    assert (await consolidate(tenant)).summaries == 0
    await store(tenant, f"{BASE}:")
    assert (await consolidate(tenant)).summaries == 0
    await store(tenant, f"{BASE};", f"{BASE},")
    assert (await consolidate(tenant)).summaries == 1
    [other] = await made(tenant)
    provenance = await tenant.engine.consolidation.provenance(tenant.principal, other.id)
    assert len({member.memory_id for member in provenance.members} & set(ids)) <= 1
    assert await broken_invariants(tenant) == {}


async def test_an_undone_episode_is_not_made_again(tenant: Tenant) -> None:
    ids = await store(tenant, *TURNS, minutes=1, context={"session_id": "s"})
    await consolidate(tenant)
    [episode] = await made(tenant, MemoryType.EPISODIC)
    undone = await tenant.engine.consolidation.unconsolidate(tenant.principal, episode.id)
    assert undone == Unconsolidated(episode.id, tuple(ids), ())
    assert (await consolidate(tenant)).episodes == 0
    assert set(await states(tenant, ids)) == {MemoryState.ACTIVE}


async def test_a_member_that_was_archived_meanwhile_comes_back_active(tenant: Tenant) -> None:
    ids = await store(tenant, *REPEATED)
    await consolidate(tenant)
    await tenant.engine.archive(tenant.principal, ids[0])
    [summary] = await made(tenant)
    undone = await tenant.engine.consolidation.unconsolidate(tenant.principal, summary.id)
    assert isinstance(undone, Unconsolidated)
    assert undone.restored_ids == tuple(ids[1:])
    assert await states(tenant, ids[:1]) == [MemoryState.ARCHIVED]
    await tenant.engine.restore(tenant.principal, ids[0])
    assert await states(tenant, ids[:1]) == [MemoryState.ACTIVE]


async def test_an_idempotency_key_makes_a_consolidation_and_its_undoing_happen_once(tenant: Tenant) -> None:
    await store(tenant, *REPEATED)
    first = await tenant.engine.consolidation.consolidate(tenant.principal, wait=True, once=once("sleep"))
    again = await tenant.engine.consolidation.consolidate(tenant.principal, wait=True, once=once("sleep"))
    assert isinstance(first, ConsolidationAnswer)
    assert isinstance(again, Replay)
    [summary] = await made(tenant)
    for expected in (Unconsolidated, Replay):
        undone = await tenant.engine.consolidation.unconsolidate(tenant.principal, summary.id, once=once("undo"))
        assert isinstance(undone, expected)


# Tenants


async def test_tenants_are_consolidated_apart(tenant: Tenant, other: Tenant) -> None:
    await store(tenant, *REPEATED[:2])
    await store(other, *REPEATED[2:])
    assert (await consolidate(tenant)).summaries == 0
    await tenant.encode(REPEATED[2])
    await consolidate(tenant)
    [summary] = await made(tenant)
    for call in (other.engine.consolidation.provenance, other.engine.consolidation.unconsolidate):
        with pytest.raises(NotFoundError) as caught:
            await call(other.principal, summary.id)
        assert caught.value.message == "There is no memory with this id."


async def test_namespaces_are_consolidated_apart(tenant: Tenant) -> None:
    for name, text in zip(("a", "b", "a"), REPEATED, strict=True):
        await tenant.encode(text, namespace=name)
    for name in ("a", "b"):
        assert (await consolidate(tenant, namespace=name)).summaries == 0


async def test_a_key_that_only_reads_consolidates_nothing(tenant: Tenant) -> None:
    reader = tenant.as_principal(scopes=frozenset({Scope.READ}))
    with pytest.raises(Exception, match="scope"):
        await consolidate(reader)


async def test_what_is_sent_again_is_still_a_duplicate(tenant: Tenant) -> None:
    ids = await store(tenant, *REPEATED)
    await consolidate(tenant)
    for memory_id, text in zip(ids, REPEATED, strict=True):
        [again] = await tenant.encode_batch([NewMemory(text)])
        assert (again.duplicate, again.memory.id) == (True, memory_id)
