"""What is exported, erased and imported again is the same; and what is there already stays as it is."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoria.edges import NewEdge
from memoria.errors import ForbiddenError, InvalidInputError
from memoria.identifiers import format_id
from memoria.records import MemoryPatch, NewMemory, PolicyChanges
from memoria.reward import Feedback
from memoria.transfer_records import Erasure, ImportResult
from memoria.vocabulary import EdgeType, Scope, Source
from server.wire.transfer_lines import read_lines, write_lines
from tests.invariants import broken_invariants
from tests.sleeping import REPEATED, consolidate, made, store
from tests.tenants import MakeTenant, Tenant

pytestmark = pytest.mark.anyio

LONG = "\n\n".join(f"Chapter {number} tells how server {number} was moved. " * 30 for number in range(4))
ROW_COLUMNS = {
    "org_id": "the tenant's own",
    "namespace_id": "the namespace's own",
    "site": "computed from the url",
    "session": "computed from the context",
    "content_hash": "computed from the content",
    "duplicate_hash": "computed from content, project and context",
    "terms": "computed from the text",
    "term_count": "computed from the text",
    "part_of": "parts stand inside their document",
    "memory_id": "shown as id",
}


async def export(tenant: Tenant, namespace: str | None = None) -> list[bytes]:
    """Export, and return the lines."""
    exported = await tenant.engine.transfer.export(tenant.principal, namespace)
    return b"".join([chunk async for chunk in write_lines(exported)]).splitlines(keepends=True)


async def bring(tenant: Tenant, lines: list[bytes], namespace: str | None = None) -> ImportResult:
    """Import lines, sent in pieces that do not end where lines do."""
    body = b"".join(lines)

    async def chunks() -> AsyncIterator[bytes]:
        for first in range(0, len(body), 5_000):
            yield body[first : first + 5_000]

    return await tenant.engine.transfer.import_lines(tenant.principal, read_lines(chunks()), namespace)


async def erase(tenant: Tenant, namespace: str | None = None) -> Erasure:
    return await tenant.engine.transfer.erase(tenant.principal, namespace or tenant.principal.own_namespace)


def body_of(lines: list[bytes]) -> list[bytes]:
    """Leave out the header, which says when it was written."""
    assert json.loads(lines[0])["kind"] == "Header"
    return lines[1:]


def kinds(lines: list[bytes]) -> list[str]:
    return [json.loads(line)["kind"] for line in lines]


async def live(tenant: Tenant) -> list[int]:
    """Let a namespace have a bit of everything: documents, edits, moves, links, recalls, feedback and a policy."""
    document = await tenant.encode(LONG, title="The move", chunk=True, tags=("ops", "move"))
    deploy = await tenant.encode(
        "We deploy on Fridays because of the outage in May",
        context={"session_id": "s-1", "user_id": "ada"},
        metadata={"n": 1.5, "deep": {"list": [1, "ü", None]}},
        url="https://example.com/runbook",
        related_urls=("https://example.com/outage",),
        project="shop",
        source="human",
        ttl_seconds=60,
    )
    tenant.clock.advance(minutes=1)
    pinned = await tenant.encode("The database is Postgres 18", type="core", pinned=True, context={"session_id": "s-1"})
    await tenant.engine.update(tenant.principal, pinned.id, MemoryPatch({"content": "The database is Postgres 19"}))
    idle = await tenant.encode("Somebody once said hello")
    await tenant.engine.archive(tenant.principal, idle.id)
    await tenant.engine.learning.link(tenant.principal, NewEdge(deploy.id, pinned.id, EdgeType.CAUSAL, 0.37))
    await tenant.recall("which database?", limit=3)
    await tenant.engine.write_lessons()
    await tenant.engine.learning.feedback(tenant.principal, Feedback(pinned.id, useful=True, query="which database?"))
    await tenant.engine.upkeep.set_policy(tenant.principal, PolicyChanges({"max_memories": 1000}))
    tenant.clock.advance(hours=1)
    return [document.id, deploy.id, pinned.id, idle.id]


async def test_what_was_erased_is_imported_as_it_was(tenant: Tenant) -> None:
    await live(tenant)
    before = await export(tenant)
    assert set(kinds(before)) == {"Header", "Policy", "Memory", "Event", "Edge", "End"}
    erasure = await erase(tenant)
    assert erasure.before["memories"] > 4
    assert set((erasure.after or {"": 1}).values()) == {0}
    assert kinds(await export(tenant)) == ["Header", "End"]
    result = await bring(tenant, before)
    assert (result.refused, result.mapped, result.is_complete) == (0, 0, True)
    assert body_of(await export(tenant)) == body_of(before)
    assert await broken_invariants(tenant) == {}


async def test_summaries_come_back_with_what_they_were_made_of(tenant: Tenant) -> None:
    await store(tenant, *REPEATED)
    await consolidate(tenant)
    [summary] = await made(tenant)
    provenance = await tenant.engine.consolidation.provenance(tenant.principal, summary.id)
    before = await export(tenant)
    assert kinds(before).count("Member") == 3
    await erase(tenant)
    result = await bring(tenant, before)
    assert (result.refused, result.mapped) == (0, 0)
    assert body_of(await export(tenant)) == body_of(before)
    assert await tenant.engine.consolidation.provenance(tenant.principal, summary.id) == provenance
    assert (await tenant.engine.get(tenant.principal, summary.id)).source is Source.SYSTEM
    again = await bring(tenant, before)
    assert (set(vars_of(again.imported).values()), again.skipped.members) == ({0}, 3)
    assert await broken_invariants(tenant) == {}


async def test_a_key_that_only_writes_brings_no_word_of_the_service(tenant: Tenant, other: Tenant) -> None:
    await store(tenant, *REPEATED)
    await consolidate(tenant)
    [summary] = await made(tenant)
    writer = other.as_principal(scopes=frozenset({Scope.READ, Scope.WRITE}))
    result = await bring(writer, await export(tenant), "moved")
    assert {refusal.code for refusal in result.refusals} == {"FORBIDDEN"}
    sources = {row[0] for row in await other.fetch("select source from memories")}
    assert Source.SYSTEM.value not in sources
    assert await other.fetch("select from summaries") == []
    assert summary.content in [row[0] for row in await other.fetch("select content from memories")]
    assert await broken_invariants(other) == {}


async def test_importing_twice_changes_nothing(tenant: Tenant) -> None:
    await live(tenant)
    lines = await export(tenant)
    result = await bring(tenant, lines)
    assert (result.refused, result.mapped) == (0, 0)
    assert set(vars_of(result.imported).values()) == {0}
    assert result.skipped.memories == kinds(lines).count("Memory")
    assert result.skipped.edges == kinds(lines).count("Edge")
    assert result.skipped.events == kinds(lines).count("Event")
    assert body_of(await export(tenant)) == body_of(lines)
    assert await broken_invariants(tenant) == {}


def vars_of(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}


async def test_what_is_imported_is_recalled(tenant: Tenant, other: Tenant) -> None:
    ids = await live(tenant)
    await bring(other, await export(tenant), "moved")
    assert ids[2] in await other.recalled("which database is it, Postgres?", namespace="moved")
    assert ids[1] not in await other.recalled("when do we deploy?", namespace="moved"), "it has expired"
    assert await broken_invariants(other) == {}


async def test_two_organizations_may_hold_the_same_ids(tenant: Tenant, other: Tenant) -> None:
    ids = await live(tenant)
    lines = await export(tenant)
    await bring(other, lines, "moved")
    await erase(other, "moved")
    assert body_of(await export(tenant)) == body_of(lines)
    assert (await tenant.engine.get(tenant.principal, ids[0])).title == "The move"


async def test_anothers_own_namespace_is_not_imported_into(tenant: Tenant, other: Tenant) -> None:
    with pytest.raises(ForbiddenError):
        await bring(other, await export(tenant))


async def test_a_memory_that_was_edited_since_stays_and_is_reported(tenant: Tenant) -> None:
    ids = await live(tenant)
    lines = await export(tenant)
    await tenant.engine.update(tenant.principal, ids[3], MemoryPatch({"content": "Somebody said farewell"}))
    result = await bring(tenant, lines)
    numbers = [number for number, line in enumerate(lines, 1) if f'"id":"{format_id(ids[3])}"'.encode() in line]
    assert [(refusal.code, refusal.line) for refusal in result.refusals][:1] == [("CONFLICT", numbers[0])]
    assert (await tenant.engine.get(tenant.principal, ids[3])).content == "Somebody said farewell"


async def test_an_equal_memory_takes_over_the_edges(tenant: Tenant, other: Tenant) -> None:
    ids = await live(tenant)
    lines = await export(tenant)
    other.clock.advance(days=1)
    twin = await other.encode("The database is Postgres 19", context={"session_id": "s-1"}, namespace="moved")
    result = await bring(other, lines, "moved")
    assert result.mapped == 1
    assert result.mappings[ids[2]] == twin.id
    page = await other.engine.neighbors(other.principal, twin.id)
    linked = [item.edge for item in page.items if item.edge.type is EdgeType.CAUSAL]
    assert [(edge.source_id, edge.weight) for edge in linked] == [(ids[1], 0.37)]
    assert await other.engine.history(other.principal, twin.id) == ()
    assert await broken_invariants(other) == {}
    again = await bring(other, lines, "moved")
    assert (again.mapped, again.imported.memories, again.imported.edges) == (1, 0, 0)


async def test_a_copy_beside_the_original_gets_ids_of_its_own(tenant: Tenant) -> None:
    await live(tenant)
    lines = await export(tenant)
    first = await bring(tenant, lines, "copy")
    assert first.refused == 0
    assert first.mapped == first.imported.memories == kinds(lines).count("Memory")
    again = await bring(tenant, lines, "copy")
    assert set(vars_of(again.imported).values()) == {0}
    assert body_of(await export(tenant)) == body_of(lines)
    assert sorted(kinds(await export(tenant, "copy"))) == sorted(kinds(lines))
    assert await broken_invariants(tenant) == {}


async def test_what_the_service_wrote_comes_back_as_an_agents(tenant: Tenant, other: Tenant) -> None:
    memory = await tenant.encode("A note", source="human")
    lines = [line.replace(b'"source":"human"', b'"source":"system"') for line in await export(tenant)]
    await bring(other, lines, "moved")
    assert (await other.engine.get(other.principal, memory.id)).source is Source.AGENT


async def test_a_broken_line_is_named_and_the_others_are_taken(tenant: Tenant, other: Tenant) -> None:
    ids = await live(tenant)
    lines = await export(tenant)
    memory = next(number for number, line in enumerate(lines) if f'"id":"{format_id(ids[3])}"'.encode() in line)
    later = json.loads(lines[memory]) | {"last_accessed_at": "2099-01-01T00:00:00Z"}
    broken = [
        *lines[:1],
        b"not json\n",
        b'{"kind":"Unknown"}\n',
        b"\n",
        b'{"kind":"Memory","id":"mem_x"}\n',
        b'"' + b"x" * 5_000_000 + b'"\n',
        *lines[1:memory],
        json.dumps(later).encode() + b"\n",
        *lines[memory + 1 :],
    ]
    result = await bring(other, broken, "moved")
    assert result.lines == len(broken)
    told = [(refusal.line, refusal.code) for refusal in result.refusals]
    assert told[:4] == [(2, "MALFORMED_REQUEST"), (3, "INVALID_INPUT"), (5, "INVALID_INPUT"), (6, "CONTENT_TOO_LARGE")]
    assert told[4] == (memory + 6, "INVALID_INPUT")
    assert {code for _, code in told[5:]} <= {"NOT_FOUND"}, "what belongs to the memory that was refused"
    assert result.imported.memories == kinds(lines).count("Memory") - 1
    assert result.is_complete
    assert await broken_invariants(other) == {}


async def test_an_export_that_was_cut_off_is_noticed(tenant: Tenant, other: Tenant) -> None:
    await live(tenant)
    lines = await export(tenant)
    assert not (await bring(other, lines[:-1], "moved")).is_complete


async def test_an_import_that_was_broken_off_is_finished_by_another(tenant: Tenant, other: Tenant) -> None:
    await live(tenant)
    lines = await export(tenant)
    for cut in range(2, len(lines), 5):
        await bring(other, lines[:cut], "moved")
    await bring(other, lines, "moved")
    assert body_of(await export(other, "moved")) == body_of(lines)
    assert await broken_invariants(other) == {}


async def test_another_format_is_refused(tenant: Tenant) -> None:
    lines = [line.replace(b'"format":1', b'"format":2') for line in await export(tenant)]
    with pytest.raises(InvalidInputError, match="format 2"):
        await bring(tenant, lines)


async def test_scopes_are_asked_for(tenant: Tenant) -> None:
    await live(tenant)
    lines = await export(tenant)
    reader = tenant.as_principal(scopes=frozenset({Scope.READ}))
    writer = tenant.as_principal(scopes=frozenset({Scope.READ, Scope.WRITE}))
    with pytest.raises(ForbiddenError):
        await bring(reader, lines)
    with pytest.raises(ForbiddenError):
        await export(tenant.as_principal(scopes=frozenset({Scope.WRITE})))
    for person in (reader, writer):
        with pytest.raises(ForbiddenError):
            await erase(person)
    result = await bring(writer, lines, "copy")
    assert [refusal.code for refusal in result.refusals] == ["FORBIDDEN"], "the policy"


async def test_every_column_of_a_memory_is_carried_or_computed(tenant: Tenant) -> None:
    await tenant.encode("A note")
    shown = json.loads((await export(tenant))[1])
    columns = await tenant.fetch(
        "select a.attname from pg_attribute a where a.attrelid = 'memories'::regclass and a.attnum > 0"
        " and not a.attisdropped"
    )
    assert {row[0] for row in columns} == (shown.keys() - {"kind", "id", "parts", "summary"}) | ROW_COLUMNS.keys()


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=60).filter(
    str.strip
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    notes=st.lists(
        st.fixed_dictionaries(
            {"content": TEXTS},
            optional={
                "title": TEXTS,
                "tags": st.lists(st.text("abcü", min_size=1), max_size=3).map(tuple),
                "context": st.dictionaries(TEXTS, st.text('xyz\n"\\', max_size=5), max_size=3),
                "metadata": st.dictionaries(st.text("abc"), st.integers() | st.text('\n"\\é') | st.booleans()),
                "salience": st.floats(0, 1),
                "confidence": st.floats(0, 1),
                "pinned": st.booleans(),
                "project": TEXTS,
            },
        ),
        min_size=1,
        max_size=6,
    )
)
async def test_any_field_comes_back_as_it_was(make_tenant: MakeTenant, notes: list[dict[str, Any]]) -> None:
    source, target = await make_tenant(), await make_tenant()
    await source.encode_batch([NewMemory(namespace="n", **note) for note in notes])
    lines = await export(source, "n")
    result = await bring(target, lines)
    assert result.refused == 0
    assert body_of(await export(target, "n")) == body_of(lines)
