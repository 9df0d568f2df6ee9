"""Recall lights what matches, spreads along edges, scores it, and keeps to its limits."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from memoria.edges import NewEdge, insert_edges
from memoria.errors import InvalidInputError, UnavailableError
from memoria.records import Filters, NewMemory, RecallRequest
from memoria.tokens import count_tokens
from memoria.vocabulary import EdgeType, MemoryState
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio


async def join(tenant: Tenant, ends: Sequence[tuple[int, int]], edge_type: EdgeType = EdgeType.CAUSAL) -> None:
    """Join memories as a client's link does."""
    rows = await tenant.fetch("select namespace_id from namespaces limit 1")
    async with tenant.database.tenant(tenant.principal.org_id) as connection:
        new = [NewEdge(source, target, edge_type, 1.0) for source, target in ends]
        await insert_edges(connection, tenant.principal.org_id, rows[0]["namespace_id"], new, tenant.clock.now)


async def test_what_shares_no_word_is_reached_over_edges_and_says_how(tenant: Tenant) -> None:
    # Enough unrelated memories that the reached ones are no seeds themselves.
    await tenant.encode_batch([NewMemory(f"zq{number} xk{number}") for number in range(150)])
    chain = [
        (await tenant.encode(text, namespace=None, context={"session_id": str(index)})).id
        for index, text in enumerate(("payment gateway failed", "certificate lapsed", "renewal cron disabled", "far"))
    ]
    await join(tenant, list(pairwise(chain)))
    hits = {hit.memory.id: hit for hit in (await tenant.recall("why payment gateway failed", limit=100)).hits}
    assert next(iter(hits)) == chain[0]
    assert [hits[memory_id].hops for memory_id in chain[:3]] == [0, 1, 2]
    reached = hits[chain[2]]
    assert reached.seed_id == chain[0]
    assert [step.memory_id for step in reached.path] == chain[1:3]
    assert {step.edge_type for step in reached.path} == {EdgeType.CAUSAL}
    alone = await tenant.recall("why payment gateway failed", limit=100, spreading=False)
    assert all(hit.hops == 0 and hit.path == () for hit in alone.hits)


@pytest.mark.parametrize("filters", [Filters(), Filters(tags_none=("x",))], ids=["plain", "filtered"])
async def test_activation_does_not_pass_through_hidden_memories(tenant: Tenant, filters: Filters) -> None:
    await tenant.encode_batch([NewMemory(f"zq{number} xk{number}") for number in range(150)])
    chain = [
        (await tenant.encode(text, context={"session_id": text})).id
        for text in ("payment gateway failed", "certificate lapsed", "renewal cron disabled")
    ]
    await join(tenant, list(pairwise(chain)))
    await tenant.engine.archive(tenant.principal, chain[1])
    hits = {h.memory.id: h for h in (await tenant.recall("payment gateway failed", filters=filters, limit=100)).hits}
    assert chain[1] not in hits
    assert chain[2] not in hits or hits[chain[2]].path == ()
    archived = await tenant.recall("payment gateway failed", filters=filters, include=("archived",), limit=100)
    assert [step.memory_id for hit in archived.hits for step in hit.path if hit.memory.id == chain[2]] == chain[1:]


async def test_hits_come_best_first_within_the_limit(tenant: Tenant) -> None:
    await tenant.encode_batch([NewMemory(f"deploy note {number}") for number in range(120)])
    for limit in (1, 10, 100):
        hits = (await tenant.recall("deploy note 7", limit=limit)).hits
        assert len(hits) == limit
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert hits[0].memory.content == "deploy note 7"


async def test_a_token_budget_holds_whole_memories_alone(tenant: Tenant) -> None:
    await tenant.encode_batch([NewMemory(f"deploy note {number} " + "word " * number) for number in range(0, 60, 3)])
    whole = await tenant.recall("deploy note", limit=20)
    budget = whole.tokens_used // 2
    cut = await tenant.recall("deploy note", limit=20, token_budget=budget)
    assert 0 < cut.tokens_used <= budget
    assert cut.tokens_used == sum(count_tokens(hit.memory.content) for hit in cut.hits)
    assert 0 < len(cut.hits) < len(whole.hits)
    assert (await tenant.recall("deploy note", token_budget=1)).hits == ()


async def test_a_large_hit_gives_way_to_smaller_ones(tenant: Tenant) -> None:
    await tenant.encode("deploy " * 300, context={"session_id": "a"})
    small = await tenant.encode("deploy note", context={"session_id": "b"})
    assert await tenant.recalled("deploy", token_budget=50) == [small.id]


async def test_explanations_name_every_factor_and_every_candidate(tenant: Tenant) -> None:
    await tenant.encode_batch([NewMemory(f"deploy note {number}") for number in range(30)])
    answer = await tenant.recall("deploy note 7", limit=3, explain=True)
    assert len(answer.hits) == 3
    assert len(answer.candidates) == answer.total_candidates == 30
    factors = answer.hits[0].factors
    product = 1.0
    for value in factors.values():
        product *= value
    assert product == pytest.approx(answer.hits[0].score)
    assert not (await tenant.recall("deploy note 7", limit=3)).hits[0].factors


async def test_a_weak_hit_is_dropped_by_a_least_score(tenant: Tenant) -> None:
    await tenant.encode_batch([NewMemory("deploy note"), NewMemory("zebra crossing")])
    scores = [hit.score for hit in (await tenant.recall("deploy note")).hits]
    assert len((await tenant.recall("deploy note", min_score=scores[0])).hits) == 1


@pytest.mark.parametrize("query", ["getUsersByIds", "pnpm dlx", "数据库备份", "גיבוי מסד הנתונים", "Datensicherung"])
async def test_a_short_note_that_is_the_query_comes_before_longer_ones_like_it(tenant: Tenant, query: str) -> None:
    await tenant.encode_batch([NewMemory(f"zq{number} xk{number} about other things") for number in range(30)])
    talk = "then everybody went home because rain fell on every street, harbour, roof, garden and hill of that old town"
    longer = [f"{query} {talk}, {query}", f"{query}: {talk}"]
    sessions: list[dict[str, str]] = [{}, {"session_id": "s"}]
    await tenant.encode_batch([NewMemory(text, context=each) for text in longer for each in sessions])
    short = await tenant.encode(f"Note: {query}")
    assert (await tenant.recalled(query))[0] == short.id


async def test_a_conversation_that_holds_the_querys_words_in_other_turns_comes_first(tenant: Tenant) -> None:
    turns = (("a", "the vaccine was booked"), ("b", "the vaccine was booked"), ("b", "for the dog in Lisbon"))
    for session, text in turns:
        await tenant.encode(text, context={"session_id": session})
    contexts = [hit.memory.context for hit in (await tenant.recall("vaccine dog Lisbon", limit=3)).hits]
    assert [each["session_id"] for each in contexts] == ["b", "b", "a"]


async def test_a_superseded_memory_falls_behind(tenant: Tenant) -> None:
    old = await tenant.encode("deploys run on fridays")
    new = await tenant.encode("deploys run on mondays then")
    await tenant.fetch("update memories set state = 'superseded' where memory_id = $1", old.id)
    hits = (await tenant.recall("deploys run on fridays", explain=True)).hits
    assert [hit.memory.id for hit in hits] == [new.id, old.id]
    assert hits[1].factors["superseded"] == 0.05
    assert hits[1].memory.state is MemoryState.SUPERSEDED


async def test_a_page_is_recalled_without_a_query(tenant: Tenant) -> None:
    page = await tenant.encode("login button is blue", url="https://app.example/login")
    site = await tenant.encode("the shop sells zebras", url="https://app.example/shop")
    await tenant.encode("elsewhere", url="https://other.example/login", namespace=None, context={"session_id": "x"})
    recalled = await tenant.recalled(None, url="APP.example/login/#top")
    assert recalled[:2] == [page.id, site.id]
    with_query = await tenant.recalled("zebras", url="https://app.example/login", limit=1)
    assert with_query == [site.id]


async def test_a_batch_of_queries_is_answered_in_order(tenant: Tenant) -> None:
    ids = [(await tenant.encode(text)).id for text in ("red apples", "green pears", "blue plums")]
    requests = [RecallRequest(text, limit=1) for text in ("blue plums", "red apples", "green pears")]
    answers = await tenant.engine.recall_batch(tenant.principal, requests)
    assert [answer.hits[0].memory.id for answer in answers] == [ids[2], ids[0], ids[1]]
    assert len({answer.recall_id for answer in answers}) == 3
    for count in (0, 51):
        with pytest.raises(InvalidInputError) as caught:
            await tenant.engine.recall_batch(tenant.principal, requests[:1] * count)
        assert caught.value.details == {"field": "queries", "limit": 50}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"query": None}, "query"),
        ({"query": " "}, "query"),
        ({"query": "a\0"}, "query"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"token_budget": 0}, "token_budget"),
        ({"url": "ftp://x"}, "url"),
        ({"include": ("superseded",)}, "include"),
    ],
)
async def test_a_request_out_of_bounds_is_refused_by_its_field(
    tenant: Tenant, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await tenant.recall(**({"query": "x"} | fields))
    assert caught.value.details["field"] == field


async def test_vectors_of_two_models_are_not_compared(tenant: Tenant) -> None:
    await tenant.encode("x")
    await tenant.fetch("update namespaces set embedder = 'another model'")
    for call in (tenant.recalled("x"), tenant.encode("y")):
        with pytest.raises(UnavailableError, match="another model"):
            await call


async def test_a_recall_leaves_no_trace_unless_it_may_learn(tenant: Tenant) -> None:
    memory = await tenant.encode("deploy note")
    tenant.clock.advance(days=1)
    await tenant.recall("deploy note", learn=False)
    await tenant.engine.write_lessons()
    assert await tenant.engine.get(tenant.principal, memory.id) == memory
    await tenant.recall("deploy note")
    await tenant.engine.write_lessons()
    learned = await tenant.engine.get(tenant.principal, memory.id)
    assert (learned.access_count, learned.last_accessed_at) == (1, tenant.clock.now)


async def test_a_lesson_about_a_forgotten_memory_is_passed_over(tenant: Tenant) -> None:
    stored = await tenant.encode_batch([NewMemory("deploy note one"), NewMemory("deploy note two")])
    await tenant.recall("deploy note")
    await tenant.engine.forget(tenant.principal, stored[0].memory.id)
    await tenant.engine.write_lessons()
    assert (await tenant.engine.get(tenant.principal, stored[1].memory.id)).access_count == 1


async def test_archived_notes_of_a_page_take_no_place_from_the_others(tenant: Tenant) -> None:
    url = "https://app.example/login"
    kept = await tenant.encode("The login button is blue", url=url)
    await tenant.encode_batch([NewMemory(f"Old note {number}", url=url) for number in range(120)])
    await tenant.fetch("update memories set state = 'archived' where memory_id <> $1", kept.id)
    assert await tenant.recalled(None, url=url) == [kept.id]
