"""A filter alone never shortens an answer, and never lets through what it should not."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoria import embeddings
from memoria.embeddings import index_vectors
from memoria.records import Encoded, Filters, Memory, NewMemory, SearchRequest
from memoria.vocabulary import MemoryState, MemoryType, Source, Tier
from tests.tenants import START, Tenant

pytestmark = pytest.mark.anyio

WORDS = ("deploy", "invoice", "review", "backup", "latency", "customer", "schema", "ticket", "budget", "release")


def draw_memories(count: int, seed: int) -> list[NewMemory]:
    """Draw memories whose every field varies."""
    draw = random.Random(seed)
    return [
        NewMemory(
            f"{draw.choice(WORDS)} {draw.choice(WORDS)} note {number} of {seed}",
            type=draw.choice(("Episodic", "Semantic", "Procedural", "core")),
            salience=draw.choice((0.1, 0.3, 0.6, 0.9)),
            tags=tuple(draw.sample(("red", "green", "blue"), draw.randrange(3))),
            category=draw.choice((None, "general", "preference")),
            source=draw.choice((None, "agent", "human")),
            url=draw.choice((None, "https://a.example/x", "https://b.example/y")),
            project=draw.choice((None, "one", "two")),
            context=draw.choice(({}, {"user_id": "ann"}, {"user_id": "bea", "session_id": "s"})),
            occurred_at=START - timedelta(days=draw.randrange(10)),
            ttl_seconds=draw.choice((None, None, None, 30)),
        )
        for number in range(count)
    ]


def some(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw mostly nothing: filters that name everything let nothing through."""
    return st.one_of(st.just(None), st.just(None), st.just(None), values)


def few(values: type | tuple[str, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Draw a few values, mostly none."""
    drawn = st.lists(st.sampled_from(list(values)), max_size=2, unique=True).map(tuple)  # type: ignore[call-overload]
    return st.one_of(st.just(()), st.just(()), drawn)


DAYS = st.integers(0, 10).map(lambda days: START - timedelta(days=days))
FILTERS = st.builds(
    Filters,
    types=few(MemoryType),
    tiers=few(Tier),
    states=few(MemoryState),
    tags_any=few(("red", "green")),
    tags_all=few(("red", "blue")),
    tags_none=few(("green", "blue")),
    category=some(st.sampled_from(["general", "nothing"])),
    source=some(st.sampled_from(list(Source))),
    site=some(st.sampled_from(["a.example", "www.b.example"])),
    url=some(st.sampled_from(["a.example/x/"])),
    project=some(st.sampled_from(["one", "three"])),
    context=st.sampled_from([{}, {}, {}, {"user_id": "ann"}, {"user_id": "bea", "session_id": "s"}]),
    created_before=some(st.just(START + timedelta(seconds=1))),
    occurred_after=some(DAYS),
    occurred_before=some(DAYS),
    salience_min=some(st.sampled_from([0.2, 0.3])),
    salience_max=some(st.sampled_from([0.6, 0.9])),
)
INCLUDES = st.lists(st.sampled_from(["archived", "quarantined", "expired"]), max_size=2, unique=True).map(tuple)


def passes(memory: Memory, filters: Filters, include: tuple[str, ...], tenant: Tenant) -> bool:
    """Say what the filters mean, one memory at a time."""
    states = filters.states or tuple(
        state for state in MemoryState if state in ("active", "superseded") or state in include
    )
    expired = memory.expires_at is not None and memory.expires_at <= tenant.clock.now
    tags = set(memory.tags)
    checks = (
        memory.state in states,
        not expired or "expired" in include,
        not filters.types or memory.type in filters.types,
        not filters.tiers or memory.tier in filters.tiers,
        not filters.tags_any or bool(tags & set(filters.tags_any)),
        tags >= set(filters.tags_all),
        not tags & set(filters.tags_none),
        filters.category in (None, memory.category),
        filters.source in (None, memory.source),
        filters.site is None or memory.site == filters.site.removeprefix("www."),
        filters.url is None or memory.url == "https://a.example/x",
        filters.project is None or memory.project in (None, filters.project),
        dict(filters.context).items() <= dict(memory.context).items(),
        filters.created_before is None or memory.created_at < filters.created_before,
        filters.occurred_after is None or memory.occurred_at >= filters.occurred_after,
        filters.occurred_before is None or memory.occurred_at < filters.occurred_before,
        filters.salience_min is None or memory.salience >= filters.salience_min,
        filters.salience_max is None or memory.salience <= filters.salience_max,
    )
    return all(checks)


async def fill(tenant: Tenant, count: int, seed: int) -> list[Memory]:
    """Store memories, of which every fifth is archived and some have expired."""
    stored = await tenant.encode_batch(draw_memories(count, seed))
    for one in stored[::5]:
        await tenant.engine.archive(tenant.principal, one.memory.id)
    tenant.clock.advance(seconds=60)
    return [await tenant.engine.get(tenant.principal, one.memory.id) for one in stored]


@given(st.data())
@settings(max_examples=1, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_every_filter_lets_through_exactly_what_it_means(tenant: Tenant, data: st.DataObject) -> None:
    everything = await fill(tenant, 150, seed=3)
    for _ in range(60):
        filters, include = data.draw(FILTERS), data.draw(INCLUDES)
        expected = {memory.id for memory in everything if passes(memory, filters, include, tenant)}
        page = await tenant.engine.list_memories(tenant.principal, filters=filters, include=include, limit=200)
        assert {memory.id for memory in page.items} == expected
        assert page.total == len(expected)
        limit = data.draw(st.integers(1, 100))
        recalled = await tenant.recalled("deploy of the invoice", filters=filters, include=include, limit=limit)
        assert set(recalled) <= expected
        assert len(recalled) == min(limit, len(expected))
        found = await tenant.engine.search(
            tenant.principal, SearchRequest("deploy of the invoice", filters=filters, include=include, limit=limit)
        )
        assert {hit.memory.id for hit in found.items} <= expected
        assert (len(found.items), found.total) == (min(limit, len(expected)), len(expected))


@pytest.mark.parametrize("in_graph", [0, 150, 10_000])
async def test_a_small_tenant_beside_a_large_one_gets_its_full_answer(
    make_tenant: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, in_graph: int
) -> None:
    tenants = [await make_tenant() for _ in range(3)]
    large, *small = tenants
    await large.encode_batch(draw_memories(400, 5))
    for one in small:
        await one.encode_batch([NewMemory(f"deploy of service {number}") for number in range(20)])
    for one in tenants:
        async with one.database.tenant(one.principal.org_id) as connection:
            rows = await one.fetch("select namespace_id from namespaces")
            await index_vectors(connection, one.principal.org_id, rows[0]["namespace_id"], in_graph)
    monkeypatch.setattr(embeddings, "EXACT_SCAN_ROWS", 10)  # from here on every namespace is asked through the graph
    for one in small:
        assert len(await one.recalled("deploy of the invoice service", limit=20)) == 20
    assert len(await large.recalled("deploy of the invoice service", limit=100)) == 100


async def test_a_filter_of_few_among_many_is_full(tenant: Tenant) -> None:
    await tenant.encode_batch([NewMemory(f"deploy of the service, run {number}") for number in range(300)])
    rare = await tenant.encode_batch([NewMemory(f"aardvark {number}", tags=("rare",)) for number in range(12)])
    ids = {one.memory.id for one in rare if isinstance(one, Encoded)}
    recalled = await tenant.recalled("aardvark deploy of the service", filters=Filters(tags_all=("rare",)), limit=12)
    assert set(recalled) == ids


async def test_many_archived_memories_do_not_shorten_an_answer(tenant: Tenant) -> None:
    stored = await tenant.encode_batch([NewMemory(f"deploy of the service, run {number}") for number in range(160)])
    ids = [one.memory.id for one in stored]
    await tenant.fetch("update memories set state = 'archived' where memory_id = any($1)", ids[:140])
    assert set(await tenant.recalled("deploy of the service", limit=20)) == set(ids[140:])


async def test_an_empty_filter_is_no_filter(tenant: Tenant) -> None:
    memory = await tenant.encode("deploy")
    assert await tenant.recalled("deploy", filters=Filters(tags_any=(), context={})) == [memory.id]


async def test_a_memory_of_a_project_is_seen_by_that_project_or_by_none(tenant: Tenant) -> None:
    shared = await tenant.encode("shared deploy note")
    mine = await tenant.encode("my deploy note", project="one")
    theirs = await tenant.encode("their deploy note", project="two")
    assert set(await tenant.recalled("deploy note")) == {shared.id, mine.id, theirs.id}
    assert set(await tenant.recalled("deploy note", filters=Filters(project="one"))) == {shared.id, mine.id}


async def test_a_document_passes_a_filter_with_its_parts(tenant: Tenant) -> None:
    text = "\n\n".join(f"Paragraph {number} tells of step {number}." for number in range(120))
    document = await tenant.encode(text, chunk=True, tags=("guide",), salience=0.9)
    hits = (await tenant.recall("step 7", filters=Filters(tags_all=("guide",), salience_min=0.8))).hits
    assert hits
    assert {hit.memory.part_of or hit.memory.id for hit in hits} == {document.id}
