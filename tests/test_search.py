"""Search ranks everything that passes, page by page, without spreading or learning."""

import pytest

from memoria.errors import InvalidInputError
from memoria.records import Filters, NewMemory, SearchPage, SearchRequest
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio


async def search(tenant: Tenant, query: str = "", **options: object) -> SearchPage:
    """Search in the organization's own namespace."""
    return await tenant.engine.search(tenant.principal, SearchRequest(query, **options))  # type: ignore[arg-type]


async def walk(tenant: Tenant, query: str = "", **options: object) -> list[int]:
    """Read every page and return the ids in order."""
    ids: list[int] = []
    cursor = None
    while True:
        page = await search(tenant, query, cursor=cursor, limit=7, **options)
        ids += [hit.memory.id for hit in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return ids
        assert len(page.items) == 7


@pytest.mark.parametrize("query", ["", "deploy note 7"])
@pytest.mark.parametrize("sort", ["relevance", "recent", "salience"])
async def test_pages_join_to_the_whole_ranking(tenant: Tenant, sort: str, query: str) -> None:
    stored = await tenant.encode_batch(
        [NewMemory(f"deploy note {number}", salience=number % 4 / 4, tags=("t",)) for number in range(30)]
    )
    await tenant.encode("zebra")
    ids = await walk(tenant, query, sort=sort, filters=Filters(tags_all=("t",)))
    assert sorted(ids) == sorted(one.memory.id for one in stored)
    assert ids == [
        hit.memory.id for hit in (await search(tenant, query, sort=sort, limit=200)).items if hit.memory.tags
    ]


async def test_a_query_sorted_by_date_or_salience_keeps_what_holds_a_word(tenant: Tenant) -> None:
    low = await tenant.encode("deploy on friday", salience=0.2)
    high = await tenant.encode("deploying later", salience=0.8)
    middle = await tenant.encode("the deploys", salience=0.5)
    await tenant.encode("zebra", salience=1.0)
    assert await walk(tenant, "deploy", sort="salience") == [high.id, middle.id, low.id]
    assert await walk(tenant, "deploy", sort="recent") == [middle.id, high.id, low.id]


async def test_without_a_query_the_newest_come_first(tenant: Tenant) -> None:
    ids = [(await tenant.encode(text)).id for text in ("one", "two", "three")]
    assert await walk(tenant) == ids[::-1]


async def test_scores_lie_between_0_and_1_and_fall(tenant: Tenant) -> None:
    await tenant.encode_batch([NewMemory(f"deploy note {number}") for number in range(12)])
    scores = [hit.score for hit in (await search(tenant, "deploy note 3")).items]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= min(scores) <= max(scores) <= 1


async def test_a_search_leaves_no_trace(tenant: Tenant) -> None:
    memory = await tenant.encode("deploy")
    tenant.clock.advance(days=1)
    await search(tenant, "deploy")
    await tenant.engine.write_lessons()
    assert await tenant.engine.get(tenant.principal, memory.id) == memory


async def test_a_cursor_goes_on_with_the_same_question_only(tenant: Tenant) -> None:
    await tenant.encode_batch([NewMemory(f"deploy note {number}") for number in range(5)])
    cursor = (await search(tenant, "deploy", limit=2)).next_cursor
    assert cursor
    assert (await search(tenant, "deploy", limit=3, cursor=cursor)).items
    for other in ({"query": "note"}, {"sort": "recent"}, {"filters": Filters(project="p")}, {"namespace": "elsewhere"}):
        with pytest.raises(InvalidInputError) as caught:
            await search(tenant, **({"query": "deploy", "cursor": cursor} | other))
        assert caught.value.details["field"] == "cursor"


@pytest.mark.parametrize(
    ("options", "field"), [({"sort": "oldest"}, "sort"), ({"limit": 0}, "limit"), ({"limit": 201}, "limit")]
)
async def test_a_request_out_of_bounds_is_refused_by_its_field(
    tenant: Tenant, options: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await search(tenant, "x", **options)
    assert caught.value.details["field"] == field
